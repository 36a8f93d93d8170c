"""Change points in series, by Pettitt's statistic (Applied Statistics 28, 1979), tested by permutation of whole rows.

Its maximum is over positions and series, so the test is exact with ties and for correlated series such as the metrics
of a run.  Autocorrelated series give more false alarms than `_LEVEL` (`benchmarks/change_points.py`).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import Matrix

_LEVEL = 0.03
"""Chance of a false alarm in a history without a change.  No data chose it: of 500 such histories more than 25 (5 %)
then alarm with a chance of 1 in 100, and nine runs, the first four unlike the last five, are enough for a change."""
_SHUFFLES = 1_999  # gives a p value of 0.03 a standard error of 0.004
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class _LevelChange:
    """A position at which some series change their level."""

    at: int  # the first row of the new level
    p_value: float  # of the largest statistic over all series and positions
    series: tuple[str, ...]  # the series that change, the most significant first


def level_changes(
    series: Mapping[str, Sequence[float]],
    *,
    seed: int,
    level: float = _LEVEL,
    shuffles: int = _SHUFFLES,
) -> list[_LevelChange]:
    """Return the change points in series of equal length, ascending, found by binary segmentation.

    Args:
        series: by name, finite, oldest first.
        level: probability of a false alarm in a history without a change, in (0, 1).

    Raises:
        ValueError: the series differ in length, or a value is not finite.
    """
    if not series:
        return []
    rows = np.array(list(series.values()), np.float64).T
    if not np.isfinite(rows).all():
        raise ValueError("not a finite number in a series")
    changes = _within(rows, 0, seed, level, shuffles)
    names = list(series)
    return [
        _LevelChange(at, p_value, tuple(names[column] for column in columns))
        for at, p_value, columns in sorted(changes)
    ]


def _within(
    rows: Matrix, start: int, seed: int, level: float, shuffles: int
) -> Iterator[tuple[int, float, tuple[int, ...]]]:
    """Return the changes in a segment that begins at row `start`: position, p value, columns."""
    moving = np.flatnonzero((rows != rows[:1]).any(axis=0))
    if not moving.size:
        return
    ranks = _ranks(rows[:, moving])
    observed = _distances(ranks[np.newaxis])[0]
    drawn = _largest(ranks, f"{seed}\0{start}\0{len(rows)}", shuffles)
    largest = observed.max()
    p_value = float((1 + (drawn >= largest - _TIE).sum()) / (1 + drawn.size))
    if p_value > level:
        return
    cut = int(np.argmax(observed.max(axis=1)))
    critical = float(np.quantile(drawn, 1 - level, method="higher"))
    order = np.argsort(-observed[cut], kind="stable")
    sure = [int(moving[column]) for column in order if observed[cut, column] >= critical - _TIE]
    yield start + cut + 1, p_value, tuple(sure or [int(moving[order[0]])])
    yield from _within(rows[: cut + 1], start, seed, level, shuffles)
    yield from _within(rows[cut + 1 :], start + cut + 1, seed, level, shuffles)


def _ranks(rows: Matrix) -> Matrix:
    """Return the ranks within each column, with mean 0 and sum of squares 1; ties share their mean rank."""
    columns: list[Matrix] = []
    for column in rows.T:
        _, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
        last = counts.cumsum()
        columns.append((last - (counts - 1) / 2)[inverse])
    ranks: Matrix = np.stack(columns, axis=1)
    ranks -= ranks.mean(axis=0)
    scaled: Matrix = ranks / np.sqrt((ranks**2).sum(axis=0))
    return scaled


def _distances(orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the statistic before each row but the first, orders x (n - 1) x m, of orders x n x m ranks."""
    n = orders.shape[1]
    left: Matrix = np.arange(1, n, dtype=np.float64)
    sums = orders.cumsum(axis=1)[:, :-1]
    spread: Matrix = np.sqrt(left * (n - left) / (n * (n - 1)))
    return np.abs(sums) / spread[:, np.newaxis]


def _largest(ranks: Matrix, stream: str, shuffles: int) -> npt.NDArray[np.float64]:
    digest = hashlib.sha256(f"level-changes\0{stream}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    step = max(1, (1 << 20) // ranks.size)
    drawn: list[npt.NDArray[np.float64]] = []
    for first in range(0, shuffles, step):
        count = min(step, shuffles - first)
        orders = generator.permuted(np.tile(np.arange(len(ranks)), (count, 1)), axis=1)
        drawn.append(_distances(ranks[orders]).max(axis=(1, 2)))
    return np.concatenate(drawn)
