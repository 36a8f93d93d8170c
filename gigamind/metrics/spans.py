"""How much of the evidence is expected, and how much of the expected evidence was retrieved (spec 4.1).

Evidence with a range matches by position, without one by text, within one note. That rule needs evidence and label of
similar length (`out_of_reach`); `_answer_in_evidence` measures whether a reader finds the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gigamind.i18n import _
from gigamind.metrics.spec import MAIN, Rows, Use, measured
from gigamind.spans import Passage, Span
from gigamind.text import jaccard, plain

_MIN_IOU = 0.5  # strictly above
_MIN_JACCARD = 0.7  # strictly above


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Text of a note without its range, such as a highlight; `note` is an NFC path below the vault root, with "/"."""

    note: str
    text: str


Evidence = Passage | Unplaced


def matches(evidence: Evidence, expected: Passage) -> bool:
    """Return whether a piece of evidence matches an expected span, by position or by text."""
    if evidence.note != expected.note:
        return False
    if isinstance(evidence, Passage):
        return evidence.span.iou(expected.span) > _MIN_IOU
    shown, wanted = plain(evidence.text), plain(expected.text)
    return bool(wanted) and (wanted in shown or jaccard(shown, wanted) > _MIN_JACCARD)


def holds(evidence: Evidence, expected: Passage) -> bool:
    """Return whether an expected span is entirely within a piece of evidence, by position or by text."""
    if evidence.note != expected.note:
        return False
    if isinstance(evidence, Passage):
        shown, label = evidence.span, expected.span
        return len(label) > 0 and shown.start <= label.start and label.end <= shown.end
    wanted = plain(expected.text)
    return bool(wanted) and wanted in plain(evidence.text)


def _span_precision(evidence: Sequence[Evidence], expected: Sequence[Passage]) -> float | None:
    """Return the share of the evidence that matches an expected span; None without expected spans or evidence."""
    if not evidence or not expected:
        return None
    matched = sum(any(matches(piece, span) for span in expected) for piece in evidence)
    return matched / len(evidence)


def _span_recall(evidence: Sequence[Evidence], expected: Sequence[Passage]) -> float | None:
    """Return the share of the expected spans that some evidence matches; None without spans, 0.0 without evidence."""
    if not expected:
        return None
    matched = sum(any(matches(piece, span) for piece in evidence) for span in expected)
    return matched / len(expected)


def _answer_in_evidence(evidence: Sequence[Evidence], expected: Sequence[Passage]) -> float | None:
    """Return 1.0 if an expected span is entirely within some evidence, else 0.0; None without expected spans."""
    if not expected:
        return None
    return float(any(holds(piece, span) for piece in evidence for span in expected))


def _answer_in_evidence_of_note(
    evidence: Sequence[Evidence], expected: Sequence[Passage]
) -> float | None:
    """Return the same for evidence from notes with expected spans, whatever their rank; None if none is shown."""
    notes = {span.note for span in expected}
    own = [piece for piece in evidence if piece.note in notes]
    return _answer_in_evidence(own, expected) if own else None


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """The `count` of `labels` that no evidence can match by position, with the medians of their and pieces' lengths."""

    labels: int
    count: int
    label_chars: float
    piece_chars: float


def out_of_reach(
    labels: Sequence[Passage], pieces: Mapping[str, Sequence[Span]]
) -> OutOfReach | None:
    """Return the labels whose IoU with all possible `pieces` of their note is at most `_MIN_IOU`; None without any."""
    missed: list[tuple[int, int]] = []
    for label in labels:
        iou, chars = max(
            ((piece.iou(label.span), len(piece)) for piece in pieces.get(label.note, ())),
            default=(0.0, 0),
        )
        if iou <= _MIN_IOU:
            missed.append((len(label.span), chars))
    if not missed:
        return None
    own, other = zip(*missed, strict=True)
    return OutOfReach(len(labels), len(missed), median(own), median(other))


_metric = Rows("search", "spans")
METRICS = (
    _metric.named(_span_precision, _("span precision"), MAIN).described(
        _("share of the evidence that matches an expected passage")
    ),
    _metric.named(_span_recall, _("span recall"), MAIN).described(
        _("share of the expected passages that are shown as evidence")
    ),
    _metric(_answer_in_evidence, "answer_in_evidence", _("answer in the evidence"), MAIN).described(
        _("share of the queries whose evidence contains a whole expected passage")
    ),
    _metric(
        _answer_in_evidence_of_note,
        "answer_in_evidence_of_note",
        _("answer in the evidence (note shown)"),
        Use(gate=True),
    ).described(_("the same, only of the queries whose expected note is shown")),
)


def measure_spans(
    evidence: Sequence[Evidence], expected: Sequence[Passage]
) -> dict[str, float | None]:
    """Return every metric that takes "spans" of one query: its evidence and the expected spans."""
    return measured(METRICS, "spans", evidence, expected)
