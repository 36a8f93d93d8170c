"""Which of many settings to take by the same items, and what it gains: the best of many looks better than it is.

The gain is told out of fold: a setting is picked on some items and measured on others, in every fold of many partitions
(nested cross-validation: a setting has nothing to fit, so its inner score is its mean).  That is free of the flattery,
but its items lean on one another, so it can be no test: intervals of it would call one null in ten a gain.  Whether to
switch is White's reality check ("A reality check for data snooping", Econometrica 68, 2000) by signs: the highest
studentised mean among all settings against what it is when each item's row of differences is turned at random, rows
whole, as settings resemble each other.  The test adds one item at which every setting loses all there is to lose, 1.
Without it, many small gains beside rare losses that the sample did not happen to show pass for a gain in most nulls of
few items; that is no constant that data chose, but the most that an unseen item can cost.
"""

import hashlib
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import CONFIDENCE, Interval, Matrix, summable
from gigamind.stats.special import student_quantile

LEVEL = 0.03
"""Chance to switch where no setting is better.  No data chose it: it is that of `stats.changes`, for its reason."""
FOLDS = 5
PARTITIONS = 20
MIN_ITEMS = 2 * FOLDS
_FLIPS = 4_999
_BLOCK = 1 << 20  # signs held at once
_TIE = 1e-9
_POWER_DEVIATIONS = 0.8416  # of a normal distribution: 80 of 100 lie below

Columns = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take of m columns, the first of which is the reference.

    Attributes:
        chosen: of the columns that are surely better the first whose mean is within a standard error of the highest
            of theirs (Breiman's rule, by paired differences); the reference, 0, where none is.
        best: the column with the highest mean, the first of equals.
        gains: of each column, the mean difference from the reference on these items.
        p_values: of each column: chance that any column looks so much better though none is; 1.0 for the reference.
        lows: of each column: lower end of the interval of its difference, which holds for all columns at once; 0 for
            one that differs from the reference on no item.
        flattery: what picking the best adds to its difference: `gains[best]` less what the picked gain out of fold.
        picked: of each column, the share of folds in which it was the best of the other folds.
        fold_gains: of each column, its mean difference in the folds that picked it; NaN where none did.
        highs: of each column: upper end; picking pushes figures up, never down, so it is that of one column.
        detectable: the gain of the best setting but the reference that would be seen in 80 of 100 such samples; None
            where it does not differ from the reference on any item.
    """

    chosen: int
    best: int
    gains: Columns
    p_values: Columns
    lows: Columns
    highs: Columns
    flattery: float
    picked: Columns
    fold_gains: Columns
    detectable: float | None

    @property
    def is_switch(self) -> bool:
        """Whether a column is surely better than the reference."""
        return self.chosen != 0

    def corrected(self, column: int) -> tuple[float, Interval]:
        """What a column gains without the flattery of having been picked, and the interval that holds it."""
        value = float(self.gains[column]) - self.flattery
        low, high = float(self.lows[column]), float(self.highs[column])
        return value, Interval(min(low, value), max(high, value), CONFIDENCE)


def select(values: Matrix, *, seed: int, label: str) -> Selection:
    """Choose among settings by the values of items under each.

    Args:
        values: n x m in [0, 1], an item a row; column 0 is the reference, and of two columns that are as good the
            first is to be preferred.
        seed: any whole number.
        label: names the streams of folds and signs beside `seed`.

    Raises:
        ValueError: a value is not in [0, 1], there is one column, or there are fewer than `MIN_ITEMS` items.
    """
    items, columns = values.shape
    if items < MIN_ITEMS or columns < 2:  # noqa: PLR2004  the reference, and what to choose
        raise ValueError(f"{items} items x {columns} settings: nothing can be chosen")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("a value is not in [0, 1]")
    # Exact in any order of summation: equal settings tie, and the first of them is taken.
    gains = summable(values - values[:, :1])
    means = gains.mean(axis=0)
    best = int(np.argmax(means))
    picked, fold_gains, out_of_fold = _out_of_fold(gains, seed, label)
    unseen = np.vstack([gains, np.full(columns, -1.0)])
    unseen[-1, 0] = 0.0
    p_values, critical = _tested(unseen, seed, label)
    sure = (p_values <= LEVEL) & (means > 0)
    reach = critical * np.sqrt(unseen.var(axis=0) / max(len(unseen) - critical**2, _TIE))
    half_widths = (
        student_quantile(CONFIDENCE + LEVEL, items - 1)
        * gains.std(axis=0, ddof=1)
        / math.sqrt(items)
    )
    other = 1 + int(np.argmax(means[1:]))
    return Selection(
        chosen=_preferred(gains, sure) if sure.any() else 0,
        best=best,
        gains=means,
        p_values=p_values,
        lows=np.where(gains.any(axis=0), np.maximum(-1.0, unseen.mean(axis=0) - reach), 0.0),
        highs=np.minimum(1.0, means + half_widths),
        flattery=float(means[best]) - out_of_fold,
        picked=picked,
        fold_gains=fold_gains,
        detectable=_detectable(gains[:, other], critical),
    )


def _preferred(gains: Matrix, among: npt.NDArray[np.bool_]) -> int:
    """The first of some columns whose mean is within a standard error of the highest of theirs."""
    places = np.flatnonzero(among)
    own = gains[:, places]
    behind = own[:, [int(np.argmax(own.mean(axis=0)))]] - own
    close = behind.mean(axis=0) <= behind.std(axis=0, ddof=1) / math.sqrt(len(gains))
    return int(places[np.argmax(close)])


def _out_of_fold(gains: Matrix, seed: int, label: str) -> tuple[Columns, Columns, float]:
    """How often each column was the best of the other folds, what it then gained, and what all picks gained."""
    items, columns = gains.shape
    digest = hashlib.sha256(f"{seed}\0{label}\0folds".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    times, gained, held = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    for _ in range(PARTITIONS):
        fold_of: npt.NDArray[np.int64] = generator.permutation(
            np.arange(items, dtype=np.int64) % FOLDS
        )
        sums = np.zeros((FOLDS, columns))
        np.add.at(sums, fold_of, gains)
        picks = np.argmax(sums.sum(axis=0) - sums, axis=1)
        np.add.at(times, picks, 1.0)
        np.add.at(gained, picks, sums[np.arange(FOLDS), picks])
        np.add.at(held, picks, np.bincount(fold_of, minlength=FOLDS).astype(np.float64))
    with np.errstate(invalid="ignore"):
        means: Columns = gained / held
    return times / times.sum(), means, float(gained.sum() / held.sum())


def _tested(gains: Matrix, seed: int, label: str) -> tuple[Columns, float]:
    """Each column's chance, for all columns together, and the statistic at which that is `LEVEL`."""
    sizes = np.sqrt((gains**2).sum(axis=0))
    moved = np.flatnonzero((np.abs(gains[:-1]) > 0).any(axis=0))
    p_values = np.ones(gains.shape[1])
    if not moved.size:
        return p_values, 0.0
    scaled = gains[:, moved] / sizes[moved]
    observed = scaled.sum(axis=0)
    largest = np.sort(np.concatenate([*_turned(scaled, f"{seed}\0{label}"), [observed.max()]]))
    p_values[moved] = 1 - np.searchsorted(largest, observed - _TIE) / largest.size
    return p_values, float(np.quantile(largest, 1 - LEVEL, method="higher"))


def _turned(scaled: Matrix, stream: str) -> list[Matrix]:
    """The largest column sum under each of `_FLIPS` patterns of signs of the rows, in parts."""
    rows = len(scaled)
    step = max(1, _BLOCK // rows)
    parts: list[Matrix] = []
    for start in range(0, _FLIPS, step):
        count = min(step, _FLIPS - start)
        width = -(-rows // 8)
        # Bits of a hash: equal on any machine and with any version of NumPy.
        bits = hashlib.shake_256(f"{stream}\0signs\0{start}".encode()).digest(count * width)
        drawn = np.unpackbits(np.frombuffer(bits, np.uint8).reshape(count, width), axis=1)
        signs = 1.0 - 2.0 * drawn[:, :rows]
        parts.append((signs @ scaled).max(axis=1))
    return parts


def _detectable(gains: Columns, critical: float) -> float | None:
    """The mean at which the statistic, with its unseen loss, passes `critical` in 80 of 100 samples of this spread."""
    items, variance = gains.size, float(gains.var(ddof=1))
    if variance == 0 or items <= critical**2:
        return None
    unseen = variance + 1 / items  # the loss of 1 among them
    return 1 / items + math.sqrt(unseen / items) * (critical + _POWER_DEVIATIONS)
