"""Check that memory, handles and disk stay flat while the service answers and evaluations repeat.

    python benchmarks/soak.py [--minutes 60] [--pause 1] [--night 10]

A scripted model, the service over the example vault (each answer checked and evaluated) with a client that waits a
second between questions, and a process that repeats evaluations of search (keyword and hybrid, compared with the
previous run) and answers, and keeps the newest three runs.  Each figure is reported after a sixth of the time, which
fills caches, and at the end, with the least-squares slope between.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil
from service import QUESTIONS, ROOT, ask, stack

_KEPT_RUNS = 3
_EVERY_S = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pause", type=float, default=1, help="seconds between two questions")
    parser.add_argument("--night", type=float, default=10, help="seconds between evaluations")
    parser.add_argument("--port", type=int, default=8766)
    parser.add_argument("--nightly", nargs=2, metavar=("MODEL_URL", "FOLDER"), help="for itself")
    given = parser.parse_args()
    if given.nightly:
        nightly(given.nightly[0], Path(given.nightly[1]), given.night)
        return
    with tempfile.TemporaryDirectory() as folder:
        # All caches and states lie where their size can be measured.
        os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        with stack(given.port, judged=True) as (_, address, service, url):
            itself = (sys.executable, __file__, "--night", str(given.night))
            again = subprocess.Popen((*itself, "--nightly", address, f"{folder}/runs"), cwd=ROOT)
            try:
                measured = asyncio.run(
                    watched(url, {"service": service, "evaluations": again.pid}, folder, given)
                )
            finally:
                again.terminate()
                again.wait(60)
                nights = max((int(run.name) for run in Path(folder, "runs").iterdir()), default=0)
    print(json.dumps(measured | {"nights": nights}, indent=2))


def nightly(model_url: str, folder: Path, pause_s: float) -> None:
    """Evaluate until stopped, and compare each run with the previous one."""
    import gigamind

    examples = ROOT / "examples"
    options: dict[str, Any] = {"model": "openai/script", "api_base": model_url}
    for night in count():
        runs = folder / f"{night:06d}"
        for mode in ("keyword", "hybrid"):
            now = gigamind.evaluate_search(
                examples / "queries.jsonl", examples / "vault", mode=mode, out=runs / mode
            )
            if night:
                gigamind.compare(folder / f"{night - 1:06d}" / mode, now)
        gigamind.evaluate_answers(
            examples / "answers.jsonl", examples / "vault", out=runs / "answers", **options
        )
        if night >= _KEPT_RUNS:
            shutil.rmtree(folder / f"{night - _KEPT_RUNS:06d}")
        time.sleep(pause_s)


async def watched(
    url: str, processes: dict[str, int], folder: str, given: argparse.Namespace
) -> dict[str, Any]:
    """Ask, and take each figure every few seconds."""
    deadline, answers, errors = time.monotonic() + 60 * given.minutes, 0, list[str]()
    rows: list[dict[str, float]] = []

    async def asker(session: aiohttp.ClientSession) -> None:
        nonlocal answers
        for number in count():
            if time.monotonic() > deadline:
                return
            try:
                await ask(session, url, f"{QUESTIONS[number % len(QUESTIONS)]} {number}")
                answers += 1
            except (aiohttp.ClientError, ValueError, OSError) as error:
                errors.append(repr(error))
            await asyncio.sleep(given.pause)

    async def watch() -> None:
        observed = {name: psutil.Process(pid) for name, pid in processes.items()}
        while time.monotonic() < deadline:
            row = {"minutes": (time.monotonic() - deadline) / 60 + given.minutes}
            for name, process in observed.items():
                row |= {
                    f"{name} memory_mb": process.memory_info().rss / 2**20,
                    f"{name} handles": process.num_fds(),
                    f"{name} threads": process.num_threads(),
                }
            row["disk_mb"] = size_mb(folder)
            rows.append(row)
            await asyncio.sleep(_EVERY_S)

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(asker(session), watch())
    return {
        "minutes": given.minutes,
        "answers": answers,
        "errors": len(errors),
        "first_error": errors[:1],
        "figures": {name: growth(rows, name) for name in rows[0] if name != "minutes"},
    }


def size_mb(folder: str) -> float:
    """Return the size of all files; files that vanish meanwhile do not count."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(root, name).stat().st_size
    return total / 2**20


def growth(rows: list[dict[str, float]], name: str) -> dict[str, float]:
    """Return a figure after a sixth of the time, at the end, its maximum, and its slope per hour."""
    late = rows[len(rows) // 6 :]
    hours = np.array([row["minutes"] / 60 for row in late])
    values = np.array([row[name] for row in late])
    slope = float(np.polyfit(hours, values, 1)[0])
    sizes = {"warm": values[0], "end": values[-1], "most": values.max(), "an_hour": slope}
    return {key: round(float(value), 1) for key, value in sizes.items()}


if __name__ == "__main__":
    main()
