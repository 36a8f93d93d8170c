"""Figures computed from sums over items (shares, kappas, errors), with bootstrap intervals.

Whole rows are resampled, rows of a cluster (intervals.py) together, without resamples for which a figure is undefined.
If all resamples agree, a mean of values in [0, 1] gets the interval of `widened`, and other figures get none.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import (
    CONFIDENCE,
    Clusters,
    Interval,
    Matrix,
    bounded_ratios,
    count,
    effective_items,
    has_no_width,
    is_single,
    numbered,
    percentile_interval,
    resampled_sums,
    summable,
    summed,
    widened,
    wilson,
)
from gigamind.stats.special import student_quantile

Item = TypeVar("Item")


def sliced(
    items: Iterable[Item], keys: Callable[[Item], Iterable[str | None]]
) -> dict[str, list[Item]]:
    """Return the items by key, keys sorted; items without a key are in no slice, repeated keys count once."""
    slices: dict[str, list[Item]] = {}
    for item in items:
        for key in {key for key in keys(item) if key is not None}:
            slices.setdefault(key, []).append(item)
    return dict(sorted(slices.items()))


Booleans = npt.NDArray[np.bool_]
Figure = Callable[[Matrix], Matrix]
"""draws x columns of sums -> draws; NaN where the figure is not defined."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % confidence interval."""

    value: float | None  # None if the items do not define it
    interval: Interval | None  # None for a single cluster, or without width unless a share
    n: int  # number of items behind it
    clusters: int  # number of clusters of these items; `n` if each item is independent

    @classmethod
    def share(cls, hits: int, n: int, clusters: Clusters | None = None) -> "Estimate":
        """Return the share of `n` items with its Wilson interval; without a value if there are none."""
        if not n:
            return cls(None, None, 0, 0)
        groups = numbered(clusters, n)
        return cls(hits / n, wilson(hits, n, effective_items(groups)), n, count(groups))

    @property
    def low(self) -> float | None:
        """Return the lower end of the interval."""
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        """Return the upper end of the interval."""
        return self.interval.high if self.interval else None


def estimates(
    rows: Matrix,
    figures: Mapping[str, tuple[Figure, Booleans]],
    *,
    seed: int,
    label: str,
    shares: Collection[str] = (),
    clusters: Clusters | None = None,
) -> dict[str, Estimate]:
    """Return each figure of the column sums of `rows`, n items x m columns, with its percentile bootstrap interval.

    Args:
        figures: name -> the figure, and a mask of the items that it uses.
        shares: figures that are means of values in [0, 1] over the items they use.
    """
    if not len(rows):
        return dict.fromkeys(figures, Estimate(None, None, 0, 0))
    groups = numbered(clusters, len(rows))
    exact = summable(summed(rows, groups))
    observed = exact.sum(axis=0)[np.newaxis]
    drawn = resampled_sums(exact, seed=seed, label=label)
    return {
        name: _estimate(of, groups[stands], observed, drawn, is_share=name in shares)
        for name, (of, stands) in figures.items()
    }


def ratio(over: Matrix, under: Matrix) -> Matrix:
    """Return the elementwise ratio; NaN where `under` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divided: Matrix = np.where(under == 0, np.nan, over / under)
    return divided


def _estimate(
    of: Figure, groups: Clusters, observed: Matrix, drawn: Matrix, *, is_share: bool
) -> Estimate:
    value, n, clusters = float(of(observed)[0]), groups.size, count(groups)
    if np.isnan(value):
        return Estimate(None, None, n, clusters)
    if is_single(groups):
        return Estimate(value, None, n, clusters)
    figures = of(drawn)
    defined = figures[~np.isnan(figures)]
    interval = percentile_interval(defined) if defined.size else Interval(value, value)
    if is_share:
        return Estimate(value, widened(interval, value, effective_items(groups)), n, clusters)
    return Estimate(value, None if has_no_width(interval) else interval, n, clusters)


def ratios(
    rows: Sequence[Mapping[str, tuple[int, int]]], names: Sequence[str], *, seed: int, label: str
) -> dict[str, Estimate]:
    """Return each figure as the sum of its numerators by that of its denominators; `n` counts items in the latter.

    `rows` are both of each item, by name; `label` determines the random draws of the intervals, with `seed`.
    """
    table = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
    over, under = table.reshape(len(rows), len(names), 2).transpose(2, 0, 1)
    intervals = bounded_ratios(over, under, seed=seed, label=label)
    wholes, counts = under.sum(axis=0), (under > 0).sum(axis=0)
    return {
        name: Estimate(float(part / whole) if whole else None, interval, int(n), int(n))
        for name, part, whole, interval, n in zip(
            names, over.sum(axis=0), wholes, intervals, counts, strict=True
        )
    }


_LEAST = 2  # measurements needed for a variance


def ratio_of_means(
    over: Sequence[float], under: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the ratio of geometric means, with its interval if both sides have two; `n` is of the shorter side.

    Times vary by factors, so the logarithms of unpaired measurements are compared by Welch's interval (Biometrika 34,
    1947).

    Raises:
        ValueError: a side is empty, or a measurement is not above 0.
    """
    if not over or not under or min(*over, *under) <= 0:
        raise ValueError("a ratio of means needs measurements above 0 on both sides")
    sides = np.log(over), np.log(under)
    difference = float(sides[0].mean() - sides[1].mean())
    n = min(len(over), len(under))
    if n < _LEAST:
        return Estimate(exp(difference), None, n, n)
    squares = [float(side.var(ddof=1)) / side.size for side in sides]
    total = sum(squares)
    if total == 0:
        ends = Interval(exp(difference), exp(difference), confidence)
        return Estimate(exp(difference), ends, n, n)
    spread = sum(s**2 / (side.size - 1) for s, side in zip(squares, sides, strict=True))
    arm = student_quantile((1 + confidence) / 2, total**2 / spread) * total**0.5
    ends = Interval(exp(difference - arm), exp(difference + arm), confidence)
    return Estimate(exp(difference), ends, n, n)
