"""Confidence intervals of means and shares: seeded bootstrap intervals and Wilson's score interval.

Items of a cluster are resampled together.  Sums are exact, so equal seeds and labels give equal ends on any machine.
Bootstrap intervals are the central percentiles of the resampled figures; for paired differences see paired.py.
Near 0 and 1 they are widened to include Wilson's, as resampling cannot show values that were not observed.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from statistics import NormalDist
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from gigamind.stats.special import Matrix, student_quantile

Clusters = npt.NDArray[np.intp]


def clusters_of(names: Iterable[Hashable]) -> Clusters:
    """Return a number for each name, from 0, in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def numbered(clusters: Clusters | None, items: int) -> Clusters:
    """Return cluster numbers without gaps, from 0, in the order of first appearance; None makes each item independent.

    Raises:
        ValueError: there are not as many numbers as items.
    """
    if clusters is None:
        return np.arange(items)
    if clusters.shape != (items,):
        raise ValueError(f"{items} items have as many cluster numbers, not {clusters.shape}")
    _, first, places = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def summed(values: npt.NDArray[np.float64], clusters: Clusters) -> npt.NDArray[np.float64]:
    """Return the sum of the values, or rows of values, of each number from 0 to the highest; 0 without any."""
    sums = np.zeros((clusters.max(initial=-1) + 1, *values.shape[1:]))
    np.add.at(sums, clusters, values)
    return sums


def count(clusters: Clusters) -> int:
    """Return how many different clusters there are."""
    return int(np.count_nonzero(np.bincount(clusters)))


def is_single(clusters: Clusters) -> bool:
    """Return whether there are several items of one cluster, which contain no information about other clusters."""
    return clusters.size > 1 and count(clusters) == 1


def effective_items(clusters: Clusters) -> float:
    """Return the number of independent items if each cluster has equal ones: n^2 / sum of sizes^2 (Kish 1965)."""
    sizes = summed(np.ones(clusters.size), numbered(clusters, clusters.size))
    return clusters.size**2 / float((sizes**2).sum())


_RESAMPLES = 2_000
CONFIDENCE = 0.95
_CHUNK = 1 << 17  # draws in memory at once, about 4 MB
_EXACT_BITS = 52  # sums of whole numbers below 2**53 are exact in float64


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with `low <= high`, in the unit of the figure."""

    low: float
    high: float
    confidence: float = CONFIDENCE

    def is_rough(self, mean: float, size: float) -> bool:
        """Return whether too few items differ for a reliable bootstrap."""
        return size * min(mean, 1 - mean) < _FEW - _ROUNDING or _has_no_width(self)

    @staticmethod
    def percentile(figures: Matrix) -> "Interval":
        """Return the central 95 % of the resampled values of one figure, at least one."""
        (interval,) = _percentile_intervals(figures[:, np.newaxis])
        return interval

    @classmethod
    def wilson(cls, successes: int, n: int, effective: float | None = None) -> Self:
        """Return the 95 % score interval of a proportion of `n` items, or `effective` independent ones (Wilson 1927).

        Raises:
            ValueError: there is no item, or there are more successes than items.
        """
        if not 0 <= successes <= n or not n:
            raise ValueError(f"no share: {successes} of {n}")
        return cls.wilson_of_mean(successes / n, n if effective is None else effective)

    @classmethod
    def wilson_of_mean(cls, mean: float, size: float, confidence: float = CONFIDENCE) -> Self:
        """Return the score interval of the mean of `size` effective values in [0, 1]; it contains the mean.

        Zeros and ones have the largest spread of all values with a given mean, so the interval is conservative for
        others.
        """
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        z2 = z * z
        middle = (mean + z2 / (2 * size)) / (1 + z2 / size)
        half = z * math.sqrt(mean * (1 - mean) / size + z2 / (4 * size * size)) / (1 + z2 / size)
        # At 0 and 1 an end is the mean itself, up to rounding.
        low, high = min(mean, middle - half), max(mean, middle + half)
        return cls(max(0.0, low), min(1.0, high), confidence)


def _mean_intervals(
    values: Matrix,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    confidence: float = CONFIDENCE,
) -> list[Interval | None]:
    """Return the interval of each column's mean over the items on which it was measured.

    One measured item, or equal values, give `low == high`.  None for a column without items, or with several items of a
    single cluster.

    Args:
        values: n x m, finite; NaN if the item was not measured.
        clusters: of the n items; None if each is independent.
    """
    intervals: list[Interval | None] = [None] * values.shape[1]
    for rows, columns in _same_rows(~np.isnan(values)):
        groups = numbered(None if clusters is None else clusters[rows], rows.size)
        if is_single(groups):
            continue
        measured: Matrix = values[rows][:, columns]
        least, most = measured.min(axis=0), measured.max(axis=0)
        # Relative to the smallest value, equal values are 0 and stay exact.
        above = np.column_stack([measured - least, np.ones(rows.size)])
        drawn = summable(summed(above, groups))
        sums = resampled_sums(drawn, seed=seed, label=label)
        means = np.clip(least + sums[:, :-1] / sums[:, -1:], least, most)
        ends = _percentile_intervals(means, confidence)
        for column, interval in zip(columns, ends, strict=True):
            intervals[column] = interval
    return intervals


def _ratio_intervals(
    numerators: Matrix, denominators: Matrix, *, seed: int, label: str
) -> list[Interval | None]:
    """Return the 95 % interval of each column's sum of numerators / sum of denominators, both n x m and finite.

    Denominators are not negative; resamples in which they sum to 0 are left out.  None for a column with only zeros.
    """
    if not len(numerators):
        return [None] * numerators.shape[1]
    both = summable(np.hstack([numerators, denominators]))
    over, under = np.hsplit(resampled_sums(both, seed=seed, label=label), 2)
    intervals: list[Interval | None] = [None] * numerators.shape[1]
    for rows, columns in _same_rows(under > 0):
        drawn: Matrix = over[rows][:, columns] / under[rows][:, columns]
        for column, interval in zip(columns, _percentile_intervals(drawn), strict=True):
            intervals[column] = interval
    return intervals


def resampled_counts(count: int, *, seed: int, label: str) -> Iterator[Matrix]:
    """Yield how often each of `count` items, at least 1, is drawn: blocks of resamples x count."""
    # Python's `hash` would differ from process to process.
    digest = hashlib.sha256(f"{seed}\0{label}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    step = max(1, _CHUNK // count)
    for start in range(0, _RESAMPLES, step):
        rows = min(step, _RESAMPLES - start)
        drawn = generator.integers(0, count, size=(rows, count), dtype=np.int64)
        drawn += count * np.arange(rows)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        yield times.astype(np.float64)


def resampled_sums(values: Matrix, *, seed: int, label: str) -> Matrix:
    """Return the column sums of every resample, resamples x m, of `summable` values."""
    counts = resampled_counts(len(values), seed=seed, label=label)
    return np.concatenate([times @ values for times in counts])


def summable(values: Matrix) -> Matrix:
    """Return the values rounded to 2**-52 of the largest possible sum of their column: any order sums exactly."""
    _, exponent = np.frexp(len(values) * np.abs(values).max(axis=0))
    scale: Matrix = np.ldexp(1.0, np.minimum(_EXACT_BITS - exponent, 1023))
    whole: Matrix = np.rint(values * scale)
    return whole / scale


def _percentile_intervals(figures: Matrix, confidence: float = CONFIDENCE) -> list[Interval]:
    """Return the central part of each column of resampled figures; one call of `np.percentile` per column is slow."""
    tail = 50 * (1 - confidence)
    ends = np.percentile(figures, [tail, 100 - tail], axis=0, method="linear")
    return [Interval(low, high, confidence) for low, high in ends.T.tolist()]


def _same_rows(measured: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.intp], list[int]]]:
    """Return groups of columns that are defined in the same rows: (row numbers, column numbers), none without a row."""
    groups: dict[bytes, list[int]] = {}
    for column in range(measured.shape[1]):
        groups.setdefault(measured[:, column].tobytes(), []).append(column)
    split = [(np.flatnonzero(measured[:, columns[0]]), columns) for columns in groups.values()]
    return [(rows, columns) for rows, columns in split if rows.size]


_FEW = 5  # hits or misses
_ROUNDING = 1e-9


def bounded_means(
    values: Matrix, *, seed: int, label: str, clusters: Clusters | None = None
) -> list[Interval | None]:
    """Return the 95 % interval of each column's mean; arguments and results as for `_mean_intervals`.

    Raises:
        ValueError: a value is not in [0, 1].
    """
    outside = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
    if outside.any():
        raise ValueError(f"not in [0, 1]: {values[outside][0]}")
    values = np.clip(values, 0.0, 1.0)
    intervals = _mean_intervals(values, seed=seed, label=label, clusters=clusters)
    for place, interval in enumerate(intervals):
        if interval is not None:
            measured = ~np.isnan(values[:, place])
            size = float(np.count_nonzero(measured))
            if clusters is not None:
                size = effective_items(clusters[measured])
            intervals[place] = _widened(interval, float(values[measured, place].mean()), size)
    return intervals


def _bounded_ratios(
    numerators: Matrix, denominators: Matrix, *, seed: int, label: str
) -> list[Interval | None]:
    """Return the 95 % interval of each column's ratio; arguments and results as for `_ratio_intervals`.

    An item with twice the denominator counts as two equal items (`effective_items`).

    Raises:
        ValueError: an item's numerator is not between 0 and its denominator.
    """
    if not ((numerators >= 0) & (numerators <= denominators)).all():
        raise ValueError("a numerator is not between 0 and its denominator")
    intervals = _ratio_intervals(numerators, denominators, seed=seed, label=label)
    for place, interval in enumerate(intervals):
        if interval is not None:
            over, under = numerators[:, place], denominators[:, place]
            size = float(under.sum() ** 2 / (under * under).sum())
            intervals[place] = _widened(interval, float(over.sum() / under.sum()), size)
    return intervals


def _widened(interval: Interval, mean: float, size: float) -> Interval:
    """Return the bootstrap interval of a mean in [0, 1], or its union with Wilson's of `size` items if unreliable."""
    if not interval.is_rough(mean, size):
        return interval
    safe = Interval.wilson_of_mean(mean, size, interval.confidence)
    return Interval(min(interval.low, safe.low), max(interval.high, safe.high), interval.confidence)


def _has_no_width(interval: Interval) -> bool:
    """Return whether all resamples are equal, up to rounding."""
    return interval.high - interval.low <= _ROUNDING


_Item = TypeVar("_Item")


def sliced(
    items: Iterable[_Item], keys: Callable[[_Item], Iterable[str | None]]
) -> dict[str, list[_Item]]:
    """Return the items by key, keys sorted; items without a key are in no slice, repeated keys count once."""
    slices: dict[str, list[_Item]] = {}
    for item in items:
        for key in {key for key in keys(item) if key is not None}:
            slices.setdefault(key, []).append(item)
    return dict(sorted(slices.items()))


Booleans = npt.NDArray[np.bool_]
Figure = Callable[[Matrix], Matrix]
"""draws x columns of sums -> draws; NaN where the figure is not defined."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % confidence interval."""

    value: float | None  # None if the items do not define it
    interval: Interval | None  # None for a single cluster, or without width unless a share
    n: int  # number of items behind it
    clusters: int  # number of clusters of these items; `n` if each item is independent

    @classmethod
    def share(cls, hits: int, n: int, clusters: Clusters | None = None) -> Self:
        """Return the share of `n` items with its Wilson interval; without a value if there are none."""
        if not n:
            return cls(None, None, 0, 0)
        groups = numbered(clusters, n)
        return cls(hits / n, Interval.wilson(hits, n, effective_items(groups)), n, count(groups))

    @property
    def low(self) -> float | None:
        """Return the lower end of the interval."""
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        """Return the upper end of the interval."""
        return self.interval.high if self.interval else None

    @classmethod
    def ratio_of_means(
        cls, over: Sequence[float], under: Sequence[float], confidence: float = CONFIDENCE
    ) -> Self:
        """Return the ratio of geometric means, with its interval if both sides have two; `n` is of the shorter side.

        Times vary by factors, so the logarithms of unpaired measurements are compared by Welch's interval (Biometrika
        34, 1947).

        Raises:
            ValueError: a side is empty, or a measurement is not above 0.
        """
        if not over or not under or min(*over, *under) <= 0:
            raise ValueError("a ratio of means needs measurements above 0 on both sides")
        sides = np.log(over), np.log(under)
        difference = float(sides[0].mean() - sides[1].mean())
        n = min(len(over), len(under))
        if n == 1:  # no variance
            return cls(exp(difference), None, n, n)
        squares = [float(side.var(ddof=1)) / side.size for side in sides]
        total, arm = sum(squares), 0.0
        if total:
            spread = sum(s**2 / (side.size - 1) for s, side in zip(squares, sides, strict=True))
            arm = student_quantile((1 + confidence) / 2, total**2 / spread) * total**0.5
        ends = Interval(exp(difference - arm), exp(difference + arm), confidence)
        return cls(exp(difference), ends, n, n)

    @classmethod
    def of_figures(
        cls,
        rows: Matrix,
        figures: Mapping[str, tuple[Figure, Booleans]],
        *,
        seed: int,
        label: str,
        shares: Collection[str] = (),
        clusters: Clusters | None = None,
    ) -> "dict[str, Estimate]":
        """Return each figure of the column sums of `rows`, n items x m columns, with its percentile bootstrap interval.

        Whole rows are resampled, rows of a cluster together, without resamples for which a figure is undefined. If all
        resamples agree, a mean of values in [0, 1] gets the interval of `_widened`, and other figures get none.

        Args:
            figures: name -> the figure, and a mask of the items that it uses.
            shares: figures that are means of values in [0, 1] over the items they use.
        """
        if not len(rows):
            return dict.fromkeys(figures, cls(None, None, 0, 0))
        groups = numbered(clusters, len(rows))
        exact = summable(summed(rows, groups))
        observed = exact.sum(axis=0)[np.newaxis]
        drawn = resampled_sums(exact, seed=seed, label=label)
        return {
            name: _estimate(of, groups[stands], observed, drawn, is_share=name in shares)
            for name, (of, stands) in figures.items()
        }

    @classmethod
    def ratios(
        cls,
        rows: Sequence[Mapping[str, tuple[int, int]]],
        names: Sequence[str],
        *,
        seed: int,
        label: str,
    ) -> "dict[str, Estimate]":
        """Return each figure as the sum of its numerators by that of its denominators; `n` counts items in the latter.

        `rows` are both of each item, by name; `label` determines the random draws of the intervals, with `seed`.
        """
        table = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
        over, under = table.reshape(len(rows), len(names), 2).transpose(2, 0, 1)
        intervals = _bounded_ratios(over, under, seed=seed, label=label)
        wholes, counts = under.sum(axis=0), (under > 0).sum(axis=0)
        return {
            name: cls(float(part / whole) if whole else None, interval, int(n), int(n))
            for name, part, whole, interval, n in zip(
                names, over.sum(axis=0), wholes, intervals, counts, strict=True
            )
        }

    @classmethod
    def means(
        cls,
        items: Sequence[Mapping[str, float | None]],
        names: Sequence[str],
        *,
        seed: int,
        label: str,
    ) -> "dict[str, Estimate]":
        """Return the mean of each figure, in [0, 1], over the items that have it; `label` is as in `ratios`."""
        rows = [[item.get(name) for name in names] for item in items]
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))  # None becomes NaN
        values, counts = averaged(items), (~np.isnan(table)).sum(axis=0).tolist()
        intervals = bounded_means(table, seed=seed, label=label)
        return {
            name: cls(values.get(name), interval, n, n)
            for name, interval, n in zip(names, intervals, counts, strict=True)
        }


def ratio(over: Matrix, under: Matrix) -> Matrix:
    """Return the elementwise ratio; NaN where `under` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divided: Matrix = np.where(under == 0, np.nan, over / under)
    return divided


def _estimate(
    of: Figure, groups: Clusters, observed: Matrix, drawn: Matrix, *, is_share: bool
) -> Estimate:
    value, n, clusters = float(of(observed)[0]), groups.size, count(groups)
    if np.isnan(value):
        return Estimate(None, None, n, clusters)
    if is_single(groups):
        return Estimate(value, None, n, clusters)
    figures = of(drawn)
    defined = figures[~np.isnan(figures)]
    interval = Interval.percentile(defined) if defined.size else Interval(value, value)
    if is_share:
        return Estimate(value, _widened(interval, value, effective_items(groups)), n, clusters)
    return Estimate(value, None if _has_no_width(interval) else interval, n, clusters)


def averaged(rows: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the mean of each figure over the rows that have it; None if none has."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _mean([v for row in rows if (v := row.get(name)) is not None]) for name in names}


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    # Rounding can move the mean of equal values past them, and so outside its interval.
    return min(max(fsum(values) / len(values), min(values)), max(values))
