"""How well a judge separates unanswerable (positive) from answerable queries, at its threshold and at any other.

Figures are in [0, 1], or None for 0 of 0: a judge that never says "unanswerable" has no precision.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self

import numpy as np
import numpy.typing as npt

from gigamind.i18n import _
from gigamind.metrics.spec import MAIN, SHOWN, Rows, Use, measured
from gigamind.stats.intervals import Interval, resampled_counts

_Term = tuple[int, int]
"""Numerator and denominator."""


def _precision(counts: "Confusion") -> _Term:
    """Return the correct ones among the items judged unanswerable."""
    return counts.tp, counts.tp + counts.fp


def _recall(counts: "Confusion") -> _Term:
    """Return the unanswerable items that were judged unanswerable, over all unanswerable ones."""
    return counts.tp, counts.tp + counts.fn


def _f1(counts: "Confusion") -> _Term:
    """Return the harmonic mean of precision and recall, from the counts; 0.0 if every unanswerable item was missed."""
    return 2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn


def _far(counts: "Confusion") -> _Term:
    """Return the false-answer rate: unanswerable items judged answerable, over all unanswerable ones."""
    return counts.fn, counts.tp + counts.fn


def _false_refusals(counts: "Confusion") -> _Term:
    """Return the over-refusal rate: answerable items judged unanswerable, over all answerable ones."""
    return counts.fp, counts.fp + counts.tn


class _Share:
    """A term of a confusion matrix as its ratio; None for 0 of 0."""

    def __init__(self, term: Callable[["Confusion"], _Term]) -> None:
        self._term = term

    def __get__(self, counts: "Confusion", _owner: object) -> float | None:
        part, whole = self._term(counts)
        return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of judged items; positive is unanswerable."""

    tp: int
    fp: int
    fn: int
    tn: int

    precision = _Share(_precision)
    recall = _Share(_recall)
    f1 = _Share(_f1)
    far = _Share(_far)
    false_refusals = _Share(_false_refusals)

    @property
    def all_refused(self) -> "Confusion":
        """Return the counts of a judge that calls every item unanswerable, the trivial baseline."""
        return Confusion(tp=self.tp + self.fn, fp=self.fp + self.tn, fn=0, tn=0)

    @classmethod
    def of(cls, judged: Iterable[tuple[bool, bool]]) -> Self:
        """Count pairs of (is unanswerable, was judged unanswerable)."""
        pairs = list(judged)
        tp, fp, fn, tn = map(
            pairs.count, [(True, True), (False, True), (True, False), (False, False)]
        )
        return cls(tp=tp, fp=fp, fn=fn, tn=tn)

    def measure(self) -> dict[str, _Term]:
        """Return what judged items add to every metric that takes "verdicts"."""
        return measured(METRICS, "verdicts", self)


_ERRORS = replace(SHOWN, lower=True)
_metric = Rows("unanswerable", "verdicts")
METRICS = (
    _metric.named(_precision, _("precision"), MAIN).described(
        _("share of refusals that are right")
    ),
    _metric.named(_recall, _("recall"), Use(gate=True)).described(  # FAR is 1 - recall
        _("share of the unanswerable queries that were refused")
    ),
    _metric(_f1, "f1", _("F1"), SHOWN).described(
        _(
            "harmonic mean of precision and recall for unanswerable queries; N counts queries that are"
            " unanswerable or were judged so"
        )
    ),
    _metric(_far, "far", _("wrongly answered (FAR)"), _ERRORS).described(
        _("share of the unanswerable queries that were judged answerable; lower is better")
    ),
    _metric.named(_false_refusals, _("false refusals"), _ERRORS).described(
        _("share of the answerable queries that were judged unanswerable; lower is better")
    ),
)


def verdict_terms(judged: Sequence[tuple[bool, bool]]) -> list[dict[str, _Term]]:
    """Return the same for pairs of (is unanswerable, was judged so); without unanswerable items F1 has no terms."""
    terms_of = {pair: Confusion.of([pair]).measure() for pair in set(judged)}
    rows = [terms_of[pair] for pair in judged]
    if any(is_unanswerable for is_unanswerable, _ in judged):
        return rows
    answerable = [Confusion.of([(False, verdict)]).measure() for verdict in (True, False)]
    return [
        {n: term if any(terms[n][0] for terms in answerable) else (0, 0) for n, term in row.items()}
        for row in rows
    ]


def near_misses(unanswerable: Sequence[float], answerable: Sequence[float]) -> int | None:
    """Return how many unanswerable items score at least the median of the answerable ones; None without both kinds."""
    if not answerable:
        return None
    middle = median(answerable)
    return sum(score >= middle for score in unanswerable)


_ScoredItem = tuple[bool, float | None]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The counts for every threshold in `(above, min_score]`; for the first point both are the lowest threshold."""

    above: float
    min_score: float
    counts: Confusion

    @property
    def middle(self) -> float:
        """Return the threshold of the range that is farthest from the scores on both sides."""
        middle = (self.above + self.min_score) / 2
        return middle if middle > self.above else self.min_score


@dataclass(frozen=True, slots=True)
class _BestThreshold:
    """The threshold with the highest F1, the lowest of equals.

    `min_score` is the middle of its point's range; its 95 % bootstrap interval shows how much it depends on these
    items.
    """

    min_score: float
    point: SweepPoint
    interval: Interval


def sweep(items: Sequence[_ScoredItem]) -> list[SweepPoint]:
    """Return points of `min_score`, ascending; their ranges cover [0, 1] and all scores without a gap."""
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


def best_f1(items: Sequence[_ScoredItem], *, seed: int) -> _BestThreshold | None:
    """Return the threshold with the highest F1; None without both kinds of items, or if no threshold catches one."""
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
    return _BestThreshold(best.middle, best, Interval.percentile(np.concatenate(thresholds)))


def _sorted(items: Sequence[_ScoredItem]) -> tuple[_Floats, _Floats, _Floats]:
    scores = np.array([-np.inf if score is None else score for _, score in items], dtype=np.float64)
    positive = np.array([unanswerable for unanswerable, _ in items], dtype=np.float64)
    order = np.argsort(scores, kind="stable")
    settings = np.unique(np.concatenate([[0.0, 1.0], scores[np.isfinite(scores)]]))
    return settings, scores[order], positive[order]


def _best(times: _Floats, below: npt.NDArray[np.intp], positive: _Floats) -> npt.NDArray[np.intp]:
    """Return the index of the best F1 in each resample; `times` is resamples x items in order of score."""
    edge = np.zeros((len(times), 1))
    judged = np.hstack([edge, np.cumsum(times, axis=1)])[:, below]
    hits = np.hstack([edge, np.cumsum(times * positive, axis=1)])[:, below]
    # 2 tp + fp + fn is what was judged unanswerable plus what is.
    return np.argmax(2 * hits / (judged + (times @ positive)[:, np.newaxis]), axis=1)
