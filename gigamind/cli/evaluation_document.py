"""What an evaluation prints with `--json`: apart from `documents.py`, which imports much that a run does without."""

from typing import Any, Generic, TypeVar

from gigamind.errors import GigamindError
from gigamind.evaluation.finish import Evaluated
from gigamind.records.judged import Report
from gigamind.release.comparison import Comparison
from gigamind.release.policy import GateResult

Summary = TypeVar("Summary", bound=Report)


class RefusalDocument(Report):
    """Why a run that was written is no result all the same, in English, and the exit code that says so, too."""

    exit_code: int
    message: str


class EvaluationDocument(Report, Generic[Summary]):
    """Of a finished or interrupted evaluation.

    Attributes:
        summary: what summary.json holds.
        comparison, gate: what compare.json holds; null where the run was compared with nothing.
        refused: null where the run is a result.
    """

    out: str
    summary: Summary
    comparison: Comparison | None
    gate: GateResult | None
    refused: RefusalDocument | None


def evaluation_document(
    finished: Evaluated[Any], refused: GigamindError | None = None
) -> EvaluationDocument[Any]:
    """What is told of a run."""
    verdict = finished.verdict
    return EvaluationDocument[Any](
        out=str(finished.out),
        summary=finished.summary,
        comparison=verdict.comparison if verdict else None,
        gate=verdict.gate if verdict else None,
        refused=RefusalDocument(exit_code=refused.exit_code, message=str(refused))
        if refused
        else None,
    )
