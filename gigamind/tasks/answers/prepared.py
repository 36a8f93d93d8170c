"""The input of an answer run: its cases, its judge, and the answers of a system once there are any."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gigamind.evaluation.inputs import PreparedInput
from gigamind.interop.ranking import RankedNote
from gigamind.judges.protocol import AnswerCase, Judge
from gigamind.judges.spec import Chosen
from gigamind.records.schema import SystemReport
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.tasks.answers.case import SYSTEM_ROLE, EvalCase, SystemAnswer
from gigamind.tasks.answers.checklist import Gate
from gigamind.tasks.answers.contexts import ContextReader
from gigamind.tasks.answers.options import AnswerEvalOptions


@dataclass(frozen=True, slots=True)
class PreparedAnswers(PreparedInput):
    """Valid input of one run."""

    options: AnswerEvalOptions
    judge: Chosen[Judge[AnswerCase, Any]]
    cases: Mapping[str, EvalCase]  # by id, in dataset order
    notes: int  # number of notes in the vault; 0 without a vault
    # Embedder of the search for context; None without a vector search.
    embedding_model: str | None = None
    gate: Gate | None = None  # quality gate of the checklist; None without `--checklist`
    # The system that answers; None if the answers are in the dataset or a model generates them.
    system: SystemReport | None = None
    # Reads the contexts that the system returns with its answers.
    contexts: ContextReader | None = None


def with_answers(
    prepared: PreparedAnswers, results: Mapping[ItemKey, ItemResult]
) -> PreparedAnswers:
    """Add the answers of a system, if there is one, from the results of a run."""
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
        RankedNote(**context | {"place": context["place"] and tuple(context["place"])})
        for context in result.value["contexts"]
    )
    notes, oddities = reader.read(contexts)
    relevant = None
    if case.expected is not None:
        numbered = enumerate(notes, start=1)
        relevant = frozenset(number for number, note in numbered if note.path in case.expected)
    return replace(
        case,
        answer=result.value["answer"],
        notes=notes,
        relevant=relevant,
        response=SystemAnswer(
            contexts, {**result.value["oddities"], **oddities}, result.latency_ms or None
        ),
    )
