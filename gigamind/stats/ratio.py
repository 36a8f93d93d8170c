"""The ratio of two positive quantities, from repeated unpaired measurements of both.

Times vary by factors, so their logarithms are compared with Welch's interval (Biometrika 34, 1947).
"""

from collections.abc import Sequence
from math import exp

import numpy as np

from gigamind.stats.estimate import Estimate
from gigamind.stats.intervals import CONFIDENCE, Interval
from gigamind.stats.special import student_quantile

_LEAST = 2  # measurements needed for a variance


def ratio_of_means(
    over: Sequence[float], under: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the ratio of geometric means, with its interval if both sides have two; `n` is of the shorter side.

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
