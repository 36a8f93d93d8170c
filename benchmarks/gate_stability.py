"""Measure how often the gate on a judged metric fails on noise alone, and how often it detects a real drop.

    python benchmarks/gate_stability.py                 # 1 000 simulated pairs of runs per line, about a minute

A judge errs on an item with probability e, independently each time; 2e(1 - e) = 5% of the verdicts then flip between
two equal runs, up and down alike, whatever the share of good items.  Items with unchanged input keep their stored
verdict.  A planted drop breaks exactly 2 x margin of all items, all of them good.

Expected: with N items, a re-judged share c, k = 2 x margin x N broken items and z = 1.96, the gate fails if the net
drop exceeds z standard errors, so in Phi((k(1 - 2e) - z s) / r) of the runs.  Here s**2 = 0.05(cN - k) + 0.95k - (k(1
- 2e))**2 / N is the variance behind the interval, and r**2 = 0.05cN the variance of the noise.
"""

import argparse
import os
from dataclasses import dataclass
from statistics import NormalDist

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gigamind.stats.intervals import Matrix
from gigamind.stats.paired import _bca_intervals, non_inferiority

FLIPS = 0.05
WRONG = (1 - (1 - 2 * FLIPS) ** 0.5) / 2
GOOD = 0.8  # share of items that the judge should pass; noise of this kind does not depend on it
SEED = 42
_BATCH = 50  # simulated pairs that share bootstrap draws
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Setting:
    """Hold one line of a table.

    Attributes:
        judged_anew: share of items whose input changed, the broken ones among them.
        confirmed: an item whose verdict changed is judged twice more in both runs, and the majority counts.
    """

    n: int
    margin: float
    judged_anew: float = 1.0
    confirmed: bool = False

    @property
    def broken(self) -> int:
        """Return the number of items that a planted drop of twice the margin breaks."""
        return round(2 * self.margin * self.n)


@dataclass(frozen=True, slots=True)
class Rates:
    """Hold shares of the simulated pairs.  `raw`: the raw drop alone exceeds the margin."""

    failed: float
    inconclusive: float
    raw: float
    needed_n: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000)
    pairs = parser.parse_args().pairs
    print(f"{pairs} pairs of runs a line; {FLIPS:.0%} of verdicts flip; drops are 2 x margin\n")
    stored = [Setting(200, 0.02, share) for share in (0.15, 0.1)]
    anew = [Setting(200, 0.02), Setting(200, 0.05), Setting(700, 0.02)]
    table([*stored, *anew, Setting(200, 0.02, confirmed=True)], pairs)
    attainable()


def table(settings: list[Setting], pairs: int) -> None:
    print(
        "     N  margin  anew |  noise: fails  incon.  raw drop  needs N |  drop: fails  expected  incon."
    )
    for line in settings:
        noise, drop = measure(line, pairs, planted=False), measure(line, pairs, planted=True)
        expected = "       -" if line.confirmed else f"{predicted(line):8.1%}"
        print(
            f"  {line.n:4d}  {line.margin:6.3f} {line.judged_anew:5.0%} |"
            f"        {noise.failed:6.1%}  {noise.inconclusive:6.1%}    {noise.raw:6.1%}  {noise.needed_n:7.0f} |"
            f"       {drop.failed:6.1%}  {expected}  {drop.inconclusive:6.1%}"
            + ("  changed verdicts confirmed" if line.confirmed else "")
        )
    print()


def measure(setting: Setting, pairs: int, *, planted: bool) -> Rates:
    rng = np.random.default_rng([SEED, setting.n, int(setting.margin * 1000), int(planted)])
    columns = [simulate(setting, rng, planted=planted) for _ in range(pairs)]
    drops, decisions = [], []
    for start in range(0, pairs, _BATCH):
        batch: Matrix = np.stack(columns[start : start + _BATCH], axis=1)
        intervals = _bca_intervals(batch, seed=SEED, label=f"{start} {planted}")
        for differences, interval in zip(batch.T, intervals, strict=True):
            drops.append(-float(differences.mean()))
            decisions.append(
                non_inferiority(-drops[-1], interval, n=setting.n, margin=setting.margin)
            )
    needed = [pairs_needed for _decision, pairs_needed in decisions if pairs_needed is not None]
    return Rates(
        failed=sum(decision == "fail" for decision, _needed in decisions) / pairs,
        inconclusive=sum(decision == "inconclusive" for decision, _needed in decisions) / pairs,
        raw=sum(drop > setting.margin + 1e-9 for drop in drops) / pairs,
        needed_n=float(np.median(needed)) if needed else float("nan"),
    )


def simulate(setting: Setting, rng: np.random.Generator, *, planted: bool) -> Matrix:
    """Return the differences of the verdicts (current - baseline) of one pair of runs."""
    n, broken = setting.n, setting.broken if planted else 0
    good = np.arange(n) < round(GOOD * n)  # the broken ones come first
    good_now = good & (np.arange(n) >= broken)
    anew = np.arange(n) < broken
    others = max(0, round(setting.judged_anew * n) - broken)
    anew[rng.choice(np.arange(broken, n), others, replace=False)] = True
    baseline = good ^ (rng.random(n) < WRONG)
    current = np.where(anew, good_now ^ (rng.random(n) < WRONG), baseline)
    if setting.confirmed:
        doubtful = baseline != current
        baseline = np.where(doubtful, majority(baseline, good, rng), baseline)
        current = np.where(doubtful, majority(current, good_now, rng), current)
    return current.astype(np.float64) - baseline


def majority(first: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the verdict of two out of three, given the first."""
    more = truth ^ (rng.random((2, truth.size)) < WRONG)
    return first.astype(int) + more.sum(axis=0) >= 2


def predicted(setting: Setting) -> float:
    """Return the share of planted drops that fail, by the normal approximation of the module docstring."""
    n, anew = setting.n, max(setting.judged_anew * setting.n, setting.broken)
    net = setting.broken * (1 - 2 * WRONG)
    spread = FLIPS * (anew - setting.broken) + (1 - FLIPS) * setting.broken - net**2 / n
    return NORMAL.cdf((net - 1.96 * spread**0.5) / (FLIPS * anew) ** 0.5)


def attainable() -> None:
    """Print the margin and the N at which 95% of planted drops fail, by the same approximation."""
    margins = (m / 1000 for m in range(10, 200))
    least = next(m for m in margins if predicted(Setting(200, m)) >= 0.95)
    size = next(n for n in range(200, 9000, 10) if predicted(Setting(n, 0.02)) >= 0.95)
    print("expected to fail 95 % of planted drops, every item judged anew:")
    print(f"  N = 200: a margin of at least {least:.3f}; margin 0.02: N of at least {size}")


if __name__ == "__main__":
    main()
