"""Measure coverage and width of 95% intervals: of means in [0, 1], and of judge reports.

    python benchmarks/intervals.py                      # 1 000 simulated samples per line, some minutes

First the means of summaries: zeros and ones with several probabilities, and graded values that are mostly or all 1,
under each candidate rule.  gigamind uses the last but one.  Then the corrected mean of a judge report (PPI++), next
to the normal interval of the same estimate.

Last the intervals of judge reports if the claims of an answer are correlated.  A judge reads answers with one to ten
claims, four on average.  60% of the claims are supported; the judge recognises 90% of them, and 75% of the others.
Label and correctness of the verdict follow the whole answer with a probability that gives the correlation of the line.
Each interval is computed twice: by answers, as in a report, and by claims, as if they were independent.

1 000 simulations estimate a coverage of 95% to within 1.4%; the bootstrap of judge reports gets a fifth of them.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gigamind.stats.agreement import Booleans, CorrectedMean, binary_agreement, corrected_mean
from gigamind.stats.intervals import (
    Clusters,
    Interval,
    Matrix,
    _mean_intervals,
    bounded_means,
)

SEED = 42
SIZES = (2, 4, 10, 20, 50, 200)
LABELS = (20, 30, 50, 150)
SHARES = (0.5, 0.8, 0.9, 0.95, 0.98)
ACCURACIES = (0.7, 0.9, 0.98)
UNLABELLED = 500
Z = 1.959963984540054
SUPPORTED, SEEN, SEEN_NOT = 0.6, 0.9, 0.75
ACCURACY = SUPPORTED * SEEN + (1 - SUPPORTED) * SEEN_NOT
SAID = SUPPORTED * SEEN + (1 - SUPPORTED) * (1 - SEEN_NOT)
CHANCE = SUPPORTED * SAID + (1 - SUPPORTED) * (1 - SAID)
KAPPA = (ACCURACY - CHANCE) / (1 - CHANCE)
LABELLED = 120  # answers
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
_BOOTSTRAPPED = 5  # one in so many simulations

Draw = Callable[[np.random.Generator, tuple[int, int]], Matrix]
Rule = Callable[[Matrix, list[Interval]], list[Interval]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    simulations = parser.parse_args().simulations
    start = time.perf_counter()
    means(simulations)
    corrected(simulations)
    judge_reports(simulations)
    print(f"\n{time.perf_counter() - start:.0f} s")


def shares(chance: float) -> Draw:
    return lambda generator, size: (generator.random(size) < chance).astype(np.float64)


def mostly_1(chance: float, others: Mapping[float, float]) -> Draw:
    values, weights = np.array(list(others)), np.array(list(others.values()))

    def draw(generator: np.random.Generator, size: tuple[int, int]) -> Matrix:
        rest = generator.choice(values, p=weights / weights.sum(), size=size)
        return np.where(generator.random(size) < chance, 1.0, rest)

    return draw


def beta(a: float, b: float) -> Draw:
    return lambda generator, size: generator.beta(a, b, size)


RANKS = {1 / 2: 1.0, 1 / 3: 1.0, 1 / 4: 1.0, 0.0: 1.0}
CLAIMS = {0.0: 1.0, 1 / 4: 1.0, 1 / 2: 1.0, 3 / 4: 1.0}
RANK, CLAIM = (1 / 2 + 1 / 3 + 1 / 4) / 4, 1.5 / 4
DRAWS: dict[str, tuple[Draw, float]] = {
    **{f"0 and 1, {chance:.2f}": (shares(chance), chance) for chance in (*SHARES, 1.0)},
    "reciprocal ranks, 70 % of them 1": (mostly_1(0.7, RANKS), 0.7 + 0.3 * RANK),
    "reciprocal ranks, 95 % of them 1": (mostly_1(0.95, RANKS), 0.95 + 0.05 * RANK),
    "correctness, 90 % of it 1": (mostly_1(0.9, CLAIMS), 0.9 + 0.1 * CLAIM),
    "correctness, 98 % of it 1": (mostly_1(0.98, CLAIMS), 0.98 + 0.02 * CLAIM),
    "beta(2, 2)": (beta(2, 2), 0.5),
    "beta(8, 2)": (beta(8, 2), 0.8),
    "beta(19, 1)": (beta(19, 1), 0.95),
}


def score(values: Matrix, _: list[Interval]) -> list[Interval]:
    return [Interval.wilson_of_mean(float(mean), len(values)) for mean in values.mean(axis=0)]


def hull(most: float) -> Rule:
    """Return the bootstrap's interval, widened by Wilson's with fewer hits or misses than `most` or equal values."""

    def rule(values: Matrix, drawn: list[Interval]) -> list[Interval]:
        mean = values.mean(axis=0)
        few = len(values) * np.minimum(mean, 1 - mean) < most - 1e-9
        columns = zip(few | (np.ptp(values, axis=0) == 0), drawn, score(values, drawn), strict=True)
        return [
            Interval(min(one.low, safe.low), max(one.high, safe.high)) if rough else one
            for rough, one, safe in columns
        ]

    return rule


def taken(values: Matrix, _: list[Interval]) -> list[Interval]:
    found = bounded_means(values, seed=SEED, label="benchmark")
    return [one for one in found if one is not None]


RULES: dict[str, Rule] = {
    "bootstrap": lambda _, drawn: drawn,
    "Wilson always": score,
    "hull, < 10": hull(10),
    "hull, < 5 (taken)": taken,
    "hull always": hull(np.inf),
}


def means(simulations: int) -> None:
    """Return coverage and mean width of each rule by draw and sample size, and the lowest coverage."""
    print(f"means: coverage / mean width; rules: {'; '.join(RULES)}")
    lowest: dict[tuple[str, int], tuple[float, str]] = {}
    generator = np.random.default_rng(SEED)
    for name, (draw, truth) in DRAWS.items():
        print(f"\n{name}")
        for n in SIZES:
            values = draw(generator, (n, simulations))
            drawn = [one for one in _mean_intervals(values, seed=SEED, label="benchmark") if one]
            cells: list[str] = []
            for rule, make in RULES.items():
                found = make(values, drawn)
                held = float(np.mean([holds(one, truth) for one in found]))
                width = float(np.mean([one.high - one.low for one in found]))
                cells.append(f"{held:5.1%} {width:.3f}")
                lowest[rule, n] = min(lowest.get((rule, n), (2.0, "")), (held, name))
            print(f"  N = {n:3d}  {'  '.join(cells)}")
    print("\nlowest coverage of any of them")
    for rule in RULES:
        cells = [f"{lowest[rule, n][0]:6.1%}" for n in SIZES]
        print(f"  {rule:24s} {'  '.join(cells)}")


def corrected(simulations: int) -> None:
    print(
        f"\ncorrected mean, {UNLABELLED} items without labels: coverage normal, now; width now / normal"
    )
    worst = 1.0
    for accuracy in ACCURACIES:
        for labels in LABELS:
            cells: list[str] = []
            for share in SHARES:
                plain, held, wider = cards(labels, share, accuracy, simulations)
                cells.append(f"{plain:5.1%} {held:6.1%} {wider:5.2f}")
                worst = min(worst, held)
            print(f"  judge right {accuracy:.2f}, {labels:3d} labels |  {'  |  '.join(cells)}")
    print(f"  lowest: {worst:.1%}")


def cards(
    labels: int, share: float, accuracy: float, simulations: int
) -> tuple[float, float, float]:
    """Return the coverage of the normal interval and of the report's, and their mean ratio of widths."""
    generator = np.random.default_rng(SEED)
    plain = held = 0
    width = normal_width = 0.0
    for _ in range(simulations):
        truth = generator.random(labels + UNLABELLED) < share
        verdicts = (truth == (generator.random(truth.size) < accuracy)).astype(np.float64)
        known = truth[:labels].astype(np.float64)
        judged, others = verdicts[:labels], verdicts[labels:]
        found = corrected_mean(known, judged, others)
        if found is None:
            raise SystemExit("too few labels")
        low, high = normal(found, known, judged, others)
        plain += low <= share <= high
        held += holds(found.interval, share)
        width += found.interval.high - found.interval.low
        normal_width += high - low
    return plain / simulations, held / simulations, width / normal_width


def normal(
    found: CorrectedMean, known: Matrix, judged: Matrix, others: Matrix
) -> tuple[float, float]:
    """Return 1.96 standard errors of the estimate, cut to [0, 1], as in the paper."""
    variance = (known - found.weight * judged).var(ddof=1) / known.size
    variance += found.weight**2 * others.var(ddof=1) / others.size
    arm = Z * float(variance) ** 0.5
    return max(0.0, found.value - arm), min(1.0, found.value + arm)


def judge_reports(simulations: int) -> None:
    print(f"\nagreement, {LABELLED} labelled answers: how often 95 % intervals hold the truth")
    print("  correlation |  accuracy: answers  claims |  kappa: answers  claims")
    for correlation in CORRELATIONS:
        agreement(correlation, max(1, simulations // _BOOTSTRAPPED))
    for labels, in_part in (("all claims of a fourth", False), ("40 % of the claims", True)):
        print(f"\ncorrected mean (PPI++), labels of {labels} of the answers")
        print("  labelled answers  correlation |  answers  claims |  width  of labels alone")
        for correlation in CORRELATIONS:
            corrected_by_answers(LABELLED, correlation, simulations, in_part=in_part)
        for labelled in (15, 30, 60):
            corrected_by_answers(labelled, 0.3, simulations, in_part=in_part)


@dataclass(frozen=True, slots=True)
class Claims:
    """Hold label, verdict and answer of every claim."""

    labels: Booleans
    verdicts: Booleans
    answers: Clusters


def agreement(correlation: float, simulations: int) -> None:
    rng = np.random.default_rng(SEED)
    held = {("accuracy", True): 0, ("accuracy", False): 0}
    held |= {("cohen_kappa", True): 0, ("cohen_kappa", False): 0}
    for seed in range(simulations):
        drawn = drawn_claims(rng, LABELLED, correlation)
        for clustered in (True, False):
            found = binary_agreement(
                drawn.labels,
                drawn.verdicts,
                seed=seed,
                label="benchmark",
                clusters=drawn.answers if clustered else None,
            )
            for name, truth in (("accuracy", ACCURACY), ("cohen_kappa", KAPPA)):
                held[name, clustered] += holds(found[name].interval, truth)
    shares = [f"{count / simulations:6.1%}" for count in held.values()]
    print(
        f"  {correlation:11.1f} |             {shares[0]}  {shares[1]} |          {shares[2]}  {shares[3]}"
    )


def corrected_by_answers(
    labelled: int, correlation: float, simulations: int, *, in_part: bool
) -> None:
    rng = np.random.default_rng(SEED)
    held = {True: 0, False: 0}
    width = alone = 0.0
    for _ in range(simulations):
        drawn = drawn_claims(rng, labelled if in_part else 4 * labelled, correlation)
        ours = rng.random(drawn.answers.size) < 0.4 if in_part else drawn.answers < labelled
        for clustered in (True, False):
            found = corrected_mean(
                drawn.labels[ours].astype(float),
                drawn.verdicts[ours].astype(float),
                drawn.verdicts[~ours].astype(float),
                clusters=np.concatenate([drawn.answers[ours], drawn.answers[~ours]])
                if clustered
                else None,
            )
            if found is None:
                raise SystemExit("no labels were drawn")
            held[clustered] += holds(found.interval, SUPPORTED)
            if clustered:
                width += found.interval.high - found.interval.low
                alone += found.labelled_interval.high - found.labelled_interval.low
    shares = f"{held[True] / simulations:7.1%}  {held[False] / simulations:6.1%}"
    widths = f"{width / simulations:5.3f}  {alone / simulations:14.3f}"
    print(f"  {labelled:16d}  {correlation:11.1f} |  {shares} |  {widths}")


def drawn_claims(rng: np.random.Generator, answers: int, correlation: float) -> Claims:
    """Draw claims of that many answers; two claims both follow their answer with probability `correlation`."""
    sizes = np.minimum(1 + rng.poisson(3, answers), 10)
    of = np.repeat(np.arange(answers), sizes)

    def happens(chance: float) -> Booleans:
        along = rng.random(of.size) < correlation**0.5
        return np.where(along, rng.random(answers)[of], rng.random(of.size)) < chance

    labels = happens(SUPPORTED)
    right = np.where(labels, happens(SEEN), happens(SEEN_NOT))
    return Claims(labels, labels == right, of)


def holds(interval: Interval | None, truth: float) -> bool:
    """Return whether the interval contains the value; a mean of ones of 0.9999999999999999 counts as 1."""
    return interval is not None and interval.low - 1e-12 <= truth <= interval.high + 1e-12


if __name__ == "__main__":
    main()
