"""Writes a judgement of an answer as reports and services have it."""

from typing import Any

from gigamind.evidence.record import record
from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import Judgement
from gigamind.judges.search_qa.verify import JudgedClaim, Verdict
from gigamind.judges.spec import Language
from gigamind.reports.search_qa import EvaluatedClaim, SearchQAEvaluation, SourceCoverage
from gigamind.spans import Utf16

_ISSUES: dict[Language, dict[Verdict, str]] = {
    "ko": {
        "not_found": "‘{}’ — 노트에 없는 내용입니다.",
        "contradicted": "‘{}’ — 노트의 내용과 다릅니다.",
        "unverified": "‘{}’ — 근거로 든 인용을 노트에서 확인할 수 없습니다.",
    },
    "en": {
        "not_found": "“{}” — not in the notes.",
        "contradicted": "“{}” — the notes say otherwise.",
        "unverified": "“{}” — the quote given for it does not prove it.",
    },
}
_SILENT: dict[Language, str] = {"ko": "답변이 비어 있습니다.", "en": "The answer is empty."}


def evaluation_of(judgement: Judgement, case: AnswerCase, language: Language) -> SearchQAEvaluation:
    """A judgement as JSON has it."""
    answer = Utf16(case.answer)
    notes = [Utf16(note.text) for note in case.notes]
    return SearchQAEvaluation(
        correctness=judgement.correctness,
        utility=judgement.utility,
        confidence=judgement.confidence,
        source_coverage=tuple(
            SourceCoverage(
                note_index=one.note_index,
                note_title=one.note_title,
                cited=one.cited,
                relevant_claim=one.relevant_claim,
                relevant=one.relevant,
                marked=one.marked,
            )
            for one in judgement.coverage
        ),
        grounding_issues=grounding_issues(judgement, language),
        summary=judgement.summary or ("" if judgement.pieces else _SILENT[language]),
        outcome=judgement.outcome,
        claims=tuple(_claim(one, answer, notes) for one in judgement.claims),
        abstains=judgement.abstains,
        answerable=judgement.answerable,
        told_answerable=judgement.told_answerable,
        reported_correctness=judgement.reported_correctness,
        reported_utility=judgement.reported_utility,
        utility_reason=judgement.utility_reason,
        reported_issues=judgement.reported_issues,
        flagged=dict(judgement.flagged),
    )


def grounding_issues(judgement: Judgement, language: Language) -> tuple[str, ...]:
    """A sentence for each claim that is not supported, in the order of the answer."""
    said = _ISSUES[language]
    return tuple(
        said[one.verdict].format(one.claim.piece.text)
        for one in judgement.claims
        if one.verdict != "supported"
    )


def _claim(one: JudgedClaim, answer: Utf16, notes: list[Utf16]) -> EvaluatedClaim:
    piece = one.claim.piece
    start, end = answer.span_from_code_points(piece.span)
    return EvaluatedClaim(
        id=one.claim.id,
        text=piece.text,
        start=piece.span.start,
        end=piece.span.end,
        utf16_start=start,
        utf16_end=end,
        cited=piece.cited,
        told=one.told,
        verdict=one.verdict,
        note=one.note,
        doubt=one.doubt,
        new_numbers=one.new_numbers,
        evidence=_evidence(one, notes),
        cut=piece.cut,
        cautions=one.cautions,
    )


def _evidence(one: JudgedClaim, notes: list[Utf16]) -> dict[str, Any] | None:
    if one.evidence is None:
        return None
    index = one.evidence.quote.source_index
    return dict(record(one.evidence, notes[index] if 0 <= index < len(notes) else Utf16("")))
