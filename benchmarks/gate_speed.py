"""Measure how often the speed gate fails on equal runs on a busy machine, and how often it detects a slowdown.

    python benchmarks/gate_speed.py                          # 200 measured runs of each kind with two busy processes
    python benchmarks/gate_speed.py --runs 20 --burners 4

A run is what `gigamind eval search` measures over the examples (`--speed-passes 8`), in this process.  Half of the
baselines are measured before the busy processes start.  The shipped policy compares each run with one baseline.  A
slowed run searches 3 of 10 queries twice, so it costs 30% more.  The first table is simulated from the measured
scatter of passes and runs.
"""

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle, product
from math import exp
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gigamind.evaluation.progress import Quiet
from gigamind.evaluation.workers import Effort
from gigamind.records.schema import SpeedReport
from gigamind.release.compare import speed_change
from gigamind.release.gates import speed_rule
from gigamind.release.policy import Policy
from gigamind.systems.protocol import Query
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.score import open_search

SEED = 42
PASSES = 8
SLOWER = 1.3
_BASELINES = 20
RULE = Policy.read(None).speed.search_p95
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--burners", type=int, default=2)
    parser.add_argument("--simulated", type=int, default=10_000)
    parser.add_argument("--mode", choices=["keyword", "semantic", "hybrid"], default="hybrid")
    parser.add_argument(
        "--limit-ms",
        type=float,
        default=600.0,
        help="a quarter of a run: 600 over the examples, 300 at least",
    )
    asked = parser.parse_args()
    for of_system, scatters, slowdowns in (
        (False, ((0.05, 0.03), (0.10, 0.03), (0.10, 0.06), (0.25, 0.10)), (1.0, SLOWER)),
        (True, ((0.25, 0.10), (0.50, 0.20), (0.80, 0.30), (1.00, 0.50)), (1.0, SLOWER, 2.0)),
    ):
        simulate(asked.simulated, scatters, slowdowns, of_system=of_system)
    if asked.runs:
        measure(asked.runs, asked.burners, asked.limit_ms, asked.mode)


def status(
    baseline: SpeedReport,
    current: SpeedReport,
    p95_ms: tuple[float, float] = (1.0, 1.0),
    *,
    of_system: bool = False,
) -> str:
    """Return the gate's result for a run and a baseline."""
    change = speed_change("search_p95", p95_ms, (baseline, current))
    return speed_rule(change.model_copy(update={"of_system": of_system}), RULE).status


def simulate(
    pairs: int,
    scatters: Iterable[tuple[float, float]],
    slowdowns: Iterable[float],
    *,
    of_system: bool,
) -> None:
    """Simulate costs of a query: each run and each pass deviates by a factor.

    With another --system, of which `systems = "hold"`, a busy network or machine adds scatter, and the p95 of a run
    scatters beside its passes, by a fifth.
    """
    print(f"\n{pairs} simulated pairs a line{', of another system' if of_system else ''}")
    print("  passes  runs  slower |  failed  inconclusive")
    for (of_pass, of_run), slower in product(scatters, slowdowns):
        rng, found = np.random.default_rng(SEED), Counter[str]()
        for _ in range(pairs):
            before, now = (simulated(rng, of_pass, of_run, factor) for factor in (1.0, slower))
            first, second = (
                100 * float(np.exp(np.log(run.costs).mean() + rng.normal(0, 0.2)))
                for run in (before, now)
            )
            found[status(before, now, (first, second), of_system=of_system)] += 1
        line(f"{of_pass:8.2f}  {of_run:4.2f}  {slower:6.2f}", found)


def simulated(
    rng: np.random.Generator, of_pass: float, of_run: float, slower: float
) -> SpeedReport:
    level = rng.normal(0, of_run)
    costs = tuple((slower * exp(level + rng.normal(0, of_pass)),) for _ in range(PASSES))
    return SpeedReport(clock="cpu", queries=("q",), query_ms=5.0, unit_ms=0.5, costs=costs)


def line(name: str, found: Counter[str]) -> None:
    total = found.total()
    print(f"{name} |  {found['failed'] / total:6.2%}  {found['inconclusive'] / total:12.2%}")


def measure(runs: int, burners: int, limit_ms: float, mode: str) -> None:
    examples = {
        "dataset": ROOT / "examples" / "queries.jsonl",
        "notes": ROOT / "examples" / "vault",
        "mode": mode,
    }
    options = SearchEvalOptions.model_validate(examples)
    with closing(open_search(options, Quiet())) as evaluation:
        queries = {
            query.item.id: Query(query.item.id, query.item.query)
            for query in evaluation.prepared.queries
        }
        search = evaluation.retriever.ask
        twice = slowed(search)

        def one(way: Callable[[Query], object]) -> SpeedReport:
            report = Effort(PASSES, SEED, limit_ms).measure(queries, way)
            if report is None:
                raise SystemExit("interrupted")
            return report

        baselines = [one(search) for _ in range(_BASELINES // 2)]
        with burning(burners):
            baselines += [one(search) for _ in range(_BASELINES // 2)]
            start = time.perf_counter()
            equal = [one(search) for _ in range(runs)]
            seconds = (time.perf_counter() - start) / runs
            slower = [one(twice) for _ in range(runs)]
    print(
        f"\n{runs} measured runs of each kind, {burners} burners, load {os.getloadavg()[0]:.0f},"
        f" {seconds:.1f} s a run, {len(equal[0].queries)} queries, {equal[0].query_ms:.1f} ms of the processor each"
    )
    print("  runs                    |  failed  inconclusive")
    line("  equal                   ", judged(baselines, equal))
    line("  30 % slower             ", judged(baselines, slower))
    shared = set[str].intersection(*({*run.queries} for run in equal))
    means = [np.log(run.over(shared)).mean() for run in equal]
    passes = [np.log(run.over(shared)).std(ddof=1) for run in equal]
    print(f"  scatter of equal runs {np.std(means, ddof=1):.3f}, of passes {np.mean(passes):.3f}")


def judged(baselines: Sequence[SpeedReport], runs: Sequence[SpeedReport]) -> Counter[str]:
    return Counter(status(before, run) for before, run in zip(cycle(baselines), runs, strict=False))


def slowed(search: Callable[[Query], object]) -> Callable[[Query], object]:
    """Search 3 of 10 queries twice, in turn, so that every pass has them."""
    turns = cycle([True, False, False, True, False, False, True, False, False, False])

    def twice(query: Query) -> object:
        if next(turns):
            search(query)
        return search(query)

    return twice


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Run that many processes that only burn CPU."""
    burners = [
        subprocess.Popen([sys.executable, "-c", "import os\nwhile os.getppid() != 1: pass"])
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


if __name__ == "__main__":
    main()
