"""Holds the labels of people against the claims that the judge decides on."""

import re
import unicodedata
from collections.abc import Sequence

from gigamind.datasets.answer_schema import AnswerLabels
from gigamind.judges.search_qa.segments.citations import without_citations
from gigamind.judges.search_qa.segments.claims import claims_of, pieces_of
from gigamind.metrics.grounding import ClaimRow, Grounding, GroundingTable, grounding
from gigamind.reports.answer_schema import LabelledClaimReport, LabelsReport
from gigamind.reports.search_qa import SearchQAEvaluation

_AT_EDGES = re.compile(r"[*`]|(?<!\w)(?!-\d)[^\w\s]+|[^\w\s%]+(?!\w)")


def unmatched_labels(answer: str, labels: AnswerLabels | None, *, parts: bool) -> list[str]:
    """Texts of labelled claims that are no claim of the answer; with `parts`, nor any part of one."""
    if labels is None:
        return []
    known = {_comparable(claim.piece.text) for claim in claims_of(pieces_of(answer))}
    told = [(claim.text, _comparable(claim.text)) for claim in labels.claims]
    return [
        text
        for text, one in told
        if one not in known and not (parts and any(one in claim for claim in known))
    ]


def labels_report(
    labels: AnswerLabels | None, evaluation: SearchQAEvaluation | None
) -> LabelsReport | None:
    """The labels, each claim with the id of the judge's claim of the same text."""
    if labels is None:
        return None
    ids = _ids([(claim.id, claim.text) for claim in evaluation.claims] if evaluation else [])
    return LabelsReport(
        correctness=labels.correctness,
        utility=labels.utility,
        abstains=labels.abstains,
        claims=tuple(
            LabelledClaimReport(
                text=claim.text,
                verdict=claim.verdict,
                note=claim.note,
                claim=ids.get(_comparable(claim.text)),
            )
            for claim in labels.claims
        ),
    )


def grounding_of(
    evaluation: SearchQAEvaluation,
    notes: int,
    labels: AnswerLabels | None,
    relevant: frozenset[int] | None,
) -> Grounding:
    """The figures of one evaluated answer.

    Args:
        relevant: notes that bear on the question, where the dataset knows; else as the judge says, if of every note.
    """
    known = {
        _comparable(claim.text): claim.correct
        for claim in (labels.claims if labels else ())
        if claim.correct is not None
    }
    rows = tuple(
        ClaimRow(claim.verdict, claim.note, claim.cited, known.get(_comparable(claim.text)))
        for claim in evaluation.claims
    )
    return grounding(
        GroundingTable(rows, notes, relevant if relevant is not None else _told(evaluation))
    )


def _told(evaluation: SearchQAEvaluation) -> frozenset[int] | None:
    uses = evaluation.source_coverage
    if any(use.relevant is None for use in uses):
        return None
    return frozenset(use.note_index for use in uses if use.relevant)


def _ids(claims: Sequence[tuple[int, str]]) -> dict[str, int]:
    """The first of equal texts."""
    found: dict[str, int] = {}
    for number, text in claims:
        found.setdefault(_comparable(text), number)
    return found


def _comparable(text: str) -> str:
    """A claim without what people leave out or add when they copy one; marks inside a number or a word stay."""
    told = unicodedata.normalize("NFC", without_citations(text)).casefold()
    return " ".join(_AT_EDGES.sub("", told).split())
