"""A figure with its interval, for figures that are made of sums over items: shares, kappas, errors.

The items are drawn again as whole rows; a draw for which the figure is not defined (a specificity without a negative
item) is left out.  A figure that the items themselves do not define is None, never 0 or 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gigamind.stats.bca import summable
from gigamind.stats.intervals import (
    RESAMPLES,
    Interval,
    Matrix,
    percentile_interval,
    resampled_counts,
)

Figure = Callable[[Matrix], Matrix]
"""draws x columns of sums -> draws; NaN where the figure is not defined."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and how far it could move had other items been drawn.

    Attributes:
        value: None when the items do not define it.
        interval: None when there is no value.
        n: items that it stands on.
    """

    value: float | None
    interval: Interval | None
    n: int


def estimates(
    rows: Matrix,
    figures: Mapping[str, tuple[Figure, int]],
    *,
    seed: int,
    label: str,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Each figure of the column sums, with its percentile bootstrap interval.

    Args:
        rows: n items x m columns, finite.
        figures: name -> the figure, and on how many items it stands.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        resamples: how often n items are drawn.
    """
    if not len(rows):
        return {name: Estimate(None, None, n) for name, (_, n) in figures.items()}
    exact = summable(rows)
    observed = exact.sum(axis=0)[np.newaxis]
    drawn = np.concatenate(
        [
            times @ exact
            for times in resampled_counts(len(rows), seed=seed, label=label, resamples=resamples)
        ]
    )
    return {name: _estimate(of, n, observed, drawn) for name, (of, n) in figures.items()}


def ratio(over: Matrix, under: Matrix) -> Matrix:
    """Elementwise; NaN where `under` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divided: Matrix = np.where(under == 0, np.nan, over / under)
    return divided


def _estimate(of: Figure, n: int, observed: Matrix, drawn: Matrix) -> Estimate:
    value = float(of(observed)[0])
    if np.isnan(value):
        return Estimate(None, None, n)
    figures = of(drawn)
    defined = figures[~np.isnan(figures)]
    interval = percentile_interval(defined) if defined.size else Interval(value, value)
    return Estimate(value, interval, n)
