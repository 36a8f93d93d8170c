"""Choose thresholds or variants of a judge by labels, and measure the gain on labels that did not choose.

Arrays have one entry per labelled item. In each outer fold, the whole choice is made on the other folds. Folds contain
whole clusters. The gain is the difference of the balanced accuracies, weighted by the inverse chance of being labelled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import (
    Booleans,
    Clusters,
    Interval,
    Matrix,
    count,
    numbered,
    ratio,
    resampled_sums,
    summable,
    summed,
)

_LEAST_CHANGED = 6  # clusters with other verdicts; fewer can all be better by chance


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of the choice on items that did not choose."""

    value: float
    interval: Interval
    before: float  # balanced accuracy
    after: float
    changed: int  # clusters with an item whose verdict differs

    @property
    def is_significant(self) -> bool:
        """Return whether the 95 % interval of the cluster bootstrap is above 0.

        A one-sided limit at 95 % would adopt a change in 7 % of draws without signal (2 000 draws).
        """
        return self.interval.low > 0 and self.changed >= _LEAST_CHANGED


_Choice = TypeVar("_Choice")
Pick = Callable[[Booleans], tuple[_Choice, Booleans]]
"""Returns the choice by the items of a mask, and its verdicts on all items."""


@dataclass(frozen=True, slots=True)
class LabelledItems:
    """The items to learn from; `truth` and `verdicts` are True for the accepted ones."""

    FOLDS: ClassVar[int] = 5

    truth: Booleans
    verdicts: Booleans  # of the current judge
    weights: Matrix
    clusters: Clusters
    folds: npt.NDArray[np.intp]  # in [0, FOLDS)

    def cross_validate(self, pick: Pick[_Choice], *, seed: int) -> Gain:
        """Return the gain of what `pick` chooses; both values of the truth must occur."""
        tuned = self.verdicts.copy()
        for fold in np.unique(self.folds):
            out = self.folds == fold
            tuned[out] = pick(~out)[1][out]
        yes, no = self.weights * self.truth, self.weights * ~self.truth
        old, new = self.verdicts.astype(float), tuned.astype(float)
        rows = np.stack([yes, no, yes * old, no * (1 - old), yes * new, no * (1 - new)], axis=1)
        sums = summable(summed(rows, numbered(self.clusters, len(rows))))

        def balanced(of: Matrix, at: int) -> Matrix:
            return (ratio(of[:, at], of[:, 0]) + ratio(of[:, at + 1], of[:, 1])) / 2

        drawn = resampled_sums(sums, seed=seed, label="gain")
        gains = balanced(drawn, 4) - balanced(drawn, 2)
        interval = Interval.percentile(gains[~np.isnan(gains)])
        whole = sums.sum(axis=0)[np.newaxis]
        before, after = (float(balanced(whole, at)[0]) for at in (2, 4))
        changed = self.clusters[tuned != self.verdicts]
        return Gain(after - before, interval, before, after, count(changed) if changed.size else 0)

    def pick_thresholds(
        self, scores: Matrix, groups: npt.NDArray[np.intp], current: Mapping[int, float]
    ) -> Pick[dict[int, float]]:
        """Return the choice of a threshold for each group in `current`; items of other groups keep their verdicts.

        Args:
            scores: An item is accepted from its group's threshold on; NaN if it is never accepted.
            groups: Number of each item's group.
            current: The current threshold of each group to tune.
        """

        def pick(train: Booleans) -> tuple[dict[int, float], Booleans]:
            chosen, verdicts = dict(current), self.verdicts.copy()
            for group, threshold in current.items():
                own = groups == group
                used = own & train
                args = scores[used], self.truth[used], self.weights[used]
                chosen[group] = _best_threshold(*args, threshold)
                verdicts[own] = scores[own] >= chosen[group]
            return chosen, verdicts

        return pick

    def pick_variant(self, verdicts: Matrix) -> Pick[int | None]:
        """Return the choice among variants by their gains; None is the current judge.

        Args:
            verdicts: Items x variants, 1 for accepted; NaN if the variant learned from the item.
        """
        known = ~np.isnan(verdicts)

        def pick(train: Booleans) -> tuple[int | None, Booleans]:
            best, chosen = 0.0, None
            for at in range(verdicts.shape[1]):
                used = train & known[:, at]
                truth = self.truth[used]
                if known[~train, at].all() and truth.any() and not truth.all():
                    yes, no = self.weights * self.truth * used, self.weights * ~self.truth * used
                    more = np.where(used, verdicts[:, at] - self.verdicts, 0.0)
                    gain = float(more @ yes / yes.sum() - more @ no / no.sum())
                    if gain > best + 1e-9:
                        best, chosen = gain, at
            if chosen is None:
                return None, self.verdicts
            return chosen, verdicts[:, chosen] == 1

        return pick


_DIGITS = 4  # of a threshold


def _best_threshold(scores: Matrix, truth: Booleans, weights: Matrix, current: float) -> float:
    """Return the threshold with the largest balanced accuracy: the current one, or the middle one of equals."""
    known = np.unique(scores[~np.isnan(scores)])
    if not known.size or truth.all() or not truth.any():
        return current
    edges = np.append(np.round((known[1:] + known[:-1]) / 2, _DIGITS), [current, known[0]])
    accepted: Matrix = (scores >= edges[:, np.newaxis]).astype(np.float64)
    yes, no = weights * truth, weights * ~truth
    balanced: Matrix = (accepted @ yes / yes.sum() - accepted @ no / no.sum()).round(9)
    best = np.sort(edges[balanced == balanced.max()])
    return current if current in best else float(best[len(best) // 2])
