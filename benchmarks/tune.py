"""Measure the cost of `gigamind tune search`, its false recommendations, and the gains that it detects.

Nulls come from real rankings of collections: labels shuffled over the queries; signs flipped (1 - v for all settings
of a query, with probability 0.5); the values of each query permuted over the settings.  A fourth is made up: small
gains, and losses that are six times as large and as much rarer.  Gains are those of the collections, in full or in
part (the other queries flipped), on samples of their queries.

No data chose the level, the folds or the grid.  The made-up nulls and the examples showed that the test needs an
unseen loss; other collections only measure.  Make rows with `gigamind eval generate-queries --forms all --limit 400`.

    python benchmarks/tune.py [--collection queries.jsonl VAULT ...] [--nulls 200] [--seed 7] [--no-cost]
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import gigamind
from gigamind.datasets.check import CheckedQuery
from gigamind.evaluation.progress import Quiet
from gigamind.metrics.ranking import RankedQuery, measure_rankings
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.stats.intervals import Interval, Matrix
from gigamind.stats.paired import _bca_intervals
from gigamind.stats.selection import Selection
from gigamind.tasks.options import GridOptions, SearchEvalOptions
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.tune import rank_grid, tune_grid

EXAMPLES = ("examples/queries.jsonl", "examples/vault")
SIZES = (40, 80, 160, 320)
_GRID = GridOptions.model_validate({})  # of defaults
Draw = Callable[[np.random.Generator, int], Matrix]
Rankings = Sequence[Sequence[Sequence[str]]]


def cost(dataset: str, vault: str, rounds: int = 3) -> tuple[float, float]:
    """Return the least CPU seconds of a plain run and of the default grid with warm caches."""
    given = SearchEvalOptions.model_validate({"dataset": dataset, "notes": vault})
    times: dict[str, list[float]] = {"plain": [], "grid": []}
    runs = {
        "plain": lambda: gigamind.evaluate_search(dataset, vault),
        "grid": lambda: tune_grid(given, _GRID),
    }
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return min(times["plain"]), min(times["grid"])


def ranked(dataset: str, vault: str) -> tuple[list[CheckedQuery], Rankings]:
    """Return the answerable queries of a collection, and the rankings of each setting of the default grid."""
    options = SearchEvalOptions.model_validate({"dataset": dataset, "notes": vault})
    prepared = prepare(options)
    asked = [query for query in prepared.queries if query.item.answerable]
    return asked, rank_grid(prepared, asked, _GRID.around(options.retrieval), Quiet())


def values_of(rankings: Rankings, labels: Sequence[CheckedQuery]) -> Matrix:
    """Return nDCG@10, queries x settings, where each query expects the notes labelled in its place."""
    columns = [
        [
            row["ndcg_at_10"] or 0.0
            for row in measure_rankings(
                [RankedQuery(found, q.qrels) for found, q in zip(own, labels, strict=True)], 10
            )
        ]
        for own in rankings
    ]
    return np.array(columns).T


def turned(random: np.random.Generator, values: Matrix, share: float = 1.0) -> Matrix:
    """Return the values with `share` of the queries flipped with probability 0.5."""
    over = (random.random(len(values)) < share) & (random.random(len(values)) < 0.5)
    return np.where(over[:, np.newaxis], 1 - values, values)


def sampled(random: np.random.Generator, values: Matrix, items: int) -> Matrix:
    """Return that many queries, drawn with replacement."""
    return values[random.integers(0, len(values), items)]


def rare_losses(random: np.random.Generator, items: int) -> Matrix:
    """Return 24 settings in three correlated groups: 0.1 more for 30% of the items, 0.6 less for 5%."""
    common = np.repeat(random.random((items, 3)), 8, axis=1)
    own = np.where(random.random((items, 24)) < 0.8, common, random.random((items, 24)))
    moved = np.where(own < 0.3, 0.1, np.where(own > 0.95, -0.6, 0.0))
    moved[:, 0] = 0.0
    return 0.6 + moved


def shuffled(asked: Sequence[CheckedQuery], rankings: Rankings) -> Draw:
    """Return values where every query expects another one's notes; `items` different queries."""

    def draw(random: np.random.Generator, items: int) -> Matrix:
        order = random.permutation(len(asked)).tolist()
        values = values_of(rankings, [asked[place] for place in order])
        return random.permutation(values)[:items]

    return draw


def nulls(values: Matrix) -> Iterator[tuple[str, Draw]]:
    """Return ways to make a dataset of that many queries on which no setting is better."""
    yield "rows turned", lambda random, items: turned(random, sampled(random, values, items))
    yield (
        "values in any order",
        lambda random, items: random.permuted(sampled(random, values, items), axis=1),
    )


def naive(values: Matrix, seed: int) -> bool:
    """Return whether the best setting looks significant by its own interval on the data that picked it."""
    gains = values - values[:, :1]
    best = int(np.argmax(gains.mean(axis=0)))
    (interval,) = _bca_intervals(gains[:, [best]], seed=seed, label="naive")
    return interval.low > 0


def measured(
    name: str,
    draw: Draw,
    count: int,
    seed: int,
    *,
    truth: Matrix | None,
    sizes: Sequence[int] = SIZES,
) -> None:
    """Print a line per size: shares of switches and reported gains; `truth` has each setting's true gain."""
    for items in sizes:
        random = np.random.default_rng([seed, items])
        drawn = [draw(random, items) for _ in range(count)]
        found = [
            Selection.of(values, seed=at, label="benchmark") for at, values in enumerate(drawn)
        ]
        switched = sum(one.chosen != 0 for one in found)
        ends = Interval.wilson(switched, count)
        fooled = sum(naive(values, at) for at, values in enumerate(drawn)) / count
        print(
            f"| {name} | {items} | {switched} of {count} | {ends.low:.3f} – {ends.high:.3f} | {fooled:.3f} "
            f"| {_gains(found, truth)} |",
            flush=True,
        )


def _gains(found: Sequence[Selection], truth: Matrix | None) -> str:
    """Return the best setting's apparent, reported and true gain, and the coverage of the interval."""
    looks, estimates, gains, held = [], [], [], 0
    for one in found:
        column = one.chosen or one.best
        value, interval = one.corrected(column)
        looks.append(one.gains[column])
        estimates.append(value)
        if truth is not None:
            gains.append(truth[column])
            held += interval.low - 1e-9 <= truth[column] <= interval.high + 1e-9
    means = f"{np.mean(looks):+.3f} | {np.mean(estimates):+.3f}"
    return f"{means} | " + (
        f"{np.mean(gains):+.3f} | {held / len(found):.3f}" if gains else "– | –"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", nargs=2, action="append", metavar=("DATASET", "VAULT"))
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-cost", action="store_true")
    given = parser.parse_args()
    collections = [EXAMPLES, *(given.collection or [])]
    if not given.no_cost:
        print(
            "| collection | plain run, CPU s | 24 settings, CPU s | grid / run |\n|---|---:|---:|---:|"
        )
        for dataset, vault in collections:
            plain, grid = cost(dataset, vault)
            print(
                f"| {Path(vault).name} | {plain:.2f} | {grid:.2f} | {grid / plain:.2f} |",
                flush=True,
            )
    print(
        f"\nlevel {Selection.LEVEL}, 24 settings\n\n| data | queries | switch | 95 % interval | by its own interval "
        "| looks | reported | is | interval holds |\n|---|---:|---:|---|---:|---:|---:|---:|---:|"
    )
    none = np.zeros(len(_GRID.around(RetrievalSettings())))
    measured("made up: rare losses", rare_losses, given.nulls, given.seed, truth=none)
    for dataset, vault in collections:
        asked, rankings = ranked(dataset, vault)
        name, values = Path(vault).name, values_of(rankings, asked)
        # Not quite a null: a setting that often finds notes that many queries expect gains by any labels.
        draw, whole = shuffled(asked, rankings), (len(asked),)
        measured(f"{name}: labels shuffled", draw, given.nulls, given.seed, truth=None, sizes=whole)
        for kind, draw in nulls(values):
            measured(f"{name}: {kind}", draw, given.nulls, given.seed, truth=none)
        gains = (values - values[:, :1]).mean(axis=0)
        for share in (0.5, 1.0):
            draw = partial(_partly, values=values, share=share)
            part = f"{name}: {share:.0%} of the gain"
            measured(part, draw, given.nulls, given.seed, truth=share * gains)


def _partly(random: np.random.Generator, items: int, *, values: Matrix, share: float) -> Matrix:
    return turned(random, sampled(random, values, items), 1 - share)


if __name__ == "__main__":
    main()
