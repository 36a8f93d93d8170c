"""Measure the gain of a second Dask worker as a ratio: the same work by one and by two, in turn.

    python benchmarks/scaleout.py              # --repeat 3 --latency-ms 4000 --notes DIR --dataset FILE

Needs `pip install gigamind-eval[dask]` and a Prefect server (PREFECT_API_URL); otherwise each process starts its own.
Judging: a slow model server, 16 requests in flight per worker.  Scoring: embed and search queries, one core each.
Workers open index and model before the clock starts; that time is printed too.  Quote the ratios.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from llm_server import server
from prefect import flow

from gigamind.evaluation.progress import Quiet
from gigamind.evaluation.run import Batch
from gigamind.publish import flows  # Dask takes the flow along by value, and a module by its name
from gigamind.publish.pool import Pool
from gigamind.tasks.options import SearchEvalOptions

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RUN = "benchmark"
_BATCHES = 16


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compared(name: str, works: dict[int, Callable[[], object]], repeat: int) -> None:
    """Print the times of one worker and of two, measured in turn, and the median of their ratios."""
    times = [{workers: seconds(work) for workers, work in works.items()} for _ in range(repeat)]
    one, two = (statistics.median(turn[workers] for turn in times) for workers in (1, 2))
    ratio = statistics.median(turn[1] / turn[2] for turn in times)
    ratios = ", ".join(f"{turn[1] / turn[2]:.2f}" for turn in times)
    print(f"{name}: one worker {one:.1f} s, two {two:.1f} s; {ratio:.2f} times ({ratios})")


@flow(name="benchmark-scaleout", persist_result=False)
def measure(options: SearchEvalOptions, repeat: int, folder: Path, *, scoring: bool) -> None:
    def scored(pool: Pool[Any], times: int = 1) -> list[Batch]:
        step = -(-count // _BATCHES)
        batches = [(first, min(first + step, count)) for first in range(0, count, step)] * times
        return flows.score_batches(pool, options, {"batches": batches, "asks_a_model": True}, RUN)[
            0
        ]

    def judged(pool: Pool[Any]) -> None:
        out = Path(tempfile.mkdtemp(dir=folder)) / "out"
        verdicts = flows.judge_shards(pool, options, batches, out, run=RUN, progress=Quiet())
        if any(result["outcome"] != "scored" for result in verdicts["results"]):
            raise RuntimeError("a query has no verdict")

    print(f"index built and opened: {seconds(lambda: flows.STEPS.opened(options, RUN)):.1f} s")
    count = flows.STEPS.opened(options, RUN).evaluation.count
    with Pool("dask:local:1") as one, Pool("dask:local:2") as two:
        print(
            f"opened by one worker: {seconds(lambda: scored(one)):.1f} s, with a pass over the queries"
        )
        print(f"opened by two workers: {seconds(lambda: scored(two)):.1f} s")
        batches = scored(two)
        compared("judging", {1: lambda: judged(one), 2: lambda: judged(two)}, repeat)
        if scoring:
            compared("scoring", {1: lambda: scored(one, 4), 2: lambda: scored(two, 4)}, repeat)
    flows.STEPS.close_run(options, RUN)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", type=Path, default=EXAMPLES / "queries.jsonl")
    parser.add_argument("--notes", type=Path, default=EXAMPLES / "vault")
    parser.add_argument("--cache", type=Path, help="folder of the index; a new one without it")
    parser.add_argument("--items", type=int, default=192)
    parser.add_argument("--latency-ms", type=int, default=4000)
    parser.add_argument("--no-scoring", action="store_true", help="where both cores are not free")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server() as url:
        options = SearchEvalOptions.model_validate(
            {
                "dataset": given.dataset,
                "notes": given.notes,
                "sample": str(given.items),
                "speed_passes": 0,
                "max_concurrency": 1,
                "unanswerable_mode": "llm",
                "model": f"openai/judge;lat={given.latency_ms}",
                "api_base": url,
                "model_timeout_s": 60,
                "store_mode": "off",
                "cache_dir": given.cache or Path(folder) / "cache",
            }
        )
        measure(options, given.repeat, Path(folder), scoring=not given.no_scoring)


if __name__ == "__main__":
    main()
