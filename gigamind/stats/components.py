"""Variance components of scores: of items, of a system's answers to one item, of a judge's verdicts on one answer.

Method of moments in the one-way random effects model, unbalanced groups allowed (Searle, Casella, McCulloch, "Variance
Components", 1992, chapter 3).  Components are in squared units of the score; an estimate below 0 is 0.
"""

from dataclasses import dataclass

import numpy as np

from gigamind.stats.intervals import Clusters, Matrix, count, numbered, summed


@dataclass(frozen=True, slots=True)
class _Components:
    """Variances of one score; `system` and `judge` add up to the variance within an item."""

    item: float
    system: float
    judge: float | None  # None if no two scores are of equal answers; then part of `system`
    items: int
    scores: int

    @property
    def more_repeats(self) -> float:
        """Return the share by which an interval of the mean narrows with twice the repeats; with twice the items 29 %.

        Its variance is (`item` + (`system` + `judge`) / repeats) / items; its width is the root.
        """
        noise = (self.system + (self.judge or 0.0)) * self.items / self.scores
        total = self.item + noise
        return 1 - ((self.item + noise / 2) / total) ** 0.5 if total else 0.0


def variance_components(scores: Matrix, items: Clusters, answers: Clusters) -> _Components | None:
    """Return the components of finite scores; None with a single item, or if no item has two scores.

    With a groups of sizes n_i, N scores and mean squares MSA between and MSE within items, `item` is (MSA - MSE) / n_0,
    n_0 = (N - sum n_i^2 / N) / (a - 1).  `judge` is the mean square within equal answers, `system` is MSE less `judge`.

    Args:
        items: item of each score.
        answers: answer of each score; equal numbers for equal answers to one item.
    """
    groups, n = numbered(items, scores.size), scores.size
    within, judge = _within(scores, groups), _within(scores, answers)
    a = count(groups)
    if within is None or a == 1:
        return None
    sizes = np.bincount(groups)
    between = sizes @ (summed(scores, groups) / sizes - scores.mean()) ** 2 / (a - 1)
    item = (between - within) * (a - 1) / (n - (sizes**2).sum() / n)
    system = within - (judge or 0.0)
    return _Components(max(0.0, float(item)), max(0.0, system), judge, a, n)


def _within(scores: Matrix, groups: Clusters) -> float | None:
    """Return the mean square around the means of the groups; None if no group has two scores."""
    places = numbered(groups, scores.size)
    sizes = np.bincount(places)
    degrees = scores.size - sizes.size
    around = scores - (summed(scores, places) / sizes)[places]
    return float(around @ around) / degrees if degrees else None
