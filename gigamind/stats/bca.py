"""How far a mean could move had other items been drawn, corrected for bias and skew: BCa bootstrap intervals.

A percentile interval of a few large differences among many zeros is off to one side; the correction of Efron,
"Better bootstrap confidence intervals", JASA 82, 1987, shifts its ends.  Seeds, labels and exact sums are those of
intervals.py; a column's interval depends on that column alone.
"""

from statistics import NormalDist

import numpy as np

from gigamind.stats.intervals import CONFIDENCE, RESAMPLES, Interval, Matrix, resampled_counts

_NORMAL = NormalDist()
_EXACT_BITS = 52  # sums of whole numbers below 2**53 are exact in float64


def bca_intervals(
    values: Matrix,
    *,
    seed: int,
    label: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Interval]:
    """Interval of each column's mean.  One item, or equal values, give `low == high`.

    Args:
        values: n x m, finite, n at least 1.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        resamples: how often n items are drawn.
        confidence: share of the resampled means inside, in (0, 1).
    """
    least = values.min(axis=0)
    # Counted from the least value, equal values are all 0 and come back as they were.
    above = summable(values - least)
    counts = resampled_counts(len(values), seed=seed, label=label, resamples=resamples)
    sums: Matrix = np.concatenate([times @ above for times in counts])
    found: list[Interval] = []
    for column, start in enumerate(least):
        low, high = _ends(above[:, column], sums[:, column], confidence)
        most = float(values[:, column].max())
        found.append(
            Interval(
                min(float(start) + low, most),
                min(float(start) + high, most),
                confidence,
            )
        )
    return found


def summable(values: Matrix) -> Matrix:
    """The values, rounded so that sums of as many of them as there are rows are exact, in any order.

    Each column is rounded to 2**-52 of the largest sum that can be drawn (2e-16 of it).
    """
    _, exponent = np.frexp(len(values) * np.abs(values).max(axis=0))
    scale: Matrix = np.ldexp(1.0, np.minimum(_EXACT_BITS - exponent, 1023))
    whole: Matrix = np.rint(values * scale)
    return whole / scale


def _ends(values: Matrix, sums: Matrix, confidence: float) -> tuple[float, float]:
    """Ends of the interval of the mean of one column of `summable` values, all at least 0."""
    if not values.any():
        return 0.0, 0.0
    bias, acceleration = _bias(values, sums), _acceleration(values)
    half = _NORMAL.inv_cdf((1 + confidence) / 2)
    shifted = (bias + z for z in (-half, half))
    tails = [100 * _NORMAL.cdf(bias + z / (1 - acceleration * z)) for z in shifted]
    low, high = np.percentile(sums, tails, method="linear") / len(values)
    return float(low), float(high)


def _bias(values: Matrix, sums: Matrix) -> float:
    """How many standard deviations the observed sum is from the median of the resampled; ties count half."""
    total = values.sum()
    below = ((sums < total).mean() + (sums <= total).mean()) / 2
    # With few resamples all may lie on one side, and the normal deviate would be infinite.
    edge = 0.5 / sums.size
    return _NORMAL.inv_cdf(min(max(float(below), edge), 1 - edge))


def _acceleration(values: Matrix) -> float:
    """A sixth of the skewness over the root of n: what the jackknife gives for a mean.  In (-1/6, 1/6)."""
    relative = values / values.max()  # cubes of very small values would vanish
    centred = relative - relative.mean()
    return float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
