"""How well a judge tells unanswerable queries from answerable ones, at its setting and at any other.

The positive class is *unanswerable*.  Every figure lies in [0, 1], or is None where it is undefined (0 of 0): a judge
that never said "unanswerable" has no precision, rather than a perfect or a worthless one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

from gigamind.metrics.spec import MAIN, SHOWN, Rows, Use, measured
from gigamind.stats.intervals import Interval, percentile_interval, resampled_counts

Term = tuple[int, int]
"""Numerator and denominator."""


def precision(counts: "Confusion") -> Term:
    """Items judged unanswerable that are, over all that were judged so."""
    return counts.tp, counts.tp + counts.fp


def recall(counts: "Confusion") -> Term:
    """Unanswerable items that were judged so, over the unanswerable ones."""
    return counts.tp, counts.tp + counts.fn


def f1(counts: "Confusion") -> Term:
    """Harmonic mean of precision and recall, from the counts: 0.0 when every unanswerable item was missed."""
    return 2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn


def far(counts: "Confusion") -> Term:
    """False answerable rate: unanswerable items that were judged answerable, over the unanswerable ones."""
    return counts.fn, counts.tp + counts.fn


def false_refusals(counts: "Confusion") -> Term:
    """Answerable items that were judged unanswerable, over the answerable ones: a judge that refuses all has no FAR."""
    return counts.fp, counts.fp + counts.tn


class _Share:
    """A term of a confusion, as its figure."""

    def __init__(self, term: Callable[["Confusion"], Term]) -> None:
        self._term = term

    def __get__(self, counts: "Confusion", _owner: object) -> float | None:
        return share(self._term(counts))


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of judged items.

    Attributes:
        tp: unanswerable, judged unanswerable.
        fp: answerable, judged unanswerable.
        fn: unanswerable, judged answerable.
        tn: answerable, judged answerable.
    """

    tp: int
    fp: int
    fn: int
    tn: int

    precision = _Share(precision)
    recall = _Share(recall)
    f1 = _Share(f1)
    far = _Share(far)
    false_refusals = _Share(false_refusals)

    @property
    def all_refused(self) -> "Confusion":
        """What judging every item unanswerable gives: a setting that does no better knows nothing."""
        return Confusion(tp=self.tp + self.fn, fp=self.fp + self.tn, fn=0, tn=0)


_metric = Rows("unanswerable", "verdicts")
METRICS = (
    _metric.named(precision, "정밀도", MAIN),
    _metric.named(recall, "재현율", MAIN),
    _metric(f1, "f1", "F1", "F1", SHOWN).told(
        "telling unanswerable queries apart; N: those that are, or were judged so",
        "답이 없는 질의를 가려내는 정도, N은 답이 없거나 없다고 판정한 질의 수",
    ),
    _metric(far, "far", "FAR", "FAR", Use(gate=True, lower=True, main=1, page=1, summary=1)).told(
        "unanswerable taken for answerable; lower is better",
        "답이 없는데 있다고 판정한 비율, 낮을수록 좋음",
    ),
    _metric.named(
        false_refusals, "잘못된 거절률", Use(gate=True, lower=True, main=1, page=1, summary=1)
    ).told(
        "answerable taken for unanswerable; lower is better",
        "답이 있는데 없다고 판정한 비율, 낮을수록 좋음",
    ),
)


def measure_verdicts(counts: Confusion) -> dict[str, Term]:
    """What judged items add to every metric that takes "verdicts"."""
    return {metric.name: of(counts) for metric, of in measured(METRICS, "verdicts")}


def verdict_terms(judged: Sequence[tuple[bool, bool]]) -> list[dict[str, Term]]:
    """The same for each of these pairs of (is unanswerable, was judged unanswerable).

    Where none is unanswerable, they add nothing to what an answerable one can only spoil: an F1 of 0 would say that a
    judge finds none, and there is none.
    """
    rows = [measure_verdicts(confusion([pair])) for pair in judged]
    if any(is_unanswerable for is_unanswerable, _ in judged):
        return rows
    answerable = [measure_verdicts(confusion([(False, verdict)])) for verdict in (True, False)]
    return [
        {n: term if any(terms[n][0] for terms in answerable) else (0, 0) for n, term in row.items()}
        for row in rows
    ]


def confusion(judged: Iterable[tuple[bool, bool]]) -> Confusion:
    """Count pairs of (is unanswerable, was judged unanswerable)."""
    counts = Counter(judged)
    return Confusion(
        tp=counts[True, True],
        fp=counts[False, True],
        fn=counts[True, False],
        tn=counts[False, False],
    )


def share(term: Term) -> float | None:
    """None for 0 of 0."""
    part, whole = term
    return part / whole if whole else None


def near_misses(unanswerable: Sequence[float], answerable: Sequence[float]) -> int | None:
    """How many scores of unanswerable items are not below the median of the answerable ones; None without any of these.

    A judge that knows nothing has about half of them so; one that tells the kinds apart has none.
    """
    if not answerable:
        return None
    middle = median(answerable)
    return sum(score >= middle for score in unanswerable)


ScoredItem = tuple[bool, float | None]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The counts of every setting in `(above, min_score]`; the first point has the lowest alone, as both."""

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
    """Points of `min_score`, ascending; their ranges cover [0, 1] and all scores without a gap."""
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
    """The point whose range holds `min_score`; beyond the last, one where every item is judged unanswerable."""
    at = bisect_left(points, min_score, key=lambda point: point.min_score)
    if at < len(points):
        return points[at]
    last = points[-1]
    return SweepPoint(last.min_score, min_score, last.counts.all_refused)


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
    thresholds = [
        middles[_best(times[times @ positive > 0], below, positive)]
        for times in resampled_counts(len(items), seed=seed, label="best_f1")
    ]
    return BestThreshold(best.middle, best, percentile_interval(np.concatenate(thresholds)))


def _sorted(items: Sequence[ScoredItem]) -> tuple[_Floats, _Floats, _Floats]:
    """Settings where the counts may change; and scores with 1.0 for unanswerable, by score, no hit before all."""
    scores = np.array([-np.inf if score is None else score for _, score in items], dtype=np.float64)
    positive = np.array([unanswerable for unanswerable, _ in items], dtype=np.float64)
    order = np.argsort(scores, kind="stable")
    settings = np.unique(np.concatenate([[0.0, 1.0], scores[np.isfinite(scores)]]))
    return settings, scores[order], positive[order]


def _best(times: _Floats, below: npt.NDArray[np.intp], positive: _Floats) -> npt.NDArray[np.intp]:
    """Index of the setting with the highest F1 in each resample; `times` is resamples x items in order of score."""
    edge = np.zeros((len(times), 1))
    judged = np.hstack([edge, np.cumsum(times, axis=1)])[:, below]
    hits = np.hstack([edge, np.cumsum(times * positive, axis=1)])[:, below]
    # 2 tp + fp + fn is what was judged unanswerable plus what is.
    return np.argmax(2 * hits / (judged + (times @ positive)[:, np.newaxis]), axis=1)
