"""A figure with its interval, for figures computed from sums over items: shares, kappas, errors.

Items are resampled as whole rows, those of a cluster (intervals.py) together. Resamples for which the figure is
undefined (a specificity without negative items) are left out. A figure that the items do not define is None, never 0 or
1. If all resamples give the same figure, they show no variance: a mean of values in [0, 1] then gets the interval of
`widened`, and other figures get none.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import (
    Clusters,
    Interval,
    Matrix,
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

Booleans = npt.NDArray[np.bool_]
Figure = Callable[[Matrix], Matrix]
"""Maps resamples x columns of sums to one figure per resample; NaN if undefined."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval.

    Attributes:
        value: None if undefined for these items.
        interval: None without a value, for several items of a single cluster, and if every resample gives the same
            figure, unless it is a mean of values in [0, 1].
        n: items it is computed from.
        clusters: of these items; `n` if each is independent.
    """

    value: float | None
    interval: Interval | None
    n: int
    clusters: int

    @classmethod
    def share(cls, hits: int, n: int, clusters: Clusters | None = None) -> "Estimate":
        """Return the share of `n` items with its Wilson interval; without a value if there are none.

        Args:
            clusters: of the items; None if each is independent.
        """
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
    """Return each figure of the column sums with its percentile bootstrap interval.

    Args:
        rows: n items x m columns, finite.
        figures: name -> the figure, and a mask of the items that it is computed from.
        seed: any integer.
        label: with `seed`, determines the random draws.
        shares: figures that are means of values in [0, 1] over their items.
        clusters: of the n items; None if each is independent.
    """
    if not len(rows):
        return dict.fromkeys(figures, Estimate(None, None, 0, 0))
    groups = numbered(clusters, len(rows))
    exact = summable(summed(rows, groups))
    observed = exact.sum(axis=0)[np.newaxis]
    drawn = resampled_sums(exact, seed=seed, label=label)
    return {
        name: _estimate(of, groups[mask], observed, drawn, is_share=name in shares)
        for name, (of, mask) in figures.items()
    }


def ratio(over: Matrix, under: Matrix) -> Matrix:
    """Divide elementwise; NaN if `under` is 0."""
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
