"""The files of an out folder as models: what is written is what can be read back.

Names are the seed's (section 6.1), snake_case; what it has not is added beside its fields.  Offsets are UTF-16 code
units, half-open, in the note's file.  A figure that could not be measured is null, never 0.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

from pydantic import Field, computed_field, model_validator

from gigamind.choices import TaskName
from gigamind.i18n import Message, Text, from_json
from gigamind.llm.ledger import Attempt
from gigamind.loading import ConfigReport
from gigamind.records.card import HeldCard
from gigamind.records.judged import Count, Finite, JudgeReport, LlmReport, Report
from gigamind.stats.estimate import Estimate

SCHEMA_VERSION = "1.0"
RUN_ID_FORMAT = "%Y%m%d-%H%M%S"  # local time, of the start

Milliseconds = Annotated[Finite, Field(ge=0)]


class PassageReport(Report):
    """A piece of a note; `utf16_start` and `utf16_end` index its file as JavaScript's `slice` does."""

    note: str
    utf16_start: Count
    utf16_end: Count
    text: str


class ErrorReport(Report):
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
    message: Text

    @computed_field
    @property
    def message_parts(self) -> dict[str, Any] | None:
        """The message's id and values, of which another language is made; null for third-party text."""
        return self.message.as_json() if isinstance(self.message, Message) else None

    @model_validator(mode="before")
    @classmethod
    def _restore(cls, data: object) -> object:
        return _restored(data, "message", "message_parts")


def _restored(data: object, texts: str, parts: str) -> object:
    """Return the fields of a report that was read, with the messages of `parts` in place of their English."""
    if not isinstance(data, dict) or parts not in data:
        return cast("object", data)
    fields = cast("dict[str, object]", data)
    kept = {name: value for name, value in fields.items() if name != parts}
    return kept | {texts: from_json(fields[parts])} if fields[parts] else kept


def by_item(errors: Iterable[ErrorReport]) -> list[list[ErrorReport]]:
    """The errors of each row or item, as first met: a row may have one in each of its fields, and is one row."""
    items: dict[object, list[ErrorReport]] = {}
    for number, error in enumerate(errors):
        place = (error.line, error.id)
        items.setdefault(number if place == (None, None) else place, []).append(error)
    return list(items.values())


class IntervalReport(Report):
    """A 95 % interval and the number of items behind its figure."""

    low: Finite | None
    high: Finite | None
    n: Count


def intervals(block: str, figures: Mapping[str, Estimate]) -> dict[str, IntervalReport]:
    """The intervals of a block, by the names of its figures with the block."""
    return {
        f"{block}.{name}": IntervalReport(low=figure.low, high=figure.high, n=figure.n)
        for name, figure in figures.items()
    }


class SpeedReport(Report):
    """What a search costs, measured in passes interleaved with a fixed load, so that a busy machine slows down both.

    Attributes:
        clock: the processor's time, or the wall's where a server searches.
        queries: ids of those timed in each pass, the first of a seeded order.
        query_ms: time of one of them, the median over passes.
        unit_ms: time of one unit of the load, likewise.
        costs: by pass and query, its time over that of one unit of the load in that pass.
    """

    clock: Literal["cpu", "wall"]
    queries: tuple[str, ...]
    query_ms: Milliseconds
    unit_ms: Milliseconds
    costs: tuple[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], ...]

    def over(self, queries: Collection[str]) -> list[float]:
        """Of each pass the sum of the costs of these queries, where the clock saw any."""
        places = [place for place, name in enumerate(self.queries) if name in queries]
        sums = (fsum(row[place] for place in places) for row in self.costs)
        return [total for total in sums if total > 0]


class SystemReport(Report):
    """What was evaluated where it is not gigamind's own, without secrets.

    Attributes:
        target: its file's name, address, command, or module and function.
        config: the preset that an address is asked and read by.
        fingerprint: the same in runs of the same system.
        file_hash: of a run file.
        called: as --system-name says; absent without it.
    """

    kind: Literal["run", "http", "command", "python"]
    target: str
    config: str | None = None
    fingerprint: str
    file_hash: str | None = None
    called: str | None = Field(default=None, exclude_if=lambda called: called is None)

    @property
    def name(self) -> str:
        """In a few words, for people."""
        if self.called:
            return self.called
        shown = self.target if self.kind == "http" else f"{self.kind}:{self.target}"
        return f"{shown} ({self.config})" if self.config else shown

    @property
    def identity(self) -> str:
        """What must be the same for a run to be continued."""
        return f"{self.fingerprint} {self.file_hash or ''}".strip()


class Environment(Report):
    """What ran: versions of everything that may change a figure.

    Attributes:
        system: what was evaluated, where it was not gigamind's own engine, nor answers of the dataset.
    """

    app_version: str
    git_commit: str | None
    python_version: str
    embedding_model: str | None
    rag_schema_version: str
    packages: dict[str, str]
    system: SystemReport | None = Field(default=None, exclude_if=lambda system: system is None)


class Hardware(Report):
    """What it ran on; `hash` names the kind of machine, for speed is only comparable on the same kind."""

    cpu: str
    cores: Count
    memory_gib: float
    system: str
    hash: str


class RunReport(Report):
    """run.json.

    Attributes:
        config: where some of the options came from a file.
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
    config: ConfigReport | None = Field(default=None, exclude_if=lambda config: config is None)
    judge: JudgeReport | None = None
    environment: Environment
    hardware: Hardware
    warnings: tuple[Text, ...]

    @computed_field
    @property
    def warning_messages(self) -> list[dict[str, Any]]:
        """Each warning with its id and values, of which another language is made."""
        return [
            warning.as_json() if isinstance(warning, Message) else {"text": warning}
            for warning in self.warnings
        ]

    @model_validator(mode="before")
    @classmethod
    def _restore(cls, data: object) -> object:
        return _restored(data, "warnings", "warning_messages")


Counts = TypeVar("Counts", bound=Report)
Slice = TypeVar("Slice", bound=Report)


class TaskSummary(Report, Generic[Counts, Slice]):
    """summary.json, as far as it is the same for every task."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    task: TaskName
    status: Literal["complete", "interrupted"]
    counts: Counts
    overall: Slice
    by_language: dict[str, Slice]


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
