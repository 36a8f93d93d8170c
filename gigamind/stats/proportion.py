"""The interval of a share of counted items."""

import math

from gigamind.stats.intervals import Interval

_Z = 1.959963984540054  # of 95 %


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
    share, z2, size = successes / n, _Z * _Z, n if effective is None else effective
    middle = (share + z2 / (2 * size)) / (1 + z2 / size)
    half = _Z * math.sqrt(share * (1 - share) / size + z2 / (4 * size * size)) / (1 + z2 / size)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))
