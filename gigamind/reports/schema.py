"""The files of an out folder as models: what is written is what can be read back.

Names are the seed's (section 6.1), snake_case; what it has not is added beside its fields.  Offsets are UTF-16 code
units, half-open, in the note's file.  A figure that could not be measured is null, never 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gigamind.llm.ledger import Attempt
from gigamind.reports.cards.requirements import HeldCard
from gigamind.reports.judged import JudgementReport, JudgeReport, LlmReport

SCHEMA_VERSION = "1.0"

TaskName = Literal["search", "links", "answers"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PassageReport(_Report):
    """A piece of a note; `utf16_start` and `utf16_end` index its file as JavaScript's `slice` does."""

    note: str
    utf16_start: Count
    utf16_end: Count
    text: str


class HitReport(_Report):
    """One note of a ranking: its scores, its best chunk, and the sentence in it that speaks to the query."""

    note: str
    base_score: Share
    final_score: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    semantic_score: Share | None
    keyword_score: Share | None
    chunk: PassageReport
    evidence: PassageReport


class ItemReport(_Report):
    """One line of per_item.jsonl.

    Attributes:
        judged_unanswerable: null where the judge gave no verdict.
        answerable_score: what the judge holds against its setting; null for a judge without one, or without a hit.
        judgement: what a model told, where one was asked.
        metrics: by name, as in the summary; empty for an unanswerable query, null where not measured.
        latency_ms: wall time of its retrieval.
    """

    id: str
    query: str
    language: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    cross_lingual: bool
    answerable: bool
    expected_notes: tuple[str, ...]
    expected_spans: tuple[PassageReport, ...]
    ranking: tuple[HitReport, ...]
    judged_unanswerable: bool | None
    top_base_score: Share | None
    answerable_score: Share | None = None
    judgement: JudgementReport | None = None
    metrics: dict[str, float | None]
    latency_ms: Milliseconds


class ErrorReport(_Report):
    """One line of errors.jsonl.

    Attributes:
        kind: a dataset row that could not be used, an item that could not be evaluated, or a verdict or a check by the
            checklist that could not be had, of an item that stands in per_item.jsonl all the same.
        error: class of the error; the code of its reason where a model gave no verdict.
    """

    kind: Literal["row", "item", "verdict", "check"]
    line: int | None = None
    id: str | None = None
    field: str | None = None
    error: str
    message: str


class IntervalReport(_Report):
    """A 95 % interval and the number of items behind its figure."""

    low: float | None
    high: float | None
    n: Count


class SliceCounts(_Report):
    """How many evaluated queries a slice holds."""

    queries: Count
    answerable: Count
    unanswerable: Count


class SliceReport(_Report):
    """The figures of some queries.

    Attributes:
        search: means over answerable queries, and latency percentiles over all, in milliseconds.
        unanswerable: precision, recall, f1, far; unanswerable is the positive class.
        intervals: by "search.<metric>" and "unanswerable.<metric>".
    """

    counts: SliceCounts
    search: dict[str, float | None]
    unanswerable: dict[str, float | None]
    intervals: dict[str, IntervalReport]


class Performance(_Report):
    """Times of a run in milliseconds.

    Attributes:
        cold_start_ms: from the first read of dataset and vault to a retriever that is ready, without any cache; null in
            a run that could use one.
        indexing_ms: the same, whatever the cache gave.
        eval_runtime_ms: wall time of all queries, warm-up apart.
        latency_method: what a latency is and how its percentiles are taken.
    """

    cold_start_ms: Milliseconds | None
    indexing_ms: Milliseconds
    eval_runtime_ms: Milliseconds
    latency_method: str


class RunCounts(_Report):
    """What became of the dataset's rows and of the vault.

    Attributes:
        queries_total: evaluated queries, answerable and unanswerable together.
        rows_rejected: rows of the dataset that could not be used (errors.jsonl).
        rows_not_sampled: usable rows that `--sample` left out.
        queries_failed: queries whose evaluation failed (errors.jsonl).
        queries_not_run: queries that an interrupted run did not come to.
    """

    queries_total: Count
    queries_answerable: Count
    queries_unanswerable: Count
    rows_rejected: Count
    rows_not_sampled: Count
    queries_failed: Count
    queries_not_run: Count
    notes: Count


class SummaryReport(_Report):
    """summary.json.

    Attributes:
        llm: what asking a model cost; null where none was asked.
    """

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    task: Literal["search"] = "search"
    status: Literal["complete", "interrupted"]
    counts: RunCounts
    overall: SliceReport
    by_language: dict[str, SliceReport]
    cross_lingual: SliceReport | None
    by_tag: dict[str, SliceReport]
    by_difficulty: dict[str, SliceReport]
    performance: Performance
    llm: LlmReport | None = None


class Environment(_Report):
    """What ran: versions of everything that may change a figure."""

    app_version: str
    git_commit: str | None
    python_version: str
    embedding_model: str | None
    rag_schema_version: str
    packages: dict[str, str]


class Hardware(_Report):
    """What it ran on; `hash` names the kind of machine, for speed is only comparable on the same kind."""

    cpu: str
    cores: Count
    memory_gib: float
    system: str
    hash: str


class RunReport(_Report):
    """run.json.

    Attributes:
        judge: null where nothing is judged.
    """

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    run_id: str
    created_at: str
    task: TaskName = "search"
    status: Literal["complete", "interrupted"]
    dataset: str
    dataset_hash: str
    notes: str
    notes_hash: str
    notes_hash_mode: Literal["content", "mtime"]
    options: dict[str, object]
    judge: JudgeReport | None = None
    environment: Environment
    hardware: Hardware
    warnings: tuple[str, ...]


Summary = TypeVar("Summary")
Line = TypeVar("Line")


@dataclass(
    frozen=True
)  # no slots: Python 3.11 cannot make a generic class that has both from an alias
class Record(Generic[Summary, Line]):
    """Everything that one out folder holds, whatever the task; `run.task` tells which.

    Attributes:
        items: per_item.jsonl, in the dataset's order.
        errors: errors.jsonl, rows first.
        attempts: attempts.jsonl; None where no model was asked.
        llm: what that cost; summary.json has it too.
        card: of the judge, where one was given; it may be another judge's.
    """

    run: RunReport
    summary: Summary
    items: Sequence[Line]
    errors: Sequence[ErrorReport]
    attempts: Sequence[Attempt] | None = None
    llm: LlmReport | None = None
    card: HeldCard | None = None


RunRecord: TypeAlias = Record[SummaryReport, ItemReport]
