"""What commands print with `--json`, where it is no report or file that has a model already.

Paths are as they were given; what was not measured is null.
"""

from typing import Literal

from pydantic import Field

from gigamind.datasets.row_errors import RowError
from gigamind.errors import LlmCode
from gigamind.evaluation.task import Checked, Estimate
from gigamind.evidence.record import AlignedRecord, AlignmentQuality, FailedRecord
from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.loading import ConfigReport
from gigamind.records.judged import Report
from gigamind.records.schema import ErrorReport
from gigamind.release.comparison import Comparison
from gigamind.release.experiment import Experiment
from gigamind.release.policy import GateResult
from gigamind.vault.identity import Collision


class WrittenDocument(Report):
    """Of a command that writes a file or a folder: what is in it, counted."""

    out: str
    counts: dict[str, int]


class CompareFile(Report):
    """compare.json: `comparison` and `gate` of two runs, `experiment` of two or more that `compare` was given."""

    comparison: Comparison | None = None
    gate: GateResult | None = None
    experiment: Experiment | None = None


class DryRunDocument(Report):
    """Of an evaluation with `--dry-run`.

    Attributes:
        ready: how much there is to evaluate, in a few words.
        notes_hash: "" without a vault.
        estimate: what the run would need, were it the first.
        least_calls: a `--max-calls` that is enough to judge one item whole; 0 where no model is asked.
        config: where some of the options came from a file.
    """

    ready: str
    dataset_hash: str
    notes_hash: str
    problems: tuple[ErrorReport, ...]
    warnings: tuple[str, ...]
    estimate: tuple[Estimate, ...]
    least_calls: int
    config: ConfigReport | None


class DatasetCheckDocument(Report):
    """Of `gigamind dataset check`.

    Attributes:
        rows: all of the file.
        usable: those without a problem.
        stops: why an evaluation would stop; null where it would not, or no vault was given.
    """

    dataset: str
    rows: int
    usable: int
    problems: tuple[RowError, ...]
    warnings: tuple[str, ...]
    collisions: tuple[Collision, ...]
    stops: str | None


class SourceDocument(Report):
    """One source of quotes."""

    index: int
    name: str
    sha256: str
    chars: int


class AlignDocument(Report):
    """Of `gigamind align`; `quality` is null where there were no quotes."""

    schema_version: Literal[1] = 1
    sources: tuple[SourceDocument, ...]
    results: tuple[AlignedRecord | FailedRecord, ...]
    quality: AlignmentQuality | None


class RangeDocument(Report):
    """UTF-16 code units of a note's file, half-open."""

    start: int
    end: int


class SuggestionDocument(Report):
    """One link that a note could have."""

    anchor: str
    anchor_range: RangeDocument
    suggested_target: str
    target_title: str
    confidence: float = Field(ge=0, le=1)
    reason: str
    context: str
    scores: dict[str, float]
    features: NamedFeatures | MeantFeatures


class NoteDocument(Report):
    """The suggestions of one note, the most confident first."""

    note: str
    suggestions: tuple[SuggestionDocument, ...]


class CheckedCase(Report):
    """One small case that a model was asked about; `read` is empty where it failed."""

    judge: str
    language: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    read: str
    dropped: dict[str, int]
    code: LlmCode | None
    error: str | None


class ModelCheckDocument(Report):
    """Of `gigamind llm check`.

    Attributes:
        prompt_usd, completion_usd: a million tokens; null without a price.
        latency_ms: of one short call; null where no answer came.
        advice: what to do; null where every case was read.
    """

    model: str
    api_base: str | None
    structured: str
    prompt_usd: float | None
    completion_usd: float | None
    latency_ms: float | None
    error: str | None
    cases: tuple[CheckedCase, ...]
    advice: str | None


def dry_run_document(checked: Checked, config: ConfigReport | None) -> DryRunDocument:
    """What is told of a run that was only checked."""
    return DryRunDocument(
        ready=checked.ready,
        dataset_hash=checked.dataset_hash,
        notes_hash=checked.notes_hash,
        problems=tuple(checked.errors),
        warnings=tuple(checked.warnings),
        estimate=tuple(checked.estimate()),
        least_calls=checked.least_calls(),
        config=config,
    )
