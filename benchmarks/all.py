"""Compare gigamind with its opponents, part by part, and write RESULTS.md.

    make bench                                               # all parts: less than 20 minutes on two quiet cores
    python benchmarks/all.py --only ranking evidence         # only these; the others keep their last figures
    python benchmarks/all.py --million                       # also a million chunks: 5 minutes, 10 GB of memory

Each part is a process with a time limit that prints its figures, which go to benchmarks/out/NAME.json.  RESULTS.md
names what fails, takes too long or is not installed.  The first run installs the opponents of
benchmarks/requirements*.txt in separate environments.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import results
from opponents import OUT, home, python
from results import COMPARED, MILLION, SIZES

from gigamind.evaluation.workers import load

HERE = Path(__file__).parent
_LOAD_S = 0.002  # of a unit of the load, on the cores of RESULTS.md


@dataclass(frozen=True, slots=True)
class Part:
    """Describe a script with its arguments; `limit_s` is its time limit on the cores of RESULTS.md, when busy."""

    name: str
    command: tuple[str, ...]
    limit_s: int = 240


def alone(side: str, chunks: int, limit_s: int = 240) -> Part:
    name = f"alone-{side.replace(' ', '-')}-{chunks}"
    queries = "30" if chunks > min(COMPARED) else "40"
    command = ("strong.py", "--alone", side, "--chunks", str(chunks), "--queries", queries)
    return Part(name, command, limit_s)


PARTS = (
    Part(
        "search-20000",
        ("strong.py", "--chunks", "20000", "--queries", "40", "--processes", "5"),
        480,
    ),
    Part("search-100000", ("strong.py", "--chunks", "100000", "--queries", "30"), 480),
    *(
        alone(side, chunks)
        for side in ("NumPy", "Qdrant Edge", "BM25", "bm25s")
        for chunks in COMPARED
    ),
    *(alone("gigamind", chunks) for chunks in SIZES),
    Part("ranking", ("ranking.py", "--queries", "20000")),
    Part("ranking-100000", ("ranking.py", "--only", "pytrec_eval", "--runs", "3")),
    Part("evidence", ("evidence.py", "--quotes", "60")),
    Part("start", ("start.py",)),
    Part("answers", ("answers.py",), 300),
    Part("report", ("report.py",)),
)
THE_MILLION = (alone("gigamind", MILLION, 7200),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts whose names begin so")
    parser.add_argument("--million", action="store_true", help="a million chunks as well")
    parser.add_argument("--no-install", action="store_true", help="do with the opponents at hand")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    if not arguments.no_install:
        install("", "requirements.txt")
        install("ragas", "requirements-ragas.txt")
    slower = slowness()
    for part in (*PARTS, *(THE_MILLION if arguments.million else ())):
        if not arguments.only or part.name.startswith(tuple(arguments.only)):
            run(part, round(part.limit_s * slower))
    names = [part.name for part in (*PARTS, *THE_MILLION)]
    results.write(HERE, OUT, names)


def install(opponent: str, requirements: str) -> None:
    """Create the environment of these opponents if it is missing; the benchmark continues without them."""
    if python(opponent).is_file():
        return
    print(f"installing {requirements} into {home(opponent)}", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(home(opponent))], check=True)
        pip = [
            str(python(opponent)),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, "--no-deps", "-r", str(HERE / requirements)], check=True, timeout=900)
    except subprocess.SubprocessError as error:
        shutil.rmtree(home(opponent), ignore_errors=True)
        print(f"left out: {error}", flush=True)


def slowness() -> float:
    """Return how many times slower a core is than that of RESULTS.md, at least 1."""
    times = list[float]()
    for _unit in range(100):
        start = time.perf_counter()
        load()
        times.append(time.perf_counter() - start)
    return max(1.0, min(times) / _LOAD_S)


def run(part: Part, limit_s: int) -> None:
    """Run a part; write its figures with date and duration, or the reason for its failure."""
    figures, log = OUT / f"{part.name}.json", OUT / f"{part.name}.log"
    script, *given = part.command
    command = [sys.executable, str(HERE / script), *given]
    # Else each process would compile the package anew.
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    print(f"{part.name} ...", end=" ", flush=True)
    figures.unlink(missing_ok=True)  # what an interruption leaves is no figure
    start = time.perf_counter()
    output, failed, found = b"", "", None
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        ) as process,
    ):
        try:
            output, _none = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            failed = f"took more than {limit_s} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it has started, too
    if process.returncode and not failed:
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()
        failed = lines[-1][:300] if lines else f"exit code {process.returncode}"
    wall = time.perf_counter() - start
    if not failed:
        try:
            found = json.loads(output)
        except ValueError:
            failed = "printed something other than its figures"
    kept = {"date": time.strftime("%Y-%m-%d"), "wall_s": wall, "failed": failed, "found": found}
    figures.write_text(json.dumps(kept), "utf-8")
    print(f"{wall:.0f} s {failed}", flush=True)


if __name__ == "__main__":
    main()
