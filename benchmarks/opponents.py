"""Locate the packages of benchmarks/requirements*.txt, which are not dependencies of the project.

`make bench` installs them in separate environments; shared dependencies stay those of the project.
"""

import sys
from pathlib import Path

OUT = Path(__file__).with_name("out")
APART = {"ragas"}  # needs older versions of what the others need


def home(opponent: str = "") -> Path:
    """Return the folder of the environment with this opponent, or the shared one."""
    return OUT / (f"opponents-{opponent}" if opponent in APART else "opponents")


def python(opponent: str = "") -> Path:
    """Return the interpreter that has it."""
    return home(opponent) / "bin" / "python"


def find_opponents() -> None:
    """Make the opponents of the shared environment importable, after everything installed."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(str(home() / "lib" / version / "site-packages"))
