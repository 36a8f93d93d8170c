"""The JSON document of an evaluation; not in `documents.py`, which imports much that a run does not need."""

from typing import Any, Generic, TypeVar

from gigamind.errors import GigamindError
from gigamind.evaluation.finish import Evaluated
from gigamind.records.judged import Report
from gigamind.release.comparison import Comparison
from gigamind.release.policy import GateResult

Summary = TypeVar("Summary", bound=Report)


class RefusalDocument(Report):
    """Why a written run does not count as a result, in English, with its exit code."""

    exit_code: int
    message: str


class EvaluationDocument(Report, Generic[Summary]):
    """A finished or interrupted evaluation.

    Attributes:
        comparison, gate: null without a comparison, but `gate` has the floors and ceilings of --gates if there are any.
        refused: null if the run counts as a result.
    """

    out: str
    summary: Summary
    comparison: Comparison | None
    gate: GateResult | None
    refused: RefusalDocument | None


def evaluation_document(
    finished: Evaluated[Any], refused: GigamindError | None = None, bounds: GateResult | None = None
) -> EvaluationDocument[Any]:
    """Return the document of a run."""
    verdict = finished.verdict
    return EvaluationDocument[Any](
        out=str(finished.out),
        summary=finished.summary,
        comparison=verdict.comparison if verdict else None,
        gate=verdict.gate if verdict else bounds,
        refused=RefusalDocument(exit_code=refused.exit_code, message=str(refused))
        if refused
        else None,
    )
