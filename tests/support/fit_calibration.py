"""benchmarks/calibration.py, which fits the included `calibrated` judge."""

import runpy
from pathlib import Path

globals().update(runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "calibration.py")))
