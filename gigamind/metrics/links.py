"""How good suggested links are: precision in both definitions, recall, novelty, span accuracy, acceptance, calibration.

The item is a note: its suggestions, best first, and the links it ought to have.  One expected link is a set of notes
any of which is right; two rows that expect the same notes are one.  Figures are micro values: sums over notes, divided;
their intervals draw whole notes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gigamind.metrics.aggregate import ratios
from gigamind.metrics.spec import SHOWN, Rows, Use, measured
from gigamind.stats.agreement import ReliabilityBin, reliability_bins
from gigamind.stats.estimate import Estimate

CUTOFFS = (1, 3, 5, 10)
_STEPS = 20  # of the sweep over [0, 1]


@dataclass(frozen=True, slots=True)
class Suggested:
    """One suggested link as the metrics see it.

    Attributes:
        confidence: in [0, 1]; None where none is told.
        is_exact: its range is that of a link to this target that was expected; None where no range is known.
        is_novel: the note does not link to the target yet.
        accepted: a person's verdict on this link; None without one.
    """

    target: str
    confidence: float | None
    is_exact: bool | None
    is_novel: bool
    accepted: bool | None


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """One evaluated note.

    Attributes:
        suggestions: best first.
        unlinked: the same, made without targets that the note links to already.
        expected: distinct expected links.
    """

    note: str
    language: str
    suggestions: tuple[Suggested, ...]
    unlinked: tuple[Suggested, ...]
    expected: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class LinkSweepPoint:
    """What a floor of the confidence would give; None where nothing is suggested or expected.

    Attributes:
        low: where the 95 % interval of the precision begins.
        high: where it ends.
    """

    min_confidence: float
    suggested: int
    precision: float | None
    low: float | None
    high: float | None
    recall: float | None


Term = tuple[int, int]
"""What one note adds to the numerator and the denominator of a figure."""


def precision(note: LinkedNote, k: int) -> Term:
    """Right suggestions over those returned."""
    shown = note.suggestions[:k]
    return sum(is_hit(suggestion, note) for suggestion in shown), len(shown)


def precision_ceiling(note: LinkedNote, k: int) -> Term:
    """What `precision` could be at most, with as many suggestions."""
    shown = len(note.suggestions[:k])
    return min(shown, _targets(note)), shown


def precision_over(note: LinkedNote, k: int) -> Term:
    """Right suggestions over k, which a note with fewer links cannot reach."""
    return precision(note, k)[0], k


def precision_over_ceiling(note: LinkedNote, k: int) -> Term:
    """What `precision_over` could be at most."""
    return min(k, _targets(note)), k


def recall(note: LinkedNote, k: int) -> Term:
    """Expected links that are found."""
    return _found(note, note.suggestions[:k]), len(note.expected)


def recall_ceiling(note: LinkedNote, k: int) -> Term:
    """What `recall` could be at most."""
    return min(k, len(note.expected)), len(note.expected)


def recall_excluding_linked(note: LinkedNote, k: int) -> Term:
    """`recall` when targets that the note links to elsewhere are never suggested."""
    return _found(note, note.unlinked[:k]), len(note.expected)


def novelty(note: LinkedNote, k: int) -> Term:
    """Suggested targets that the note does not link to yet."""
    shown = note.suggestions[:k]
    return sum(suggestion.is_novel for suggestion in shown), len(shown)


def span_accuracy(note: LinkedNote, k: int) -> Term:
    """Right suggestions at exactly the removed place, over those whose place is known."""
    hits = (suggestion for suggestion in note.suggestions[:k] if is_hit(suggestion, note))
    placed = [suggestion.is_exact for suggestion in hits if suggestion.is_exact is not None]
    return sum(placed), len(placed)


def acceptance(note: LinkedNote) -> Term:
    """Accepted suggestions over those that a person judged."""
    judged = [
        suggestion.accepted for suggestion in note.suggestions if suggestion.accepted is not None
    ]
    return sum(judged), len(judged)


CEILING = "_ceiling"  # ends the name of what the dataset lets a metric reach
_metric = Rows("links", "note")
METRICS = (
    _metric(precision, "precision_at_{k}", "precision@{k}", "정밀도@{k}", SHOWN).told(
        "suggestions that were removed links", "제안 가운데 지운 링크였던 비율"
    ),
    _metric(
        precision_ceiling,
        "precision_at_{k}_ceiling",
        "precision@{k} ceiling",
        "정밀도@{k} 상한",
    ),
    _metric(
        precision_over,
        "precision_over_{k}",
        "precision over {k}",
        "정밀도(분모 {k}개)",
        Use(main=2),
    ).told(
        "right suggestions over k a note, which has only so many links",
        "노트마다 k개를 분모로 한 맞은 제안의 비율, 링크 수만큼이 상한",
    ),
    _metric(
        precision_over_ceiling,
        "precision_over_{k}_ceiling",
        "precision over {k} ceiling",
        "정밀도(분모 {k}개) 상한",
    ),
    _metric(recall, "recall_at_{k}", "recall@{k}", "재현율@{k}", SHOWN).told(
        "removed links that were suggested again", "지운 링크 가운데 다시 제안한 비율"
    ),
    _metric(recall_ceiling, "recall_at_{k}_ceiling", "recall@{k} ceiling", "재현율@{k} 상한"),
    _metric(
        recall_excluding_linked,
        "recall_at_{k}_excluding_linked",
        "recall@{k}, new targets",
        "재현율@{k}, 새 대상",
        Use(main=1),
        plain="recall@{k} excluding linked",
    ).told(
        "the same, never suggesting what the note links to elsewhere",
        "다른 곳에 이미 링크된 노트를 제안하지 않을 때의 재현율",
    ),
    _metric(novelty, "novelty_at_{k}", "novelty@{k}", "새로움@{k}", Use(main=3)).told(
        "suggestions of notes that are not linked yet", "제안 가운데 아직 링크되지 않은 노트의 비율"
    ),
    _metric(
        span_accuracy,
        "span_accuracy_at_{k}",
        "span accuracy@{k}",
        "위치 정확도@{k}",
        Use(main=3, page=1),
    ).told(
        "right suggestions at exactly the removed place", "맞은 제안 가운데 지운 자리와 똑같은 비율"
    ),
    _metric(acceptance, "acceptance_proxy", "acceptance proxy", "수락 비율", Use(main=3)).told(
        "suggestions that a person accepted, of those judged",
        "사람이 판정한 제안 가운데 수락한 비율",
    ),
)


def terms(note: LinkedNote, topk: int) -> dict[str, Term]:
    """What a note adds to every metric that takes "note": at each cut-off, then those without one."""
    metrics = list(measured(METRICS, "note"))
    return {
        metric.at(k): of(note, k)
        for k in cutoffs(topk)
        for metric, of in metrics
        if metric.has_cutoff
    } | {metric.name: of(note) for metric, of in metrics if not metric.has_cutoff}


def cutoffs(topk: int) -> list[int]:
    """The ranks that are measured."""
    return sorted({*(k for k in CUTOFFS if k < topk), topk})


def note_values(note: LinkedNote, topk: int) -> dict[str, float | None]:
    """The figures of one note; None where there is nothing to divide by."""
    return {
        name: over / under if under else None for name, (over, under) in terms(note, topk).items()
    }


def summarise_links(notes: Sequence[LinkedNote], topk: int, seed: int) -> dict[str, Estimate]:
    """The figures over all notes with 95 % intervals; `n` counts the notes in a denominator."""
    rows = [terms(note, topk) for note in sorted(notes, key=lambda note: note.note)]
    return ratios(rows, list(rows[0]), seed=seed, label="links") if rows else {}


def sweep_links(notes: Sequence[LinkedNote], topk: int) -> list[LinkSweepPoint]:
    """Precision and recall at rank `topk` for confidence floors from 0 to 1 in steps of 0.05.

    The interval of a precision is Wilson's, suggestions of one note counting as alike.
    A suggestion that tells no confidence is one of 0; empty where there are suggestions, and none tells any.
    """
    stated = [
        suggestion.confidence is not None for note in notes for suggestion in note.suggestions
    ]
    if stated and not any(stated):
        return []
    expected = sum(len(note.expected) for note in notes)
    points: list[LinkSweepPoint] = []
    for step in range(_STEPS + 1):
        floor = step / _STEPS
        kept = [
            (
                note,
                [
                    suggestion
                    for suggestion in note.suggestions[:topk]
                    if (suggestion.confidence or 0.0) >= floor
                ],
            )
            for note in notes
        ]
        hits = [is_hit(suggestion, note) for note, shown in kept for suggestion in shown]
        notes_of_hits = np.repeat(np.arange(len(kept)), [len(shown) for _, shown in kept])
        right = Estimate.share(sum(hits), len(hits), notes_of_hits)
        recalled = sum(_found(note, shown) for note, shown in kept)
        points.append(
            LinkSweepPoint(
                floor,
                right.n,
                right.value,
                right.low,
                right.high,
                recalled / expected if expected else None,
            )
        )
    return points


def reliability(notes: Sequence[LinkedNote]) -> list[ReliabilityBin]:
    """How often suggestions of about one confidence are right; empty bins are left out."""
    pairs = [
        (suggestion.confidence, is_hit(suggestion, note))
        for note in notes
        for suggestion in note.suggestions
        if suggestion.confidence is not None
    ]
    confidences = np.array([confidence for confidence, _ in pairs], dtype=np.float64)
    hits = np.array([hit for _, hit in pairs], dtype=np.bool_)
    return [
        confidence_bin
        for confidence_bin in reliability_bins(confidences, hits)
        if confidence_bin.outcome.n
    ]


def is_hit(suggested: Suggested, note: LinkedNote) -> bool:
    """Whether a suggested target is one that was expected."""
    return any(suggested.target in targets for targets in note.expected)


def _targets(note: LinkedNote) -> int:
    """How many suggestions can be right: of an expected link with several targets, each is."""
    return len(frozenset[str]().union(*note.expected))


def _found(note: LinkedNote, shown: Sequence[Suggested]) -> int:
    """How many expected links are among these suggestions."""
    suggested = {suggestion.target for suggestion in shown}
    return sum(not suggested.isdisjoint(targets) for targets in note.expected)
