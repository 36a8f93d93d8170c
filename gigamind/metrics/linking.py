"""How good suggested links are: precision in both definitions, recall, novelty, span accuracy, acceptance, calibration.

The item is a note: its suggestions, best first, and the links it ought to have.  One expected link is a set of notes
any of which is right; two rows that expect the same notes are one.  Figures are micro values: sums over notes, divided;
their intervals draw whole notes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from gigamind.metrics.aggregate import Estimate
from gigamind.stats.bounded import bounded_ratios

CUTOFFS = (1, 3, 5, 10)
_STEPS = 20  # of the sweep over [0, 1]
_BINS = 10  # of the reliability figure

Terms = dict[str, tuple[int, int]]
"""Name of a figure -> what one note adds to its numerator and its denominator."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """One suggested link as the metrics see it.

    Attributes:
        confidence: in [0, 1].
        is_exact: its range is that of a link to this target that was expected; None where no range is known.
        is_novel: the note does not link to the target yet.
        accepted: a person's verdict on this link; None without one.
    """

    target: str
    confidence: float
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
    """What a floor of the confidence would give; None where nothing is suggested or expected."""

    min_confidence: float
    suggested: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Suggestions whose confidence lies in `[low, high)`, in the last bin also at `high`."""

    low: float
    high: float
    n: int
    mean_confidence: float
    precision: float


def terms(note: LinkedNote, k: int) -> Terms:
    """What a note adds to each figure at rank `k`."""
    shown = note.suggestions[:k]
    hits = [one for one in shown if is_hit(one, note)]
    placed = [one for one in hits if one.is_exact is not None]
    expected = len(note.expected)
    reachable = min(k, expected)
    return {
        f"precision_at_{k}": (len(hits), len(shown)),
        f"precision_over_{k}": (len(hits), k),
        f"precision_over_{k}_ceiling": (reachable, k),
        f"recall_at_{k}": (_found(note, shown), expected),
        f"recall_at_{k}_ceiling": (reachable, expected),
        f"recall_at_{k}_excluding_linked": (_found(note, note.unlinked[:k]), expected),
        f"novelty_at_{k}": (sum(one.is_novel for one in shown), len(shown)),
        f"span_accuracy_at_{k}": (sum(one.is_exact is True for one in placed), len(placed)),
    }


def acceptance(note: LinkedNote) -> Terms:
    """What a note adds to the acceptance proxy: accepted suggestions over those that a person judged."""
    judged = [one.accepted for one in note.suggestions if one.accepted is not None]
    return {"acceptance_proxy": (sum(judged), len(judged))}


def cutoffs(topk: int) -> list[int]:
    """The ranks that are measured."""
    return sorted({*(k for k in CUTOFFS if k < topk), topk})


def note_values(note: LinkedNote, topk: int) -> dict[str, float | None]:
    """The figures of one note; None where there is nothing to divide by."""
    return {
        name: over / under if under else None for name, (over, under) in _all(note, topk).items()
    }


def summarise_links(notes: Sequence[LinkedNote], topk: int, seed: int) -> dict[str, Estimate]:
    """The figures over all notes with 95 % intervals; `n` counts the notes in a denominator."""
    rows = [_all(note, topk) for note in sorted(notes, key=lambda note: note.note)]
    if not rows:
        return {}
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
    over, under = table[:, :, 0], table[:, :, 1]
    intervals = bounded_ratios(over, under, seed=seed, label="links")
    found: dict[str, Estimate] = {}
    for index, (name, interval) in enumerate(zip(names, intervals, strict=True)):
        below = float(under[:, index].sum())
        value = float(over[:, index].sum()) / below if below else None
        low, high = (interval.low, interval.high) if interval else (None, None)
        found[name] = Estimate(value, low, high, int((under[:, index] > 0).sum()))
    return found


def sweep_links(notes: Sequence[LinkedNote], topk: int) -> list[LinkSweepPoint]:
    """Precision and recall at rank `topk` for confidence floors from 0 to 1 in steps of 0.05."""
    expected = sum(len(note.expected) for note in notes)
    points: list[LinkSweepPoint] = []
    for step in range(_STEPS + 1):
        floor = step / _STEPS
        kept = [
            (note, [one for one in note.suggestions[:topk] if one.confidence >= floor])
            for note in notes
        ]
        suggested = sum(len(shown) for _, shown in kept)
        hits = sum(is_hit(one, note) for note, shown in kept for one in shown)
        found = sum(_found(note, shown) for note, shown in kept)
        points.append(
            LinkSweepPoint(
                floor,
                suggested,
                hits / suggested if suggested else None,
                found / expected if expected else None,
            )
        )
    return points


def reliability(notes: Sequence[LinkedNote]) -> list[ReliabilityBin]:
    """How often suggestions of about one confidence are right; empty bins are left out."""
    pairs = [(one.confidence, is_hit(one, note)) for note in notes for one in note.suggestions]
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, hit in pairs:
        bins.setdefault(min(int(confidence * _BINS), _BINS - 1), []).append((confidence, hit))
    return [
        ReliabilityBin(
            low=number / _BINS,
            high=(number + 1) / _BINS,
            n=len(members),
            mean_confidence=fsum(confidence for confidence, _ in members) / len(members),
            precision=sum(hit for _, hit in members) / len(members),
        )
        for number, members in sorted(bins.items())
    ]


def calibration_error(bins: Sequence[ReliabilityBin]) -> float | None:
    """Expected calibration error, in [0, 1]: mean distance of confidence and precision, weighted by suggestions."""
    total = sum(one.n for one in bins)
    if not total:
        return None
    return fsum(one.n * abs(one.mean_confidence - one.precision) for one in bins) / total


def is_hit(suggested: Suggested, note: LinkedNote) -> bool:
    """Whether a suggested target is one that was expected."""
    return any(suggested.target in targets for targets in note.expected)


def _found(note: LinkedNote, shown: Sequence[Suggested]) -> int:
    """How many expected links are among these suggestions."""
    suggested = {one.target for one in shown}
    return sum(not suggested.isdisjoint(targets) for targets in note.expected)


def _all(note: LinkedNote, topk: int) -> Mapping[str, tuple[int, int]]:
    found: Terms = {}
    for k in cutoffs(topk):
        found |= terms(note, k)
    return found | acceptance(note)
