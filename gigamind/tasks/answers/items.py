"""A judged answer as per_item.jsonl has it: its evaluation, the votes of a panel, its checks; or why it has none."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from gigamind.evaluation.costs import panel_report, unread_fields
from gigamind.evaluation.unfinished import ModelRun, unscored
from gigamind.evidence.record import record
from gigamind.evidence.result import Alignment
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.protocol import Verdict as JudgeVerdict
from gigamind.judges.search_qa.judged import ClaimVerdict, JudgedClaim
from gigamind.judges.search_qa.judgement import Judgement, PanelOfAnswer
from gigamind.records.judged import PanelReport, ProofReport, SecondLookReport, VerdictReport
from gigamind.records.schema import ErrorReport
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.spans import Utf16
from gigamind.tasks.answers.case import SYSTEM_ROLE, EvalCase
from gigamind.tasks.answers.checklist import GATE_ROLE
from gigamind.tasks.answers.labels import grounding_of, labels_report
from gigamind.tasks.answers.quality import QualityReport
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    AnswerVoteReport,
    ContextReport,
    EvaluatedAside,
    EvaluatedClaim,
    EvaluatedOmission,
    LabelsReport,
    NoteReport,
    SearchQAEvaluation,
    SourceCoverage,
    SourceSentence,
)
from gigamind.wording import Language

_Issue = ClaimVerdict | Literal["other_words", "otherwise"]
_ISSUES: dict[Language, dict[_Issue, str]] = {
    "ko": {
        "not_found": "‘{}’ — 노트에 없는 내용입니다.",
        "other_words": "‘{}’ — 노트에 이런 낱말로 된 문장이 없습니다.",
        "otherwise": "‘{}’ — 노트의 가장 가까운 문장은 이대로 말하지 않습니다.",
        "contradicted": "‘{}’ — 노트의 내용과 다릅니다.",
        "unverified": "‘{}’ — 근거로 든 인용이 뒷받침하지 못합니다.",
    },
    "en": {
        "not_found": "“{}” — not in the notes.",
        "other_words": "“{}” — no sentence of the notes has these words.",
        "otherwise": "“{}” — the nearest sentence of the notes does not say it so.",
        "contradicted": "“{}” — the notes say otherwise.",
        "unverified": "“{}” — the quote given for it does not support it.",
    },
}
_KINDS: dict[str, tuple[Literal["check", "item"], str]] = {
    GATE_ROLE: ("check", "checklist of answer"),
    SYSTEM_ROLE: ("item", "question"),
}
Kept = TypeVar("Kept", bound=BaseModel)
_SILENT: dict[Language, str] = {"ko": "답변이 비어 있습니다.", "en": "The answer is empty."}


def evaluation_of(judgement: Judgement, case: AnswerCase, language: Language) -> SearchQAEvaluation:
    """A judgement as JSON has it."""
    answer = Utf16(case.answer)
    notes = [Utf16(note.text) for note in case.notes]
    return SearchQAEvaluation.like(
        judgement,
        source_coverage=tuple(
            SourceCoverage.model_validate(use, from_attributes=True) for use in judgement.coverage
        ),
        grounding_issues=grounding_issues(judgement, language),
        summary=judgement.summary or ("" if judgement.sentences else _SILENT[language]),
        claims=tuple(_claim(claim, answer, notes) for claim in judgement.claims),
        asides=tuple(
            EvaluatedAside.like(sentence, **_place(sentence, answer))
            for sentence in judgement.sentences
            if sentence.role != "claim"
        ),
        omissions=tuple(
            EvaluatedOmission.like(omission, evidence=_evidence(omission.evidence, notes))
            for omission in judgement.omissions
        ),
        flagged=dict(judgement.flagged),
        second_look=SecondLookReport.like(trial, believed=trial.is_passed)
        if (trial := judgement.trial)
        else None,
    )


def grounding_issues(judgement: Judgement, language: Language) -> tuple[str, ...]:
    """A sentence for each claim that is not supported, in the order of the answer."""
    said = _ISSUES[language]
    return tuple(
        said[_issue(judged)].format(judged.claim.piece.text)
        for judged in judgement.claims
        if judged.verdict != "supported"
    )


def _issue(judged: JudgedClaim) -> _Issue:
    """What is the matter; that a claim is not in the notes is nothing that words alone can tell."""
    if judged.told is not None or judged.verdict != "not_found":
        return judged.verdict
    return "other_words" if judged.doubt in {None, "little_in_common"} else "otherwise"


def _claim(judged: JudgedClaim, answer: Utf16, notes: list[Utf16]) -> EvaluatedClaim:
    piece = judged.claim.piece
    return EvaluatedClaim.like(
        judged,
        **_place(judged, answer),
        cited=piece.cited,
        evidence=None if judged.evidence is None else _evidence(judged.evidence, notes),
        cut=piece.cut,
        source=SourceSentence.like(judged.passage) if judged.passage else None,
        share=judged.support.share if judged.support else None,
    )


def _place(judged: JudgedClaim, answer: Utf16) -> dict[str, Any]:
    """What every sentence has."""
    piece = judged.claim.piece
    start, end = answer.span_from_code_points(piece.span)
    return {
        "id": judged.claim.id,
        "text": piece.text,
        "start": piece.span.start,
        "end": piece.span.end,
        "utf16_start": start,
        "utf16_end": end,
    }


def _evidence(place: Alignment, notes: list[Utf16]) -> dict[str, Any]:
    index = place.quote.source_index
    return dict(record(place, notes[index] if 0 <= index < len(notes) else Utf16("")))


def votes_of(asked: PanelOfAnswer) -> tuple[AnswerVoteReport, ...]:
    """The votes of the seats, those that gave none last."""
    whole = asked.judgement.claims if asked.judgement else ()
    counted = {claim.claim.id for claim in whole}
    given = [
        AnswerVoteReport.like(
            seat,
            correctness=judgement.correctness,
            utility=judgement.utility,
            verdicts=tuple(
                sentence.verdict if sentence.role == "claim" else "no_claim"
                for sentence in judgement.sentences
                if sentence.claim.id in counted
            ),
        )
        for seat, judgement in asked.by_member.items()
    ]
    lost = (AnswerVoteReport.like(seat, code=error.code) for seat, error in asked.errors.items())
    return (*given, *lost)


def answer_panel(items: Sequence[AnswerItemReport], seed: int) -> PanelReport | None:
    """How far a panel agreed on correctness, or on utility where there is no claim; None where none voted."""
    return panel_report(
        ((item.votes, item.code) for item in items),
        "interval",
        _graded,
        lambda vote: (vote.verdicts, vote.utility),
        seed=seed,
    )


def _graded(vote: AnswerVoteReport) -> float:
    graded = vote.utility if vote.correctness is None else vote.correctness
    return 0.0 if graded is None else graded


def written(verdict: JudgeVerdict[Any], case: AnswerCase) -> dict[str, Any]:
    """What a run keeps of a verdict, as JSON values."""
    panel = verdict.detail
    if not isinstance(panel, PanelOfAnswer):
        return {"verdict": _own(verdict).model_dump(mode="json") if verdict.scores else None}
    language: Language = "ko" if case.language == "ko" else "en"
    evaluation = evaluation_of(panel.judgement, case, language) if panel.judgement else None
    return {
        "evaluation": evaluation.model_dump(mode="json") if evaluation else None,
        "votes": [vote.model_dump(mode="json") for vote in votes_of(panel)],
    }


def _own(verdict: JudgeVerdict[Any]) -> VerdictReport:
    return VerdictReport.like(
        verdict,
        proof=tuple(
            ProofReport.model_validate(proof, from_attributes=True) for proof in verdict.proof
        ),
        flagged={number: tuple(flags) for number, flags in verdict.flags.items()},
    )


def answer_items(cases: Iterable[EvalCase], run: ModelRun) -> list[AnswerItemReport]:
    """One line an answer, in their order."""
    results = run.results
    return [
        answer_item(
            case,
            results.get(ItemKey(case.id)),
            results.get(ItemKey(case.id, GATE_ROLE)),
            results.get(ItemKey(case.id, SYSTEM_ROLE)),
        )
        for case in cases
    ]


def answer_item(
    case: EvalCase,
    result: ItemResult | None,
    check: ItemResult | None = None,
    asked: ItemResult | None = None,
) -> AnswerItemReport:
    """The line of one answer; without a result, that of one that the run did not come to.

    Args:
        check: by the checklist; None where none was asked for, or where the run did not come to it.
        asked: what the system answered; None where none was asked, or where the run did not come to it.
    """
    value: dict[str, Any] = (result.value if result else None) or {}
    checked: dict[str, Any] = (check.value if check else None) or {}
    evaluation = _read(SearchQAEvaluation, value.get("evaluation"))
    own = _read(VerdictReport, value.get("verdict"))
    texts = [note.text for note in case.notes]
    labels = labels_report(case.labels, evaluation, texts, case.references if case.given else None)
    outcome = result.outcome if result else _unjudged(asked)
    if outcome == "scored" and not (evaluation or own):
        outcome = "without_context"
    return AnswerItemReport.like(
        case,
        answer=value.get("answer", checked.get("answer", case.answer)),
        notes=tuple(NoteReport.model_validate(note, from_attributes=True) for note in case.notes),
        outcome=outcome,
        code=result.code if result else asked.code if asked else "",
        evaluation=evaluation,
        metrics=_metrics(case, evaluation, labels)
        if evaluation
        else dict(own.scores)
        if own
        else {},
        labels=labels,
        flipped=value.get("flipped"),
        quality=_read(QualityReport, checked.get("quality")),
        quality_code=check.code if check else "",
        votes=tuple(AnswerVoteReport.model_validate(vote) for vote in value.get("votes", ())),
        verdict=own,
        unread=unread_fields([item_result for item_result in (result, check) if item_result]),
        latency_ms=result.latency_ms if result else 0.0,
        **_given(case),
    )


def _unjudged(asked: ItemResult | None) -> Literal["unanswered", "not_run"]:
    return "unanswered" if asked and asked.value is None else "not_run"


def _given(case: EvalCase) -> dict[str, Any]:
    """What a system says of its answer."""
    given = case.given
    if given is None:
        return {}
    pairs = zip(given.contexts, case.notes, strict=True)
    return {
        "contexts": tuple(
            ContextReport(note=context.note, score=context.base_score, known=bool(note.text))
            for context, note in pairs
        ),
        "oddities": dict(given.oddities),
        "system_latency_ms": given.latency_ms,
    }


def _read(model: type[Kept], kept: dict[str, Any] | None) -> Kept | None:
    """What a run kept; None where it has none."""
    return model.model_validate(kept) if kept else None


def failures(run: ModelRun) -> list[ErrorReport]:
    """The evaluations and checks that could not be had; their answers stand in per_item.jsonl all the same."""
    return unscored(run, lambda key: _KINDS.get(key.part, ("verdict", "answer")))


def _metrics(
    case: EvalCase, evaluation: SearchQAEvaluation, labels: LabelsReport | None
) -> dict[str, float | None]:
    facts = labels.facts if labels else ()
    grounding = grounding_of(evaluation, len(case.notes), case.labels, facts, case.relevant)
    return {
        "correctness": evaluation.correctness,
        "utility": evaluation.utility,
        **grounding,
    }
