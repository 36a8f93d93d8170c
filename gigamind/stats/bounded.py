"""How far a mean of values in [0, 1] could move had other items been drawn, also where all or nearly all are equal.

A bootstrap draws what was seen.  Of four hits in four it makes [1, 1], and of values that are 1 in 95 of 100 cases it
holds the truth in 64 of 100 samples of 20.  Where fewer than five hits, or five misses, stand behind a mean, and where
the bootstrap has no width, the interval is therefore widened to Wilson's, which holds at worst for zeros and ones and
is wider than need be for graded values.  Everywhere else it is the bootstrap's own, to the last bit.  What the rules
that were tried cover is in benchmarks/README.md.

Differences of two runs are no such values: no change in any pair is an interval of [0, 0], and says so rightly.
"""

import numpy as np
import numpy.typing as npt

from gigamind.stats.clusters import Clusters, effective_items
from gigamind.stats.intervals import Interval, Matrix, mean_intervals, ratio_intervals
from gigamind.stats.proportion import wilson_of_mean

_FEW = 5  # of hits or misses
_ROUNDING = 1e-9


def bounded_means(
    values: Matrix, *, seed: int, label: str, clusters: Clusters | None = None
) -> list[Interval | None]:
    """95 % interval of each column's mean, as `mean_intervals` takes and gives them.

    Raises:
        ValueError: a value is not in [0, 1].
    """
    values = _checked(values)
    found = mean_intervals(values, seed=seed, label=label, clusters=clusters)
    for place, interval in enumerate(found):
        if interval is not None:
            measured = ~np.isnan(values[:, place])
            size = _size(measured, clusters)
            found[place] = widened(interval, float(values[measured, place].mean()), size)
    return found


def bounded_ratios(
    numerators: Matrix, denominators: Matrix, *, seed: int, label: str
) -> list[Interval | None]:
    """95 % interval of each column's ratio, as `ratio_intervals` takes and gives them.

    An item of twice the denominator counts as two that are alike (clusters.py).

    Raises:
        ValueError: an item's numerator is not between 0 and its denominator.
    """
    if not ((numerators >= 0) & (numerators <= denominators)).all():
        raise ValueError("a numerator is not between 0 and its denominator")
    found = ratio_intervals(numerators, denominators, seed=seed, label=label)
    for place, interval in enumerate(found):
        if interval is not None:
            over, under = numerators[:, place], denominators[:, place]
            size = float(under.sum() ** 2 / (under * under).sum())
            found[place] = widened(interval, float(over.sum() / under.sum()), size)
    return found


def widened(interval: Interval, mean: float, size: float) -> Interval:
    """The bootstrap interval, or the shortest that holds it and Wilson's where it is not to be trusted.

    Args:
        mean: of values in [0, 1].
        size: as how many independent items they count.
    """
    if not is_rough(interval, mean, size):
        return interval
    safe = wilson_of_mean(mean, size, interval.confidence)
    return Interval(min(interval.low, safe.low), max(interval.high, safe.high), interval.confidence)


def is_rough(interval: Interval, mean: float, size: float) -> bool:
    """Whether too few items differ for a bootstrap to know how far such items differ."""
    return size * min(mean, 1 - mean) < _FEW - _ROUNDING or has_no_width(interval)


def has_no_width(interval: Interval) -> bool:
    """Whether all that was drawn is equal, up to rounding."""
    return interval.high - interval.low <= _ROUNDING


def _checked(values: Matrix) -> Matrix:
    outside = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
    if outside.any():
        raise ValueError(f"not in [0, 1]: {values[outside][0]}")
    return np.clip(values, 0.0, 1.0)


def _size(measured: npt.NDArray[np.bool_], clusters: Clusters | None) -> float:
    if clusters is None:
        return float(np.count_nonzero(measured))
    return effective_items(clusters[measured])
