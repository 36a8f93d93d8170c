"""The interval of a share of counted items."""

import math
from statistics import NormalDist

from gigamind.stats.intervals import CONFIDENCE, Interval


def wilson(successes: int, n: int, effective: float | None = None) -> Interval:
    """The 95 % score interval of a proportion, in [0, 1]; holds for small `n` and for 0 of n (Wilson, JASA 22, 1927).

    Args:
        successes: items that count, 0 to `n`.
        n: items, at least one.
        effective: as how many independent items they count, where they are not independent.

    Raises:
        ValueError: there is no item, or there are more successes than items.
    """
    if not 0 <= successes <= n or not n:
        raise ValueError(f"no share: {successes} of {n}")
    return wilson_of_mean(successes / n, n if effective is None else effective)


def wilson_of_mean(mean: float, size: float, confidence: float = CONFIDENCE) -> Interval:
    """The score interval of the mean of values in [0, 1]; it holds the mean.

    Of all values in [0, 1] with one mean, zeros and ones spread most, so for any others it is too wide, not too narrow.

    Args:
        mean: in [0, 1].
        size: as how many independent items the values count, more than 0.
        confidence: in (0, 1).
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    z2 = z * z
    middle = (mean + z2 / (2 * size)) / (1 + z2 / size)
    half = z * math.sqrt(mean * (1 - mean) / size + z2 / (4 * size * size)) / (1 + z2 / size)
    # At 0 and 1 an end is the mean itself, up to rounding.
    low, high = min(mean, middle - half), max(mean, middle + half)
    return Interval(max(0.0, low), min(1.0, high), confidence)
