"""A figure with its interval, for figures that are made of sums over items: shares, kappas, errors.

The items are drawn again as whole rows, those of a cluster (clusters.py) together; a draw for which the figure is not
defined (a specificity without a negative item) is left out.  A figure that the items themselves do not define is None,
never 0 or 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.stats.bca import summable
from gigamind.stats.clusters import Clusters, count, is_single, numbered, summed
from gigamind.stats.intervals import (
    RESAMPLES,
    Interval,
    Matrix,
    percentile_interval,
    resampled_counts,
)

Booleans = npt.NDArray[np.bool_]
Figure = Callable[[Matrix], Matrix]
"""draws x columns of sums -> draws; NaN where the figure is not defined."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and how far it could move had other items been drawn.

    Attributes:
        value: None when the items do not define it.
        interval: None when there is no value, or when it stands on several items of a single cluster.
        n: items that it stands on.
        clusters: of these items; `n` where each stands alone.
    """

    value: float | None
    interval: Interval | None
    n: int
    clusters: int


def estimates(
    rows: Matrix,
    figures: Mapping[str, tuple[Figure, Booleans]],
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Each figure of the column sums, with its percentile bootstrap interval.

    Args:
        rows: n items x m columns, finite.
        figures: name -> the figure, and which of the items it stands on.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        clusters: of the n items; None where each stands alone.
        resamples: how often as many clusters are drawn as there are.
    """
    if not len(rows):
        return dict.fromkeys(figures, Estimate(None, None, 0, 0))
    groups = numbered(clusters, len(rows))
    exact = summable(summed(rows, groups))
    observed = exact.sum(axis=0)[np.newaxis]
    drawn = np.concatenate(
        [
            times @ exact
            for times in resampled_counts(len(exact), seed=seed, label=label, resamples=resamples)
        ]
    )
    return {
        name: _estimate(of, groups[stands], observed, drawn)
        for name, (of, stands) in figures.items()
    }


def ratio(over: Matrix, under: Matrix) -> Matrix:
    """Elementwise; NaN where `under` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divided: Matrix = np.where(under == 0, np.nan, over / under)
    return divided


def _estimate(of: Figure, groups: Clusters, observed: Matrix, drawn: Matrix) -> Estimate:
    value, n, clusters = float(of(observed)[0]), groups.size, count(groups)
    if np.isnan(value):
        return Estimate(None, None, n, clusters)
    if is_single(groups):
        return Estimate(value, None, n, clusters)
    figures = of(drawn)
    defined = figures[~np.isnan(figures)]
    interval = percentile_interval(defined) if defined.size else Interval(value, value)
    return Estimate(value, interval, n, clusters)
