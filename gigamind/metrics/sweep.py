"""What other settings of `min_score` would have meant for answerability, without running anything again.

Input is (is unanswerable, base score of the Top-1) of each item; the score lies in [0, 1], or is None without a hit.
The judge is `judge_by_threshold`: unanswerable iff there is no hit or the score is below `min_score`.  Its counts
change only where `min_score` passes a score, so finitely many points describe every setting exactly, in O(n log n).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.metrics.answerability import Confusion
from gigamind.stats.intervals import Interval, percentile_interval, resampled_counts

ScoredItem = tuple[bool, float | None]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The counts of every setting in `(above, min_score]`; of 0 alone at the first point, where both are 0."""

    above: float
    min_score: float
    counts: Confusion

    @property
    def middle(self) -> float:
        """The setting in the range that lies farthest from the scores on both sides of it."""
        middle = (self.above + self.min_score) / 2
        return middle if middle > self.above else self.min_score


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The setting with the highest F1, the lowest of equals.

    Attributes:
        min_score: the middle of its point's range.
        interval: 95 % bootstrap interval of `min_score`: how much it hangs on these very items.
    """

    min_score: float
    point: SweepPoint
    interval: Interval


def sweep(items: Sequence[ScoredItem]) -> list[SweepPoint]:
    """Points from `min_score` 0 to 1, ascending; their ranges cover [0, 1] without a gap."""
    settings, scores, positive = _sorted(items)
    below = np.searchsorted(scores, settings, side="left")
    tp = np.concatenate([[0.0], np.cumsum(positive)])[below].astype(int)
    positives = int(positive.sum())
    negatives = len(scores) - positives
    return [
        SweepPoint(
            above=float(settings[max(0, at - 1)]),
            min_score=float(setting),
            counts=Confusion(
                tp=int(hits),
                fp=int(judged - hits),
                fn=positives - int(hits),
                tn=negatives - int(judged - hits),
            ),
        )
        for at, (setting, judged, hits) in enumerate(zip(settings, below, tp, strict=True))
    ]


def point_at(points: Sequence[SweepPoint], min_score: float) -> SweepPoint:
    """The point whose range holds `min_score`, which lies in [0, 1]."""
    return points[bisect_left(points, min_score, key=lambda point: point.min_score)]


def best_f1(items: Sequence[ScoredItem], *, seed: int) -> BestThreshold | None:
    """The setting with the highest F1; None without both kinds of items, or when no setting catches one."""
    points = sweep(items)
    counts = points[0].counts
    if not (counts.tp + counts.fn and counts.fp + counts.tn):
        return None
    settings, scores, positive = _sorted(items)
    below = np.searchsorted(scores, settings, side="left")
    middles = np.array([point.middle for point in points])
    best = points[int(_best(np.ones((1, len(items))), below, positive)[0])]
    if not best.counts.tp:
        return None
    found = [
        middles[_best(times[times @ positive > 0], below, positive)]
        for times in resampled_counts(len(items), seed=seed, label="best_f1")
    ]
    return BestThreshold(best.middle, best, percentile_interval(np.concatenate(found)))


def _sorted(items: Sequence[ScoredItem]) -> tuple[_Floats, _Floats, _Floats]:
    """Settings where the counts may change; and scores with 1.0 for unanswerable, by score, no hit before all."""
    scores = np.array([-1.0 if score is None else score for _, score in items], dtype=np.float64)
    positive = np.array([unanswerable for unanswerable, _ in items], dtype=np.float64)
    order = np.argsort(scores, kind="stable")
    settings = np.unique(np.concatenate([[0.0, 1.0], scores[scores >= 0]]))
    return settings, scores[order], positive[order]


def _best(times: _Floats, below: npt.NDArray[np.intp], positive: _Floats) -> npt.NDArray[np.intp]:
    """Index of the setting with the highest F1 in each resample; `times` is resamples x items in order of score."""
    edge = np.zeros((len(times), 1))
    judged = np.hstack([edge, np.cumsum(times, axis=1)])[:, below]
    hits = np.hstack([edge, np.cumsum(times * positive, axis=1)])[:, below]
    # 2 tp + fp + fn is what was judged unanswerable plus what is.
    return np.argmax(2 * hits / (judged + (times @ positive)[:, np.newaxis]), axis=1)
