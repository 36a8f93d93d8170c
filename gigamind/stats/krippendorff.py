"""Krippendorff's alpha: chance-corrected agreement of any number of raters, with missing values.

alpha = 1 - observed / expected disagreement over all pairs of values within items; 1 is perfect, 0 is chance.  After
Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011.
"""

from typing import Literal

import numpy as np

from gigamind.stats.estimate import Estimate, Figure, estimates, ratio
from gigamind.stats.intervals import Matrix

Level = Literal["nominal", "interval"]
_NOTHING = 1e-12  # relative to the sum of squares: rounding error of a constant column


def krippendorff_alpha(ratings: Matrix, level: Level, *, seed: int, label: str) -> Estimate:
    """Return alpha over items; None if no two values can be paired, or all are equal.

    Args:
        ratings: n items x m raters; NaN for a missing rating.  Items with fewer than two values do not count.
        level: "nominal", or interval by squared differences.
    """
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    if not len(pairable):
        return Estimate(None, None, 0, 0)
    rows, figure = (_nominal if level == "nominal" else _interval)(pairable)
    everything = np.ones(len(pairable), dtype=np.bool_)
    return estimates(rows, {"alpha": (figure, everything)}, seed=seed, label=label)["alpha"]


def _nominal(ratings: Matrix) -> tuple[Matrix, Figure]:
    levels = np.unique(ratings[~np.isnan(ratings)])
    counts = np.stack([(ratings == value).sum(axis=1) for value in levels], axis=1)
    values = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (values - 1)

    def alpha(sums: Matrix) -> Matrix:
        n, agreed, marginals = sums[:, 0], sums[:, 1], sums[:, 2:]
        expected = n * n - (marginals * marginals).sum(axis=1)
        return 1 - ratio((n - agreed) * (n - 1), expected)

    return np.column_stack([values, agreeing, counts]), alpha


def _interval(ratings: Matrix) -> tuple[Matrix, Figure]:
    centred = ratings - np.nanmean(ratings)  # cancels; keeps the squares small
    values = (~np.isnan(ratings)).sum(axis=1).astype(np.float64)
    total, squares = np.nansum(centred, axis=1), np.nansum(centred**2, axis=1)
    apart = 2 * (values * squares - total * total) / (values - 1)
    apart[np.nanmin(ratings, axis=1) == np.nanmax(ratings, axis=1)] = 0.0

    def alpha(sums: Matrix) -> Matrix:
        n, observed, first, second = sums.T
        expected = 2 * (n * second - first * first)
        expected = np.where(expected <= _NOTHING * n * second, 0.0, expected)
        return 1 - ratio(observed * (n - 1), expected)

    return np.column_stack([values, apart, total, squares]), alpha
