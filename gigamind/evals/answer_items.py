"""From what the models said of an answer to its line of per_item.jsonl."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_checklist import check_key, checked_id
from gigamind.evals.answer_labels import grounding_of, labels_report
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.evals.model_run import ModelRun
from gigamind.reports.answer_schema import AnswerItemReport, AnswerVoteReport, NoteReport
from gigamind.reports.quality_schema import QualityReport
from gigamind.reports.schema import ErrorReport
from gigamind.reports.search_qa import SearchQAEvaluation
from gigamind.runs.store import ItemResult


def answer_items(prepared: PreparedAnswers, run: ModelRun) -> list[AnswerItemReport]:
    """One line an answer, in the dataset's order."""
    results = run.results
    return [
        answer_item(case, results.get(case.id), results.get(check_key(case.id)))
        for case in prepared.cases.values()
    ]


def answer_item(
    case: EvalCase, result: ItemResult | None, check: ItemResult | None = None
) -> AnswerItemReport:
    """The line of one answer; without a result, that of one that the run did not come to.

    Args:
        check: by the checklist; None where none was asked for, or where the run did not come to it.
    """
    value: dict[str, Any] = (result.value if result else None) or {}
    told = value.get("evaluation")
    checked: dict[str, Any] = (check.value if check else None) or {}
    evaluation = SearchQAEvaluation.model_validate(told) if told else None
    return AnswerItemReport(
        id=case.id,
        question=case.question,
        answer=value.get("answer", checked.get("answer", case.answer)),
        language=case.language,
        tags=case.tags,
        notes=tuple(NoteReport(title=n.title, path=n.path, text=n.text) for n in case.notes),
        outcome=result.outcome if result else "not_run",
        code=result.code if result else "",
        evaluation=evaluation,
        metrics=_metrics(case, evaluation) if evaluation else {},
        labels=labels_report(case.labels, evaluation),
        flipped=value.get("flipped"),
        quality=QualityReport.model_validate(checked["quality"]) if checked else None,
        quality_code=check.code if check else "",
        votes=tuple(AnswerVoteReport.model_validate(one) for one in value.get("votes", ())),
        latency_ms=result.latency_ms if result else 0.0,
    )


def failures(run: ModelRun) -> Iterator[ErrorReport]:
    """The evaluations and checks that could not be had; their answers stand in per_item.jsonl all the same."""
    for found in run.results.values():
        if found.outcome != "scored":
            checked = checked_id(found.item_id)
            what = "answer" if checked is None else "checklist of answer"
            name = found.item_id if checked is None else checked
            yield ErrorReport(
                kind="verdict" if checked is None else "check",
                id=name,
                error=found.code,
                message=f"{what} {name}: {found.message}",
            )


def _metrics(case: EvalCase, evaluation: SearchQAEvaluation) -> dict[str, float | None]:
    found = grounding_of(evaluation, len(case.notes), case.labels, case.relevant)
    return {
        "correctness": evaluation.correctness,
        "utility": evaluation.utility,
        **asdict(found),
    }
