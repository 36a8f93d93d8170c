"""Measure which items to label: the error, the coverage and the decisions of stratified labels against random ones.

    python benchmarks/labels.py                      # 2 000 draws per line, five minutes

Each world has verdicts and labels of N items in clusters of 1 to 6.  A line labels some clusters by the rule of
`gigamind label` (strata of verdict x third of the expected error, a pilot, then Neyman allocation) and as many
clusters at random with PPI++.  `labels needed` is the ratio of squared errors: the share of the labels that the
stratified rule needs for the error of random labels.  `coverage` is of the 95 % interval for the mean of the run's
items and for the mean of the world.  `wrong` is how often five looks, each at 99 %, decide although the mean is the
floor.
"""

import argparse
import os
import time
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gigamind.stats.agreement import CorrectedMean, corrected_mean
from gigamind.stats.intervals import clusters_of
from gigamind.stats.stratified import PILOT, StratifiedMean, neyman, proportional, stratified_mean

SEED = 42
LOOKS = 5


@dataclass(frozen=True)
class World:
    """How often a judge errs, and how well that is foreseen."""

    name: str
    low: float  # error rate of one half of the clusters
    high: float  # of the other half
    foreseen: float  # chance that the score knows the half
    positive: float = 0.8  # share of labels that are 1
    largest: int = 1  # items of a cluster


WORLDS = (
    World("2 % and 40 % errors, foreseen well", 0.02, 0.40, 0.9),
    World("2 % and 40 % errors, foreseen badly", 0.02, 0.40, 0.7),
    World("5 % and 35 % errors, foreseen badly", 0.05, 0.35, 0.7),
    World("20 % and 30 % errors, not foreseen", 0.20, 0.30, 0.5),
    World("2 % errors everywhere", 0.02, 0.02, 0.5, 0.95),
    World("2 % and 40 %, foreseen well, answers of 1 to 6 claims", 0.02, 0.40, 0.9, 0.8, 6),
    World("20 % and 30 %, not foreseen, answers of 1 to 6 claims", 0.20, 0.30, 0.5, 0.5, 6),
)


@dataclass
class Run:
    """A simulated run; strata are of clusters."""

    labels: np.ndarray
    verdicts: np.ndarray
    clusters: np.ndarray
    strata: np.ndarray


def drawn_run(world: World, n: int, rng: np.random.Generator) -> Run:
    """Return a run of `n` clusters."""
    sizes = rng.integers(1, world.largest + 1, n)
    clusters = np.repeat(np.arange(n), sizes)
    hard = rng.random(n) < 0.5
    quality = rng.beta(8 * world.positive, 8 * (1 - world.positive), n)
    labels = (
        rng.random(clusters.size) < (quality[clusters] if world.largest > 1 else world.positive)
    ).astype(float)
    wrong = rng.random(clusters.size) < np.where(hard, world.high, world.low)[clusters]
    verdicts = np.where(wrong, 1 - labels, labels)
    score = np.where(rng.random(n) < world.foreseen, hard, ~hard) + rng.random(n)
    third = np.searchsorted(np.quantile(score, [1 / 3, 2 / 3]), score)
    worst = np.ones(n)
    np.minimum.at(worst, clusters, verdicts)
    return Run(labels, verdicts, clusters, merged(worst.astype(int) * 3 + third))


def merged(strata: np.ndarray, least: int = 8) -> np.ndarray:
    from gigamind.assurance.label_file import _merge_small

    return np.array(_merge_small([(int(one) // 3, int(one) % 3) for one in strata], least))


def stratified(run: Run, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the drawn clusters: a proportional pilot, then Neyman allocation."""
    names = np.unique(run.strata)
    order = [rng.permutation(np.flatnonzero(run.strata == name)) for name in names]
    sizes = [len(one) for one in order]
    pilot = proportional(sizes, round(PILOT * budget))
    errors = [0.0] * len(names)
    apart = np.abs(run.labels - run.verdicts)
    for at, (own, n) in enumerate(zip(order, pilot, strict=True)):
        errors[at] = float(sum(apart[run.clusters == cluster].mean() for cluster in own[:n]))
    total = neyman(sizes, pilot, errors, budget)
    return np.concatenate([own[:n] for own, n in zip(order, total, strict=True)])


def estimate(run: Run, chosen: np.ndarray, confidence: float = 0.95) -> StratifiedMean | None:
    labelled = np.flatnonzero(np.isin(run.clusters, chosen))
    return stratified_mean(
        run.labels[labelled],
        run.verdicts,
        labelled,
        run.strata[run.clusters],
        run.clusters,
        confidence=confidence,
    )


def random_estimate(run: Run, chosen: np.ndarray) -> CorrectedMean | None:
    inside = np.isin(run.clusters, chosen)
    order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
    return corrected_mean(
        run.labels[inside],
        run.verdicts[inside],
        run.verdicts[~inside],
        clusters=clusters_of(run.clusters[order]),
    )


@dataclass(frozen=True)
class Line:
    """What a number of labels achieves in a world."""

    needed: float  # labels for the error of one random label
    run_coverage: float
    kind_coverage: float


def line_of(world: World, n: int, budget: int, draws: int) -> Line:
    rng = np.random.default_rng([SEED, n, budget, len(world.name)])
    truth = float(drawn_run(world, 100_000, rng).labels.mean())
    rows = []
    for _ in range(draws):
        run = drawn_run(world, n, rng)
        chosen = stratified(run, budget, rng)
        mean = estimate(run, chosen)
        at_random = random_estimate(run, rng.choice(n, len(chosen), replace=False))
        here = float(run.labels.mean())
        rows.append(
            (
                (mean.value - here) ** 2,
                (at_random.value - here) ** 2,
                mean.run.low <= here <= mean.run.high,
                mean.interval.low <= truth <= mean.interval.high,
            )
        )
    ours, theirs, run_coverage, kind_coverage = np.mean(rows, axis=0)
    return Line(ours / theirs, run_coverage, kind_coverage)


def wrong_decisions(world: World, n: int, budget: int, draws: int) -> float:
    """Return how often a look decides against a floor that is the mean of the run's items."""
    rng = np.random.default_rng([SEED, n, budget])
    wrong = 0
    for _ in range(draws):
        run = drawn_run(world, n, rng)
        floor = float(run.labels.mean())
        chosen = stratified(run, budget, rng)
        for look in range(1, LOOKS + 1):
            mean = estimate(
                run, in_order(run, chosen, round(budget * look / LOOKS)), 1 - 0.05 / LOOKS
            )
            if mean and not mean.run.low <= floor <= mean.run.high:
                wrong += 1
                break
    return wrong / draws


def in_order(run: Run, chosen: np.ndarray, n: int) -> np.ndarray:
    """Return the first `n` in an order that shows each stratum early, as the page does."""
    turn = {}
    keys = []
    for cluster in chosen:
        stratum = run.strata[cluster]
        turn[stratum] = turn.get(stratum, 0) + 1
        keys.append((turn[stratum] - 0.5) / int((run.strata[chosen] == stratum).sum()))
    return chosen[np.argsort(keys, kind="stable")][:n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    start = time.perf_counter()
    print(f"{'world':55} {'N':>5} {'n':>4} needed  run    world")
    for world in WORLDS:
        for n in (60, 200, 1000):
            for budget in (30, 60, 120):
                if budget < n:
                    one = line_of(world, n, budget, draws)
                    figures = f"{one.needed:6.2f} {one.run_coverage:6.3f} {one.kind_coverage:6.3f}"
                    print(f"{world.name:55} {n:5} {budget:4} {figures}", flush=True)
    for world in WORLDS:
        print(
            f"wrong decisions at the floor, {world.name}: {wrong_decisions(world, 400, 100, draws):.3f}",
            flush=True,
        )
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
