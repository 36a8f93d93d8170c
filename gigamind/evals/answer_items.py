"""From what the models said of an answer to its line of per_item.jsonl."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_labels import grounding_of, labels_report
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.evals.model_run import ModelRun
from gigamind.reports.answer_schema import AnswerItemReport, NoteReport
from gigamind.reports.schema import ErrorReport
from gigamind.reports.search_qa import SearchQAEvaluation
from gigamind.runs.store import ItemResult


def answer_items(prepared: PreparedAnswers, run: ModelRun) -> list[AnswerItemReport]:
    """One line an answer, in the dataset's order."""
    return [answer_item(case, run.results.get(case.id)) for case in prepared.cases.values()]


def answer_item(case: EvalCase, result: ItemResult | None) -> AnswerItemReport:
    """The line of one answer; without a result, that of one that the run did not come to."""
    value: dict[str, Any] = (result.value if result else None) or {}
    told = value.get("evaluation")
    evaluation = SearchQAEvaluation.model_validate(told) if told else None
    return AnswerItemReport(
        id=case.id,
        question=case.question,
        answer=value.get("answer", case.answer),
        language=case.language,
        tags=case.tags,
        notes=tuple(NoteReport(title=n.title, path=n.path, text=n.text) for n in case.notes),
        outcome=result.outcome if result else "not_run",
        code=result.code if result else "",
        evaluation=evaluation,
        metrics=_metrics(case, evaluation) if evaluation else {},
        labels=labels_report(case.labels, evaluation),
        flipped=value.get("flipped"),
        latency_ms=result.latency_ms if result else 0.0,
    )


def failures(run: ModelRun) -> Iterator[ErrorReport]:
    """The evaluations that could not be had; their answers stand in per_item.jsonl all the same."""
    for found in run.results.values():
        if found.outcome != "scored":
            yield ErrorReport(
                kind="verdict",
                id=found.item_id,
                error=found.code,
                message=f"answer {found.item_id}: {found.message}",
            )


def _metrics(case: EvalCase, evaluation: SearchQAEvaluation) -> dict[str, float | None]:
    found = grounding_of(evaluation, len(case.notes), case.labels, case.relevant)
    return {
        "correctness": evaluation.correctness,
        "utility": evaluation.utility,
        **asdict(found),
    }
