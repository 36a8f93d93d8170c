"""How much of the retrieved evidence is the expected evidence, and how much of the expected was retrieved (seed 4.1).

Evidence matches an expected span only within one note.  Evidence with a range matches by position, evidence without one
by text; the two rules are never mixed for one piece.  A piece that is retrieved twice counts twice in the precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.metrics.spec import MAIN, Rows, measured
from gigamind.spans import Passage
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


_metric = Rows("search", "spans")
METRICS = (
    _metric(span_precision, "span_precision", "span precision", "구간 정밀도", MAIN),
    _metric(span_recall, "span_recall", "span recall", "구간 재현율", MAIN).told(
        "expected passages that are shown", "정답 구간 가운데 근거로 제시된 비율"
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
