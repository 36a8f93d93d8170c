"""A figure with its interval, for figures that are made of sums over items: shares, kappas, errors.

The items are drawn again as whole rows, those of a cluster (intervals.py) together; a draw for which the figure is not
defined (a specificity without a negative item) is left out.  A figure that the items themselves do not define is None,
never 0 or 1.  Where all draws give one figure they tell nothing of how far it could move: a mean of values in [0, 1]
then has the interval that `widened` gives, and any other figure none.
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
"""draws x columns of sums -> draws; NaN where the figure is not defined."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and how far it could move had other items been drawn.

    Attributes:
        value: None when the items do not define it.
        interval: None when there is no value, when it stands on several items of a single cluster, and when every draw
            gives the same figure, which is no mean of values in [0, 1].
        n: items that it stands on.
        clusters: of these items; `n` where each stands alone.
    """

    value: float | None
    interval: Interval | None
    n: int
    clusters: int

    @classmethod
    def share(cls, hits: int, n: int, clusters: Clusters | None = None) -> "Estimate":
        """The share of `n` items, with its Wilson interval; without a value where there are none.

        Args:
            clusters: of the items; None where each stands alone.
        """
        if not n:
            return cls(None, None, 0, 0)
        groups = numbered(clusters, n)
        return cls(hits / n, wilson(hits, n, effective_items(groups)), n, count(groups))

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
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
    """Each figure of the column sums, with its percentile bootstrap interval.

    Args:
        rows: n items x m columns, finite.
        figures: name -> the figure, and which of the items it stands on.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        shares: the figures that are means of values in [0, 1] over the items that they stand on.
        clusters: of the n items; None where each stands alone.
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
    """Elementwise; NaN where `under` is 0."""
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
