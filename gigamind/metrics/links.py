"""Quality of suggested links: precision in both definitions, recall, novelty, span accuracy, acceptance, calibration.

The item is a note with its suggestions, best first. An expected link is a set of notes, any of which is correct.
Figures are ratios of sums over notes; their intervals resample whole notes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gigamind.i18n import _
from gigamind.metrics.spec import SHOWN, Rows, Use, cutoffs, measured
from gigamind.stats.agreement import ReliabilityBin, reliability_bins
from gigamind.stats.intervals import Estimate

_STEPS = 20  # of the sweep over [0, 1]

_Term = tuple[int, int]
"""What one note adds to the numerator and the denominator of a figure."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """One suggested link as the metrics see it."""

    target: str
    confidence: float | None  # in [0, 1]; None if the system gives none
    is_exact: bool | None  # its range is that of an expected link to the target; None if not known
    is_novel: bool  # the note does not link to the target yet
    accepted: bool | None  # a person's verdict on this link; None without one


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """One evaluated note, its suggestions best first; `unlinked` are those if already linked targets are excluded."""

    note: str
    language: str
    suggestions: tuple[Suggested, ...]
    unlinked: tuple[Suggested, ...]
    expected: tuple[frozenset[str], ...]

    def expects(self, suggested: Suggested) -> bool:
        """Return whether a suggested target was expected."""
        return any(suggested.target in targets for targets in self.expected)

    def values(self, topk: int) -> dict[str, float | None]:
        """Return the figures of the note; None if the denominator is 0."""
        return {
            name: over / under if under else None
            for name, (over, under) in self.terms(topk).items()
        }

    def terms(self, topk: int) -> dict[str, _Term]:
        """Return numerator and denominator for every metric that takes "note"."""
        return measured(METRICS, "note", self, ranks=cutoffs(topk))


@dataclass(frozen=True, slots=True)
class _LinkSweepPoint:
    """The figures at one confidence threshold (None for 0 of 0), with the 95 % interval of the precision."""

    min_confidence: float
    suggested: int
    precision: float | None
    low: float | None
    high: float | None
    recall: float | None


def _precision(note: LinkedNote, k: int) -> _Term:
    """Return the correct suggestions over those returned."""
    shown = note.suggestions[:k]
    return sum(note.expects(suggestion) for suggestion in shown), len(shown)


def _precision_ceiling(note: LinkedNote, k: int) -> _Term:
    """Return the highest possible `_precision` with as many suggestions."""
    shown = len(note.suggestions[:k])
    return min(shown, _targets(note)), shown


def _precision_over(note: LinkedNote, k: int) -> _Term:
    """Return the correct suggestions over k, which a note with fewer links cannot reach."""
    return _precision(note, k)[0], k


def _precision_over_ceiling(note: LinkedNote, k: int) -> _Term:
    """Return the highest possible `_precision_over`."""
    return min(k, _targets(note)), k


def _recall(note: LinkedNote, k: int) -> _Term:
    """Return the expected links that are suggested, over all."""
    return _hit_count(note, note.suggestions[:k]), len(note.expected)


def _recall_ceiling(note: LinkedNote, k: int) -> _Term:
    """Return the highest possible `_recall`."""
    return min(k, len(note.expected)), len(note.expected)


def _recall_excluding_linked(note: LinkedNote, k: int) -> _Term:
    """Return `_recall` if targets that the note links to elsewhere are never suggested."""
    return _hit_count(note, note.unlinked[:k]), len(note.expected)


def _novelty(note: LinkedNote, k: int) -> _Term:
    """Return the suggested targets that the note does not link to yet."""
    shown = note.suggestions[:k]
    return sum(suggestion.is_novel for suggestion in shown), len(shown)


def _span_accuracy(note: LinkedNote, k: int) -> _Term:
    """Return the correct suggestions at exactly the removed position, over those with a known position."""
    hits = (suggestion for suggestion in note.suggestions[:k] if note.expects(suggestion))
    placed = [suggestion.is_exact for suggestion in hits if suggestion.is_exact is not None]
    return sum(placed), len(placed)


def _acceptance(note: LinkedNote) -> _Term:
    """Return the accepted suggestions over those that a person judged."""
    judged = [entry.accepted for entry in note.suggestions if entry.accepted is not None]
    return sum(judged), len(judged)


CEILING = "_ceiling"  # suffix of the highest value that the dataset allows
_metric = Rows("links", "note")
METRICS = (
    _metric(_precision, "precision_at_{k}", _("precision@{k}", k="{k}"), SHOWN).described(
        _("share of the suggested links that match a removed link")
    ),
    _metric(_precision_ceiling, "precision_at_{k}_ceiling", _("precision@{k} ceiling", k="{k}")),
    _metric(
        _precision_over, "precision_over_{k}", _("precision over {k}", k="{k}"), Use(main=2)
    ).described(
        _("correct suggestions divided by k; a note with fewer than k removed links cannot reach 1")
    ),
    _metric(
        _precision_over_ceiling,
        "precision_over_{k}_ceiling",
        _("precision over {k} ceiling", k="{k}"),
    ),
    _metric(_recall, "recall_at_{k}", _("recall@{k}", k="{k}"), SHOWN).described(
        _("share of the removed links that were suggested again")
    ),
    _metric(_recall_ceiling, "recall_at_{k}_ceiling", _("recall@{k} ceiling", k="{k}")),
    _metric(
        _recall_excluding_linked,
        "recall_at_{k}_excluding_linked",
        _("recall@{k}, new targets", k="{k}"),
        Use(main=1),
    ).described(
        _(
            "recall when targets that the note already links to elsewhere are left out of the suggestions"
        )
    ),
    _metric(_novelty, "novelty_at_{k}", _("novelty@{k}", k="{k}"), Use(main=3)).described(
        _("share of the suggestions whose target the note does not link to yet")
    ),
    _metric(
        _span_accuracy, "span_accuracy_at_{k}", _("span accuracy@{k}", k="{k}"), Use(main=3, page=1)
    ).described(_("share of the correct suggestions placed exactly where the removed link was")),
    _metric(_acceptance, "acceptance_proxy", _("acceptance proxy"), Use(main=3)).described(
        _("of the suggestions that a person judged, the share that the person accepted")
    ),
)


def summarise_links(notes: Sequence[LinkedNote], topk: int, seed: int) -> dict[str, Estimate]:
    """Return the figures over all notes with 95 % intervals; `n` counts the notes in a denominator."""
    rows = [note.terms(topk) for note in sorted(notes, key=lambda note: note.note)]
    return Estimate.ratios(rows, list(rows[0]), seed=seed, label="links") if rows else {}


def sweep_links(notes: Sequence[LinkedNote], topk: int) -> list[_LinkSweepPoint]:
    """Return precision (with Wilson's interval over notes) and recall at rank `topk` for 21 thresholds from 0 to 1.

    A suggestion without confidence counts as 0; if none has a confidence, the result is empty.
    """
    stated = [entry.confidence is not None for note in notes for entry in note.suggestions]
    if stated and not any(stated):
        return []
    expected = sum(len(note.expected) for note in notes)
    points: list[_LinkSweepPoint] = []
    for step in range(_STEPS + 1):
        floor = step / _STEPS
        kept = [
            [entry for entry in note.suggestions[:topk] if (entry.confidence or 0.0) >= floor]
            for note in notes
        ]
        pairs = list(zip(notes, kept, strict=True))
        hits = [note.expects(suggestion) for note, shown in pairs for suggestion in shown]
        notes_of_hits = np.repeat(np.arange(len(kept)), list(map(len, kept)))
        right = Estimate.share(sum(hits), len(hits), notes_of_hits)
        recalled = sum(_hit_count(note, shown) for note, shown in pairs)
        recall = recalled / expected if expected else None
        points.append(_LinkSweepPoint(floor, right.n, right.value, right.low, right.high, recall))
    return points


def reliability(notes: Sequence[LinkedNote]) -> list[ReliabilityBin]:
    """Return how often suggestions of similar confidence are correct; empty bins are left out."""
    pairs = [
        (suggestion.confidence, note.expects(suggestion))
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


def _targets(note: LinkedNote) -> int:
    """Return how many suggestions can be correct; each target of an expected link counts."""
    return len(frozenset[str]().union(*note.expected))


def _hit_count(note: LinkedNote, shown: Sequence[Suggested]) -> int:
    suggested = {suggestion.target for suggestion in shown}
    return sum(not suggested.isdisjoint(targets) for targets in note.expected)
