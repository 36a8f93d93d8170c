"""JSON documents of `--json` that are not reports or files with their own model.

Paths are as given on the command line.  Values that were not measured are null.
"""

from typing import Any, Literal

from pydantic import Field

from gigamind.datasets.jsonl import RowError
from gigamind.evaluation.task import Checked, Estimate
from gigamind.evidence.record import AlignedRecord, AlignmentQuality, FailedRecord
from gigamind.i18n import Text
from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.loading import ConfigReport
from gigamind.records.judged import Report
from gigamind.records.schema import ErrorReport
from gigamind.release.compare import Experiment
from gigamind.release.comparison import Comparison
from gigamind.release.policy import Attempt, GateResult, Waiver
from gigamind.vault.identity import Collision


class WrittenDocument(Report):
    """A written file or folder with the counts of its content."""

    out: str
    counts: dict[str, int]


class CompareFile(Report):
    """compare.json: `comparison` and `gate` for two runs, `experiment` for the runs of `gigamind compare`.

    `messages` has id and values of each message by its English, for translation.
    """

    comparison: Comparison | None = None
    gate: GateResult | None = None
    informational: bool = False
    waiver: Waiver | None = None
    attempts: tuple[Attempt, ...] = ()
    messages: dict[str, dict[str, Any]] = Field(default={})
    experiment: Experiment | None = None


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


class RangeDocument(Report):
    """A half-open range of UTF-16 code units in a note's file."""

    start: int
    end: int


class SuggestionDocument(Report):
    """One suggested link of a note."""

    anchor: str
    anchor_range: RangeDocument
    suggested_target: str
    target_title: str
    confidence: float = Field(ge=0, le=1)
    reason: Text
    context: str
    scores: dict[str, float]
    features: NamedFeatures | MeantFeatures


class NoteDocument(Report):
    """The suggestions of one note, highest confidence first."""

    note: str
    suggestions: tuple[SuggestionDocument, ...]


def dry_run_document(checked: Checked, config: ConfigReport | None) -> DryRunDocument:
    """Return the document of a run that was only checked."""
    computed = {"estimate": checked.estimate(), "least_calls": checked.least_calls()}
    return DryRunDocument.like(checked, problems=checked.errors, config=config, **computed)
