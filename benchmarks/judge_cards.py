"""Measure how often the intervals of a judge report contain the truth if the claims of an answer are correlated.

    python benchmarks/judge_cards.py                    # 2 000 simulated reports per line, a minute or two

A judge reads answers with one to ten claims, four on average.  60% of the claims are supported; the judge recognises
90% of them, and 75% of the others.  Label and correctness of the verdict follow the whole answer with a probability
that gives the correlation of the line.

Each interval is computed twice: by answers, as in a report, and by claims, as if they were independent.  2 000
simulations estimate a coverage of 95% to within 1%; the bootstrap gets 400, which is 2%.
"""

import argparse
import os
import time
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gigamind.stats.agreement import Booleans, binary_agreement, corrected_mean
from gigamind.stats.intervals import Clusters, Interval

SUPPORTED, SEEN, SEEN_NOT = 0.6, 0.9, 0.75
ACCURACY = SUPPORTED * SEEN + (1 - SUPPORTED) * SEEN_NOT
SAID = SUPPORTED * SEEN + (1 - SUPPORTED) * (1 - SEEN_NOT)
CHANCE = SUPPORTED * SAID + (1 - SUPPORTED) * (1 - SAID)
KAPPA = (ACCURACY - CHANCE) / (1 - CHANCE)
LABELLED = 120  # answers
SEED = 42
_BOOTSTRAPPED = 5  # one in so many simulations


@dataclass(frozen=True, slots=True)
class Claims:
    """Hold label, verdict and answer of every claim."""

    labels: Booleans
    verdicts: Booleans
    answers: Clusters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    simulations = parser.parse_args().simulations
    start = time.perf_counter()
    print(f"agreement, {LABELLED} labelled answers: how often 95 % intervals hold the truth")
    print("  correlation |  accuracy: answers  claims |  kappa: answers  claims")
    for correlation in (0.0, 0.1, 0.3, 0.6):
        agreement(correlation, max(1, simulations // _BOOTSTRAPPED))
    for labels, in_part in (("all claims of a fourth", False), ("40 % of the claims", True)):
        print(f"\ncorrected mean (PPI++), labels of {labels} of the answers")
        print("  labelled answers  correlation |  answers  claims |  width  of labels alone")
        for correlation in (0.0, 0.1, 0.3, 0.6):
            corrected(LABELLED, correlation, simulations, in_part=in_part)
        for labelled in (15, 30, 60):
            corrected(labelled, 0.3, simulations, in_part=in_part)
    print(f"\n{time.perf_counter() - start:.0f} s")


def agreement(correlation: float, simulations: int) -> None:
    rng = np.random.default_rng(SEED)
    held = {("accuracy", True): 0, ("accuracy", False): 0}
    held |= {("cohen_kappa", True): 0, ("cohen_kappa", False): 0}
    for seed in range(simulations):
        drawn = draw(rng, LABELLED, correlation)
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


def corrected(labelled: int, correlation: float, simulations: int, *, in_part: bool) -> None:
    rng = np.random.default_rng(SEED)
    held = {True: 0, False: 0}
    width = alone = 0.0
    for _ in range(simulations):
        drawn = draw(rng, labelled if in_part else 4 * labelled, correlation)
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


def draw(rng: np.random.Generator, answers: int, correlation: float) -> Claims:
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
    return interval is not None and interval.low <= truth <= interval.high


if __name__ == "__main__":
    main()
