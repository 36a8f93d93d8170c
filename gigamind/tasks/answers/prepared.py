"""What an answer run works on: its cases, its judge, and once a system was asked, what that answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gigamind.evaluation.inputs import PreparedInput
from gigamind.interop.ranking import RankedNote
from gigamind.judges.protocol import AnswerCase, Judge
from gigamind.judges.spec import Chosen
from gigamind.records.schema import SystemReport
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.tasks.answers.case import SYSTEM_ROLE, EvalCase, Given
from gigamind.tasks.answers.checklist import Gate
from gigamind.tasks.answers.contexts import ContextReader
from gigamind.tasks.answers.options import AnswerEvalOptions


@dataclass(frozen=True, slots=True)
class PreparedAnswers(PreparedInput):
    """Valid input of one run.

    Attributes:
        cases: by id, in the dataset's order.
        notes: how many the vault has; 0 without a vault.
        gate: of the checklists; None without `--checklist`.
        embedding_model: of the search that found the context; None where nothing was searched with vectors.
        system: what answers; None where the dataset, or a model, does.
        contexts: reads what it says its answers rest on.
    """

    options: AnswerEvalOptions
    judge: Chosen[Judge[AnswerCase, Any]]
    cases: Mapping[str, EvalCase]
    notes: int
    embedding_model: str | None = None
    gate: Gate | None = None
    system: SystemReport | None = None
    contexts: ContextReader | None = None


def with_answers(
    prepared: PreparedAnswers, results: Mapping[ItemKey, ItemResult]
) -> PreparedAnswers:
    """With the answers of a system among the results of a run; as it is where none answers."""
    reader = prepared.contexts
    if reader is None:
        return prepared
    cases = {
        name: _answered(case, answer, reader)
        if (answer := results.get(ItemKey(name, SYSTEM_ROLE))) and answer.value
        else case
        for name, case in prepared.cases.items()
    }
    return replace(prepared, cases=cases)


def _answered(case: EvalCase, result: ItemResult, reader: ContextReader) -> EvalCase:
    contexts = tuple(
        RankedNote(context["note"], context["base_score"], context["text"], _pair(context["place"]))
        for context in result.value["contexts"]
    )
    notes, odd = reader.read(contexts)
    relevant = None
    if case.expected is not None:
        numbered = enumerate(notes, start=1)
        relevant = frozenset(number for number, note in numbered if note.path in case.expected)
    return replace(
        case,
        answer=result.value["answer"],
        notes=notes,
        relevant=relevant,
        given=Given(contexts, {**result.value["oddities"], **odd}, result.latency_ms or None),
    )


def _pair(place: Sequence[int] | None) -> tuple[int, int] | None:
    return (place[0], place[1]) if place else None
