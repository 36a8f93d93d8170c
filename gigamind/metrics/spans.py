"""How much of the retrieved evidence is the expected evidence, and how much of the expected was retrieved (seed 4.1).

Evidence matches an expected span only within one note.  Evidence with a range matches by position, evidence without one
by text; the two rules are never mixed for one piece.  A piece that is retrieved twice counts twice in the precision.

The seed's rule asks for evidence and label of about one length, so a label of a word or two can match no sentence
(`out_of_reach`).  Whether a reader finds the answer in what is shown is another question: `answer_in_evidence`, which a
label of several sentences in turn can never meet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gigamind.metrics.spec import MAIN, Rows, Use, measured
from gigamind.spans import Passage, Span
from gigamind.text import jaccard, plain

MIN_IOU = 0.5  # strictly above
MIN_JACCARD = 0.7  # strictly above


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Text taken from a note without its range, such as a highlight.

    Attributes:
        note: path relative to the vault root, with "/" separators, NFC.
    """

    note: str
    text: str


Evidence = Passage | Unplaced


def matches(evidence: Evidence, expected: Passage) -> bool:
    """Whether one piece of evidence is one expected span, by the rule its range allows."""
    if evidence.note != expected.note:
        return False
    if isinstance(evidence, Passage):
        return evidence.span.iou(expected.span) > MIN_IOU
    return _same_text(plain(evidence.text), plain(expected.text))


def holds(evidence: Evidence, expected: Passage) -> bool:
    """Whether an expected span lies wholly in one piece of evidence: by position, or by text where it has no range."""
    if evidence.note != expected.note:
        return False
    if isinstance(evidence, Passage):
        shown, label = evidence.span, expected.span
        return len(label) > 0 and shown.start <= label.start and label.end <= shown.end
    wanted = plain(expected.text)
    return bool(wanted) and wanted in plain(evidence.text)


def span_precision(evidence: Sequence[Evidence], expected: Sequence[Passage]) -> float | None:
    """Share of the evidence that matches an expected span.

    None without expected spans (nothing was labelled) and without evidence (0 of 0): an item whose spans were all
    missed lowers the recall, and says nothing about precision.
    """
    if not evidence or not expected:
        return None
    matched = sum(any(matches(piece, span) for span in expected) for piece in evidence)
    return matched / len(evidence)


def span_recall(evidence: Sequence[Evidence], expected: Sequence[Passage]) -> float | None:
    """Share of the expected spans that some evidence matches; None without expected spans, 0.0 without evidence."""
    if not expected:
        return None
    matched = sum(any(matches(piece, span) for piece in evidence) for span in expected)
    return matched / len(expected)


def answer_in_evidence(evidence: Sequence[Evidence], expected: Sequence[Passage]) -> float | None:
    """1.0 when an expected span lies wholly in some evidence, else 0.0; None without expected spans."""
    if not expected:
        return None
    return float(any(holds(piece, span) for piece in evidence for span in expected))


def answer_in_evidence_of_note(
    evidence: Sequence[Evidence], expected: Sequence[Passage]
) -> float | None:
    """The same of the evidence from notes of expected spans; None where none of these notes is shown.

    What is left to gain here is the choice of the sentence; the rest of `answer_in_evidence` is the ranking's.
    """
    notes = {span.note for span in expected}
    own = [piece for piece in evidence if piece.note in notes]
    return answer_in_evidence(own, expected) if own else None


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """Labels that no evidence can match by position, whatever is searched for.

    Attributes:
        labels: of how many.
        count: so many, at least 1.
        label_chars, piece_chars: medians, over those, of their length and of that of the nearest piece.
    """

    labels: int
    count: int
    label_chars: float
    piece_chars: float


def out_of_reach(
    labels: Sequence[Passage], pieces: Mapping[str, Sequence[Span]]
) -> OutOfReach | None:
    """The labels with an IoU of at most `MIN_IOU` with every piece of their note that could be shown; None without any.

    Args:
        pieces: by note, of which each evidence is one.
    """
    missed: list[tuple[int, int]] = []
    for label in labels:
        iou, chars = max(
            ((piece.iou(label.span), len(piece)) for piece in pieces.get(label.note, ())),
            default=(0.0, 0),
        )
        if iou <= MIN_IOU:
            missed.append((len(label.span), chars))
    if not missed:
        return None
    own, other = zip(*missed, strict=True)
    return OutOfReach(len(labels), len(missed), median(own), median(other))


_metric = Rows("search", "spans")
METRICS = (
    _metric.named(span_precision, "구절 정밀도", MAIN),
    _metric.named(span_recall, "구절 재현율", MAIN).told(
        "expected passages that are shown", "정답 구절 가운데 근거로 제시된 비율"
    ),
    _metric(
        answer_in_evidence,
        "answer_in_evidence",
        "answer in the evidence",
        "근거 내 정답",
        MAIN,
    ).told(
        "queries whose evidence holds an expected passage whole",
        "정답 구절이 근거 안에 온전히 들어 있는 질의의 비율",
    ),
    _metric(
        answer_in_evidence_of_note,
        "answer_in_evidence_of_note",
        "answer in the evidence, its note shown",
        "근거 내 정답 (정답 노트가 제시된 질의)",
        Use(gate=True),
    ),
)


def measure_spans(
    evidence: Sequence[Evidence], expected: Sequence[Passage]
) -> dict[str, float | None]:
    """Every metric that takes "spans" of one query: its evidence, and the expected spans."""
    return {metric.name: of(evidence, expected) for metric, of in measured(METRICS, "spans")}


def _same_text(evidence: str, expected: str) -> bool:
    """The text rule on two `plain` texts; every text contains the empty one, so that matches nothing."""
    if not expected:
        return False
    return expected in evidence or jaccard(evidence, expected) > MIN_JACCARD
