"""JSON documents of `--json` that are not reports or files with their own model.

Paths are as given on the command line.  Values that were not measured are null.
"""

from typing import Generic, Literal, TypeVar

from gigamind.datasets.jsonl import RowError
from gigamind.evaluation.task import Estimate
from gigamind.evidence.quality import AlignmentQuality
from gigamind.evidence.result import AlignedRecord, FailedRecord
from gigamind.i18n import Text
from gigamind.loading import ConfigReport
from gigamind.records.judged import Report
from gigamind.records.schema import ErrorReport
from gigamind.release.comparison import Comparison
from gigamind.release.policy import GateResult
from gigamind.vault.identity import Collision

_Summary = TypeVar("_Summary", bound=Report)


class DryRunDocument(Report):
    """An evaluation with `--dry-run`: `estimate` is the expected work of the run without stored results.

    Attributes:
        notes_hash: "" without a vault.
        least_calls: smallest `--max-calls` that judges one item completely; 0 if no model is used.
    """

    ready: Text
    dataset_hash: str
    notes_hash: str
    problems: tuple[ErrorReport, ...]
    warnings: tuple[Text, ...]
    estimate: tuple[Estimate, ...]
    least_calls: int
    config: ConfigReport | None


class DatasetCheckDocument(Report):
    """The result of `gigamind dataset check`; `stops` is why an evaluation would stop, null if it would not."""

    dataset: str
    rows: int
    usable: int
    problems: tuple[RowError, ...]
    warnings: tuple[Text, ...]
    collisions: tuple[Collision, ...]
    stops: Text | None


class SourceDocument(Report):
    """One source of quotes."""

    index: int
    name: str
    sha256: str
    chars: int


class AlignDocument(Report):
    """The result of `gigamind align`; `quality` is null without quotes."""

    schema_version: Literal[1] = 1
    sources: tuple[SourceDocument, ...]
    results: tuple[AlignedRecord | FailedRecord, ...]
    quality: AlignmentQuality | None


class RefusalDocument(Report):
    """Why a written run does not count as a result, in English, with its exit code."""

    exit_code: int
    message: str


class EvaluationDocument(Report, Generic[_Summary]):
    """A finished or interrupted evaluation.

    Attributes:
        comparison, gate: null without a comparison, but `gate` has the floors and ceilings of --gates if there are any.
        refused: null if the run counts as a result.
    """

    out: str
    summary: _Summary
    comparison: Comparison | None
    gate: GateResult | None
    refused: RefusalDocument | None
