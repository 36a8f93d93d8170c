"""Measure the example run from command start to figures with a cached index, and `--help`.

python benchmarks/start.py            # medians of five processes: CPU, wall, peak memory
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RUNS = 5


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    program = [sys.executable, "-m", "gigamind"]
    example = [*program, "eval", "search", "--dataset", str(EXAMPLES / "queries.jsonl")]
    example += ["--notes", str(EXAMPLES / "vault")]
    with TemporaryDirectory() as place:
        folder = Path(place)
        figures = {"--help": median([once([*program, "--help"], folder) for _ in range(RUNS)])}
        for mode in ("keyword", "hybrid"):
            command = [*example, "--mode", mode, "--out"]
            once([*command, str(folder / f"{mode}-warm")], folder)
            runs = [once([*command, f"{folder / mode}-{n}"], folder) for n in range(RUNS)]
            figures[mode] = median(runs)
    print(json.dumps(figures, indent=1))


def median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def once(command: list[str], folder: Path) -> dict[str, float]:
    """Return CPU seconds, wall seconds and peak memory of one process."""
    environment = {**os.environ, "GIGAMIND_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each run compiles the package anew
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as run:
        stderr = run.stderr.read() if run.stderr else b""
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise SystemExit(stderr.decode(errors="replace"))
    wall = time.perf_counter() - start
    return {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": wall,
        "peak_gb": usage.ru_maxrss / 1e6,
    }


if __name__ == "__main__":
    main()
