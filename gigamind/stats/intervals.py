"""How far a mean or a share could move had other items been drawn: seeded bootstrap intervals, and Wilson's.

Items of one cluster are drawn together.  Sums are exact, so equal seeds give equal ends on any machine.  A percentile
interval of a few large differences among many zeros is off to one side; the correction of Efron, "Better bootstrap
confidence intervals", JASA 82, 1987, shifts its ends (BCa).  Where no draw can show what lies beyond the values seen,
near 0 and 1, intervals are widened to hold Wilson's.
"""

import hashlib
import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

_NORMAL = NormalDist()

Clusters = npt.NDArray[np.intp]


def clusters_of(names: Iterable[Hashable]) -> Clusters:
    """One number for each name, from 0, in the order in which the names first appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def numbered(clusters: Clusters | None, items: int) -> Clusters:
    """Numbers without gaps, from 0, in the order in which the clusters first appear; of None, each item alone.

    Raises:
        ValueError: there are not as many as items.
    """
    if clusters is None:
        return np.arange(items)
    if clusters.shape != (items,):
        raise ValueError(f"{items} items have as many cluster numbers, not {clusters.shape}")
    _, first, places = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def summed(values: npt.NDArray[np.float64], clusters: Clusters) -> npt.NDArray[np.float64]:
    """The sum of the values, or rows of values, of each number from 0 to the highest; 0 where there are none."""
    sums = np.zeros((clusters.max(initial=-1) + 1, *values.shape[1:]))
    np.add.at(sums, clusters, values)
    return sums


def check_lengths(what: str, left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> None:
    """See to it that two vectors belong to the same items.

    Raises:
        ValueError: they do not, or are none; `what` names both.
    """
    if left.ndim != 1 or left.shape != right.shape:
        shapes = f"{left.shape} and {right.shape}"
        raise ValueError(f"{what} are two equally long vectors, not {shapes}")


def count(clusters: Clusters) -> int:
    """How many different clusters, of numbers from 0."""
    return int(np.count_nonzero(np.bincount(clusters)))


def is_single(clusters: Clusters) -> bool:
    """Whether they are several items of one cluster, which say nothing of how far another cluster would be off."""
    return clusters.size > 1 and count(clusters) == 1


def effective_items(clusters: Clusters) -> float:
    """As how many independent items at least one they count, if those of a cluster are always alike.

    n^2 / sum of squared sizes: Kish, Survey Sampling, 1965.  Right in the worst case, and safe in any other.
    """
    sizes = summed(np.ones(clusters.size), numbered(clusters, clusters.size))
    return clusters.size**2 / float((sizes**2).sum())


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
    intervals: list[Interval | None] = [None] * values.shape[1]
    for rows, columns in _same_rows(~np.isnan(values)):
        groups = numbered(None if clusters is None else clusters[rows], rows.size)
        if is_single(groups):
            continue
        measured: Matrix = values[rows][:, columns]
        least, most = measured.min(axis=0), measured.max(axis=0)
        # Counted from the least value, equal values are all 0 and come back as they were.
        above = np.column_stack([measured - least, np.ones(rows.size)])
        drawn = summable(summed(above, groups))
        sums = resampled_sums(drawn, seed=seed, label=label, resamples=resamples)
        means = np.clip(least + sums[:, :-1] / sums[:, -1:], least, most)
        ends = percentile_intervals(means, confidence)
        for column, interval in zip(columns, ends, strict=True):
            intervals[column] = interval
    return intervals


def ratio_intervals(
    numerators: Matrix,
    denominators: Matrix,
    *,
    seed: int,
    label: str,
    resamples: int = RESAMPLES,
) -> list[Interval | None]:
    """95 % interval of each column's sum of numerators / sum of denominators, such as a precision from 0/1 columns.

    A resample whose denominators sum to 0 has no ratio and is left out.

    Args:
        numerators: n x m, finite.
        denominators: n x m, finite, not negative.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
        resamples: how often n items are drawn.

    Returns:
        m intervals; None for a column whose denominators are all 0.
    """
    width = numerators.shape[1]
    if not len(numerators):
        return [None] * width
    both = summable(np.hstack([numerators, denominators]))
    sums = resampled_sums(both, seed=seed, label=label, resamples=resamples)
    over, under = sums[:, :width], sums[:, width:]
    defined = under > 0
    always: npt.NDArray[np.bool_] = np.all(defined, axis=0)
    ends = iter(percentile_intervals(over[:, always] / under[:, always]))
    intervals: list[Interval | None] = []
    for column in range(width):
        kept = defined[:, column]
        if always[column]:
            intervals.append(next(ends))
        elif kept.any():
            intervals.append(percentile_interval(over[kept, column] / under[kept, column]))
        else:
            intervals.append(None)
    return intervals


def resampled_counts(
    count: int, *, seed: int, label: str, resamples: int = RESAMPLES
) -> Iterator[Matrix]:
    """How often each of `count` items is drawn, for figures that are no mean and no ratio: blocks of resamples x count.

    The blocks together have `resamples` rows; each row sums to `count`, which is at least 1.
    """
    # Python's `hash` would differ from process to process.
    digest = hashlib.sha256(f"{seed}\0{label}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    step = max(1, _CHUNK // count)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, count, size=(rows, count), dtype=np.int64)
        drawn += count * np.arange(rows)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        yield times.astype(np.float64)


def resampled_sums(values: Matrix, *, seed: int, label: str, resamples: int = RESAMPLES) -> Matrix:
    """Column sums of every resample, resamples x m, of `summable` values: how often each item was drawn, times them."""
    counts = resampled_counts(len(values), seed=seed, label=label, resamples=resamples)
    return np.concatenate([times @ values for times in counts])


def summable(values: Matrix) -> Matrix:
    """The values, rounded so that sums of as many of them as there are rows are exact, in any order.

    Each column is rounded to 2**-52 of the largest sum that can be drawn (2e-16 of it).
    """
    _, exponent = np.frexp(len(values) * np.abs(values).max(axis=0))
    scale: Matrix = np.ldexp(1.0, np.minimum(_EXACT_BITS - exponent, 1023))
    whole: Matrix = np.rint(values * scale)
    return whole / scale


def percentile_interval(figures: Matrix, confidence: float = CONFIDENCE) -> Interval:
    """The middle `confidence` of resampled figures, of which there is at least one."""
    return percentile_intervals(figures[:, np.newaxis], confidence)[0]


def percentile_intervals(figures: Matrix, confidence: float = CONFIDENCE) -> list[Interval]:
    """The same of each column, all at once: the cost of `np.percentile` is that of the call."""
    if not figures.size:
        return []
    tail = 50 * (1 - confidence)
    lows, highs = np.percentile(figures, [tail, 100 - tail], axis=0, method="linear").tolist()
    return [Interval(low, high, confidence) for low, high in zip(lows, highs, strict=True)]


def _same_rows(measured: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.intp], list[int]]]:
    """Columns that were measured on the same items share their draws: (row numbers, column numbers) of each group."""
    groups: dict[bytes, list[int]] = {}
    for column in range(measured.shape[1]):
        groups.setdefault(measured[:, column].tobytes(), []).append(column)
    split = [(np.flatnonzero(measured[:, columns[0]]), columns) for columns in groups.values()]
    return [(rows, columns) for rows, columns in split if rows.size]


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
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    z2 = z * z
    middle = (mean + z2 / (2 * size)) / (1 + z2 / size)
    half = z * math.sqrt(mean * (1 - mean) / size + z2 / (4 * size * size)) / (1 + z2 / size)
    # At 0 and 1 an end is the mean itself, up to rounding.
    low, high = min(mean, middle - half), max(mean, middle + half)
    return Interval(max(0.0, low), min(1.0, high), confidence)


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
    sums = resampled_sums(above, seed=seed, label=label, resamples=resamples)
    intervals: list[Interval] = []
    for column, start in enumerate(least):
        most = float(values[:, column].max())
        ends = _ends(above[:, column], sums[:, column], confidence)
        low, high = (min(float(start) + end, most) for end in ends)
        intervals.append(Interval(low, high, confidence))
    return intervals


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


_FEW = 5  # of hits or misses
_ROUNDING = 1e-9


def bounded_means(
    values: Matrix, *, seed: int, label: str, clusters: Clusters | None = None
) -> list[Interval | None]:
    """95 % interval of each column's mean, as `mean_intervals` takes and gives them.

    Raises:
        ValueError: a value is not in [0, 1].
    """
    values = _checked(values)
    intervals = mean_intervals(values, seed=seed, label=label, clusters=clusters)
    for place, interval in enumerate(intervals):
        if interval is not None:
            measured = ~np.isnan(values[:, place])
            size = _size(measured, clusters)
            intervals[place] = widened(interval, float(values[measured, place].mean()), size)
    return intervals


def bounded_ratios(
    numerators: Matrix, denominators: Matrix, *, seed: int, label: str
) -> list[Interval | None]:
    """95 % interval of each column's ratio, as `ratio_intervals` takes and gives them.

    An item of twice the denominator counts as two that are alike (`effective_items`).

    Raises:
        ValueError: an item's numerator is not between 0 and its denominator.
    """
    if not ((numerators >= 0) & (numerators <= denominators)).all():
        raise ValueError("a numerator is not between 0 and its denominator")
    intervals = ratio_intervals(numerators, denominators, seed=seed, label=label)
    for place, interval in enumerate(intervals):
        if interval is not None:
            over, under = numerators[:, place], denominators[:, place]
            size = float(under.sum() ** 2 / (under * under).sum())
            intervals[place] = widened(interval, float(over.sum() / under.sum()), size)
    return intervals


def widened(interval: Interval, mean: float, size: float) -> Interval:
    """The bootstrap interval, or the shortest that holds it and Wilson's where it is not to be trusted.

    Args:
        mean: of values in [0, 1].
        size: as how many independent items they count.
    """
    if not is_rough(interval, mean, size):
        return interval
    safe = wilson_of_mean(mean, size, interval.confidence)
    return Interval(min(interval.low, safe.low), max(interval.high, safe.high), interval.confidence)


def is_rough(interval: Interval, mean: float, size: float) -> bool:
    """Whether too few items differ for a bootstrap to know how far such items differ."""
    return size * min(mean, 1 - mean) < _FEW - _ROUNDING or has_no_width(interval)


def has_no_width(interval: Interval) -> bool:
    """Whether all that was drawn is equal, up to rounding."""
    return interval.high - interval.low <= _ROUNDING


def _checked(values: Matrix) -> Matrix:
    outside = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
    if outside.any():
        raise ValueError(f"not in [0, 1]: {values[outside][0]}")
    return np.clip(values, 0.0, 1.0)


def _size(measured: npt.NDArray[np.bool_], clusters: Clusters | None) -> float:
    if clusters is None:
        return float(np.count_nonzero(measured))
    return effective_items(clusters[measured])
