"""Means of figures that some items lack, each with its interval and the number of items behind it."""

from collections.abc import Mapping, Sequence
from math import fsum

import numpy as np

from gigamind.metrics.aggregate import Estimate
from gigamind.stats.bounded import bounded_means


def means(
    items: Sequence[Mapping[str, float | None]], names: Sequence[str], *, seed: int, label: str
) -> dict[str, Estimate]:
    """The mean of each figure, in [0, 1], over the items that have it; the order of the items does not matter.

    Args:
        label: names the draws of the intervals, beside `seed`.
    """
    rows = sorted(
        ([item.get(name) for name in names] for item in items),
        key=lambda row: [(value is None, value or 0.0) for value in row],
    )
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))  # None becomes NaN
    found: dict[str, Estimate] = {}
    for place, (name, interval) in enumerate(
        zip(names, bounded_means(table, seed=seed, label=label), strict=True)
    ):
        values = [value for row in rows if (value := row[place]) is not None]
        if interval is None:
            found[name] = Estimate(None, None, None, 0)
        else:  # two roundings can carry the mean of equal values past them, and so outside its interval
            mean = min(max(fsum(values) / len(values), min(values)), max(values))
            found[name] = Estimate(mean, interval.low, interval.high, len(values))
    return found
