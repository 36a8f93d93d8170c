"""Which difference of paired means could this many items have shown at all?

"Detect" means: the two-sided test at 0.05 finds it in 80 of 100 comparisons.  A comparison that found nothing says no
more than that the difference is probably below this figure.
"""

import numpy as np

from gigamind.stats.distributions import (
    Counts,
    Numbers,
    beta_quantile,
    binomial_cdfs,
    student_quantile,
)
from gigamind.stats.significance import MIN_PAIRS

ALPHA = 0.05
POWER = 0.8
_WINDOW = 6  # standard deviations of the number of changes that are summed over
_HALVINGS = 24  # to 6e-8 of the share of changes


def detectable_graded(n: int, deviation: float) -> float | None:
    """The smallest mean difference of graded values that n pairs could detect.

    By Student's t, to which the sign-flip test is close.  None with fewer than six pairs, and when all differences are
    equal: a spread of 0 says nothing about the spread that a change would have.

    Args:
        n: number of pairs.
        deviation: sample standard deviation of the differences.
    """
    if n < MIN_PAIRS or deviation == 0:
        return None
    quantiles = student_quantile(1 - ALPHA / 2, n - 1) + student_quantile(POWER, n - 1)
    return quantiles * deviation / n**0.5


def detectable_binary(n: int, changed: int) -> float | None:
    """The smallest difference of two shares that McNemar's exact test could detect with n pairs, in (0, 1).

    The share of pairs that change is taken from the comparison; a difference cannot be larger than it.  Where even
    changes in one direction only would be too few, it is the share of one-way changes that would do.  None with fewer
    than six pairs.

    Args:
        n: number of pairs.
        changed: pairs whose two values differ.
    """
    if n < MIN_PAIRS:
        return None
    # One way, six changes are significant and five are not.  The chance of six or more reaches 80 % at this share.
    one_way = beta_quantile(POWER, MIN_PAIRS, n - MIN_PAIRS + 1)
    if changed <= n * one_way:
        return one_way
    low, high = 0.0, changed / n
    counts, chances, critical = _change_counts(n, changed / n)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        opposite = (
            1 - middle * n / changed
        ) / 2  # share of the changes that go against the difference
        power = float((chances * binomial_cdfs(critical, counts, opposite)).sum())
        low, high = (middle, high) if power < POWER else (low, middle)
    return high


def _change_counts(n: int, share: float) -> tuple[Counts, Numbers, Counts]:
    """Numbers of changes that n pairs may have, how likely each is, and the most that may go the other way.

    That number is -1 where no split is significant.
    """
    reach = _WINDOW * (n * share * (1 - share)) ** 0.5 + 1
    first, last = max(0, int(n * share - reach)), min(n, int(n * share + reach))
    counts: Counts = np.arange(first, last + 1, dtype=np.int64)
    below: Counts = np.arange(first - 1, last + 1, dtype=np.int64)
    chances: Numbers = np.diff(binomial_cdfs(below, n, share))
    return counts, chances, _critical(counts)


def _critical(counts: Counts) -> Counts:
    """For each number of changes, the largest minority that is still significant; -1 if none is."""
    # Normal approximation, one too many rather than one too few; stepped down to the exact figure.
    rough = np.floor(counts / 2 - 0.9 * np.sqrt(counts)).astype(np.int64) + 1
    critical: Counts = np.minimum(rough, counts)
    while True:
        too_many = (critical >= 0) & (2 * binomial_cdfs(critical, counts, 0.5) > ALPHA)
        if not too_many.any():
            return np.maximum(critical, -1)
        critical[too_many] -= 1
