"""Choice among many settings on the same items, with a gain free of selection bias.

The gain is cross-validated: a setting is picked on some items and measured on others, in every fold of many
partitions. Its folds are correlated, so it gives no test.  The decision to switch uses White's reality check
(Econometrica 68, 2000).  The largest studentised mean among all settings is compared with its distribution when each
item's row of differences gets a random sign.  One item is added at which every setting loses the most possible, 1.
Without it, many small gains beside rare unobserved losses pass as a gain in most nulls with few items.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import CONFIDENCE, Interval, Matrix, summable
from gigamind.stats.special import student_quantile

_FLIPS = 4_999
_BLOCK = 1 << 20  # signs in memory at once
_TIE = 1e-9
_POWER_DEVIATIONS = 0.8416  # normal quantile of 0.8


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice among m columns, the first of which is the reference."""

    # Chance to switch where no setting is better; no data chose it: it is that of `stats.changes`, for its reason.
    LEVEL: ClassVar[float] = 0.03
    FOLDS: ClassVar[int] = 5
    PARTITIONS: ClassVar[int] = 20
    MIN_ITEMS: ClassVar[int] = 2 * FOLDS

    # among the columns that are significantly better, the first whose mean is within a standard error of the best
    # (Breiman's rule, by paired differences); the reference, 0, if there are none
    chosen: int
    best: int  # the column with the highest mean, the first of equals
    gains: Matrix  # mean difference of each column from the reference on these items
    p_values: Matrix  # of each column, adjusted over all columns; 1.0 for the reference
    lows: Matrix  # lower ends, simultaneous over all columns; 0 if equal to the reference
    highs: Matrix  # upper ends, each of its column alone, as picking never pushes figures down
    selection_bias: float  # `gains[best]` minus the cross-validated gain of the picks
    picked: Matrix  # share of folds in which each was the best of the other folds
    fold_gains: Matrix  # mean difference of each in the folds that picked it, or NaN
    detectable: float | None  # gain that 80 of 100 samples detect; None if all equal

    def corrected(self, column: int) -> tuple[float, Interval]:
        """Return the gain of a column without selection bias, and an interval that contains it."""
        value = float(self.gains[column]) - self.selection_bias
        low, high = float(self.lows[column]), float(self.highs[column])
        return value, Interval(min(low, value), max(high, value), CONFIDENCE)

    @classmethod
    def of(cls, values: Matrix, *, seed: int, label: str) -> Self:
        """Choose a setting by `values`, n items x m settings, in [0, 1]: 0 is the reference, earlier columns win ties.

        Raises:
            ValueError: a value is not in [0, 1], there is one column, or there are fewer than `MIN_ITEMS` items.
        """
        items, columns = values.shape
        if items < cls.MIN_ITEMS or columns < 2:  # noqa: PLR2004  the reference, and what to choose
            raise ValueError(f"too few items or settings: {items} items x {columns} settings")
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("a value is not in [0, 1]")
        # Exact in any order of summation, so that equal settings tie.
        gains = summable(values - values[:, :1])
        means = gains.mean(axis=0)
        best = int(np.argmax(means))
        picked, fold_gains, out_of_fold = _out_of_fold(gains, seed, label)
        unseen = np.vstack([gains, np.full(columns, -1.0)])
        unseen[-1, 0] = 0.0
        p_values, critical = _tested(unseen, seed, label)
        sure = (p_values <= cls.LEVEL) & (means > 0)
        reach = critical * np.sqrt(unseen.var(axis=0) / max(len(unseen) - critical**2, _TIE))
        half_widths = (
            student_quantile(CONFIDENCE + cls.LEVEL, items - 1)
            * gains.std(axis=0, ddof=1)
            / math.sqrt(items)
        )
        # The mean at which the statistic, with its added loss of 1, passes `critical` in 80 of 100 samples.
        other = gains[:, 1 + int(np.argmax(means[1:]))]
        variance, detectable = float(other.var(ddof=1)), None
        if variance and items > critical**2:
            spread = math.sqrt((variance + 1 / items) / items)
            detectable = 1 / items + spread * (critical + _POWER_DEVIATIONS)
        return cls(
            chosen=_preferred(gains, sure) if sure.any() else 0,
            best=best,
            gains=means,
            p_values=p_values,
            lows=np.where(gains.any(axis=0), np.maximum(-1.0, unseen.mean(axis=0) - reach), 0.0),
            highs=np.minimum(1.0, means + half_widths),
            selection_bias=float(means[best]) - out_of_fold,
            picked=picked,
            fold_gains=fold_gains,
            detectable=detectable,
        )


def _preferred(gains: Matrix, among: npt.NDArray[np.bool_]) -> int:
    """Return the first of some columns whose mean is within a standard error of their highest."""
    places = np.flatnonzero(among)
    own = gains[:, places]
    behind = own[:, [int(np.argmax(own.mean(axis=0)))]] - own
    close = behind.mean(axis=0) <= behind.std(axis=0, ddof=1) / math.sqrt(len(gains))
    return int(places[np.argmax(close)])


def _out_of_fold(gains: Matrix, seed: int, label: str) -> tuple[Matrix, Matrix, float]:
    items, columns = gains.shape
    digest = hashlib.sha256(f"{seed}\0{label}\0folds".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    times, gained, counts = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    for _ in range(Selection.PARTITIONS):
        fold_of: npt.NDArray[np.int64] = generator.permutation(
            np.arange(items, dtype=np.int64) % Selection.FOLDS
        )
        sums = np.zeros((Selection.FOLDS, columns))
        np.add.at(sums, fold_of, gains)
        picks = np.argmax(sums.sum(axis=0) - sums, axis=1)
        np.add.at(times, picks, 1.0)
        np.add.at(gained, picks, sums[np.arange(Selection.FOLDS), picks])
        np.add.at(counts, picks, np.bincount(fold_of, minlength=Selection.FOLDS).astype(np.float64))
    with np.errstate(invalid="ignore"):
        means: Matrix = gained / counts
    return times / times.sum(), means, float(gained.sum() / counts.sum())


def _tested(gains: Matrix, seed: int, label: str) -> tuple[Matrix, float]:
    """Return each column's p-value, adjusted over all columns, and the critical value of the statistic at `LEVEL`."""
    sizes = np.sqrt((gains**2).sum(axis=0))
    moved = np.flatnonzero((np.abs(gains[:-1]) > 0).any(axis=0))
    p_values = np.ones(gains.shape[1])
    if not moved.size:
        return p_values, 0.0
    scaled = gains[:, moved] / sizes[moved]
    observed = scaled.sum(axis=0)
    largest = np.sort(np.concatenate([*_turned(scaled, f"{seed}\0{label}"), [observed.max()]]))
    p_values[moved] = 1 - np.searchsorted(largest, observed - _TIE) / largest.size
    return p_values, float(np.quantile(largest, 1 - Selection.LEVEL, method="higher"))


def _turned(scaled: Matrix, stream: str) -> list[Matrix]:
    """Return the largest column sum under each of `_FLIPS` patterns of row signs, in parts."""
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
