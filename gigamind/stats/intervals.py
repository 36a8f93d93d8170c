"""How far a figure could move had other queries been drawn: percentile bootstrap intervals over items.

A row is an item, a column a figure; items are drawn with replacement, whole rows at a time, and those of a cluster
(clusters.py) together.  Intervals are equal on any
machine: the draws come from a hash of (seed, label), and the sums are exact, whatever order a matrix product adds in.
One column's interval depends on that column alone.  Of values in [0, 1], of which most may be equal, take those of
bounded.py.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.stats.clusters import Clusters, is_single, numbered, summed

Matrix = npt.NDArray[np.float64]

RESAMPLES = 2_000
CONFIDENCE = 0.95
_CHUNK = 1 << 17  # draws held at once: some 4 MB, whatever the number of items
_EXACT_BITS = 52  # sums of whole numbers below 2**53 are exact in float64


@dataclass(frozen=True, slots=True)
class Interval:
    """`low <= high`, both in the unit of the figure."""

    low: float
    high: float
    confidence: float = CONFIDENCE


def mean_intervals(
    values: Matrix,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Interval | None]:
    """Interval of each column's mean over the items it was measured on.

    Items that a column lacks are never drawn for it.  One measured item, or equal values, give `low == high`.

    Args:
        values: n x m, finite; NaN where the item was not measured.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        clusters: of the n items; None where each stands alone.
        resamples: how often as many clusters are drawn as there are.
        confidence: share of the resampled figures inside, in (0, 1).

    Returns:
        m intervals; None for a column that was measured on no item, or on several of a single cluster.
    """
    found: list[Interval | None] = [None] * values.shape[1]
    for rows, columns in _same_rows(~np.isnan(values)):
        groups = numbered(None if clusters is None else clusters[rows], rows.size)
        if is_single(groups):
            continue
        measured: Matrix = values[rows][:, columns]
        least, most = measured.min(axis=0), measured.max(axis=0)
        # Counted from the least value, equal values are all 0 and come back as they were.
        above = np.column_stack([measured - least, np.ones(rows.size)])
        sums = _resampled_sums(summed(above, groups), _generator(seed, label), resamples)
        means = np.clip(least + sums[:, :-1] / sums[:, -1:], least, most)
        for position, column in enumerate(columns):
            found[column] = percentile_interval(means[:, position], confidence)
    return found


def ratio_intervals(
    numerators: Matrix,
    denominators: Matrix,
    *,
    seed: int,
    label: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Interval | None]:
    """Interval of each column's sum of numerators / sum of denominators, such as a precision from 0/1 columns.

    A resample whose denominators sum to 0 has no ratio and is left out.

    Args:
        numerators: n x m, finite.
        denominators: n x m, finite, not negative.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        resamples: how often n items are drawn.
        confidence: share of the resampled figures inside, in (0, 1).

    Returns:
        m intervals; None for a column whose denominators are all 0.
    """
    width = numerators.shape[1]
    if not len(numerators):
        return [None] * width
    both = np.hstack([numerators, denominators])
    sums = _resampled_sums(both, _generator(seed, label), resamples)
    found: list[Interval | None] = []
    for column in range(width):
        over, under = sums[:, column], sums[:, width + column]
        defined = under > 0
        ratios = over[defined] / under[defined]
        found.append(percentile_interval(ratios, confidence) if ratios.size else None)
    return found


def resampled_counts(
    count: int, *, seed: int, label: str, resamples: int = RESAMPLES
) -> Iterator[Matrix]:
    """How often each of `count` items is drawn, for figures that are no mean and no ratio: blocks of resamples x count.

    The blocks together have `resamples` rows; each row sums to `count`, which is at least 1.
    """
    return _counts(count, _generator(seed, label), resamples)


def percentile_interval(figures: Matrix, confidence: float = CONFIDENCE) -> Interval:
    """The middle `confidence` of resampled figures, of which there is at least one."""
    tail = 50 * (1 - confidence)
    low, high = np.percentile(figures, [tail, 100 - tail], method="linear")
    return Interval(float(low), float(high), confidence)


def _generator(seed: int, label: str) -> np.random.Generator:
    """A stream of its own for every (seed, label); Python's `hash` would differ from process to process."""
    digest = hashlib.sha256(f"{seed}\0{label}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def _same_rows(measured: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.intp], list[int]]]:
    """Columns that were measured on the same items share their draws: (row numbers, column numbers) of each group."""
    groups: dict[bytes, list[int]] = {}
    for column in range(measured.shape[1]):
        groups.setdefault(measured[:, column].tobytes(), []).append(column)
    split = [(np.flatnonzero(measured[:, columns[0]]), columns) for columns in groups.values()]
    return [(rows, columns) for rows, columns in split if rows.size]


def _resampled_sums(values: Matrix, generator: np.random.Generator, resamples: int) -> Matrix:
    """Column sums of every resample, resamples x m: how often each item was drawn, times its values.

    Values are rounded to 2**-52 of the largest sum that can be drawn (2e-16 of it), which makes every sum exact.
    """
    count, width = values.shape
    _, exponent = np.frexp(count * np.abs(values).max(axis=0))
    scale: Matrix = np.ldexp(1.0, np.minimum(_EXACT_BITS - exponent, 1023))
    whole: Matrix = np.rint(values * scale)
    blocks = [times @ whole for times in _counts(count, generator, resamples)]
    sums: Matrix = np.concatenate(blocks) if blocks else np.empty((0, width))
    return sums / scale


def _counts(count: int, generator: np.random.Generator, resamples: int) -> Iterator[Matrix]:
    step = max(1, _CHUNK // count)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, count, size=(rows, count), dtype=np.int64)
        drawn += count * np.arange(rows)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        yield times.astype(np.float64)
