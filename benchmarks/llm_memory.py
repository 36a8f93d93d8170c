"""Measure how the memory of the model layer grows with the calls of a run, with the store off and on.

    python benchmarks/llm_memory.py --calls 5000

The ledger is a file, as in a run; its rows are also in memory and reported separately.  Linux only.
"""

import argparse
import asyncio
import gc
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from llm import IN_FLIGHT, Side, ours
from llm_server import server

from gigamind.llm.ledger import Attempt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--store", choices=("off", "on"), action="append", help="default: both")
    arguments = parser.parse_args()
    with server() as url:
        for store in arguments.store or ("off", "on"):
            with tempfile.TemporaryDirectory() as folder:
                side = ours(url, ";sid=1", Path(folder), kept=store == "on")
                asyncio.run(grown(side, arguments.calls, f"store {store}"))


async def grown(side: Side, calls: int, name: str) -> None:
    """Return the growth after the first tenth, which fills caches."""
    sizes: list[float] = []
    for part in range(10):
        questions = iter([f"{name} {part} {number}" for number in range(calls // 10)])
        await asyncio.gather(*(each(side, questions) for _ in range(IN_FLIGHT)))
        gc.collect()
        sizes.append(rss_mb())
    rows = sum(row_bytes(row) for row in side.model.ledger.rows) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    await side.close()
    shown = " ".join(f"{size:.1f}" for size in sizes)
    growth = 2**10 * (sizes[-1] - sizes[0]) / (0.9 * calls)
    print(f"{name}: MB after each tenth of {calls} calls {shown}; at most {peak:.1f};")
    print(f"  {growth:.2f} KB a call, of which the ledger's rows {rows / calls:.2f} KB", flush=True)


async def each(side: Side, questions: Iterator[str]) -> None:
    for question in questions:
        await side.ask(question)


def row_bytes(row: Attempt) -> int:
    """Return the bytes of a row and its values."""
    return sys.getsizeof(row) + sum(sys.getsizeof(value) for value in astuple(row))


def rss_mb() -> float:
    """Return the current memory, not the peak."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
