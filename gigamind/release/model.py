"""Snapshots, the baselines of later runs: their fields and files, and what makes runs comparable (spec 6.2 and 7)."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, Field

from gigamind.checksum import checked, with_checksum
from gigamind.errors import InputError, reason_of
from gigamind.i18n import Message, Text, _, joined
from gigamind.metrics.table import adopt
from gigamind.records.folder import parse_report, read_report, read_reports, read_written
from gigamind.records.judged import JudgeReport, LlmReport, Report, Share
from gigamind.records.schema import (
    Environment,
    ErrorReport,
    Hardware,
    Record,
    RunReport,
    SpeedReport,
)
from gigamind.release.comparison import SliceKind, SliceName, SnapshotHit, Speed
from gigamind.runs.folders import whole_file

_VERSION = "1.0"
FILE = "snapshot.json"


class SnapshotItem(Report):
    """The data of one item for a comparison, with its slices; each task adds fields."""

    id: str
    language: str | None = Field(default=None, exclude_if=lambda key: key is None)
    cross_lingual: bool = Field(default=False, exclude_if=lambda is_so: not is_so)
    difficulty: str | None = Field(default=None, exclude_if=lambda key: key is None)
    tags: tuple[str, ...] = Field(default=(), exclude_if=lambda tags: not tags)

    @property
    def slices(self) -> tuple[SliceName, ...]:
        """Return the slices of the item, each once."""
        named: list[tuple[SliceKind, str | None]] = [
            ("language", self.language),
            ("cross_lingual", "" if self.cross_lingual else None),
            ("difficulty", self.difficulty),
            *(("tag", tag) for tag in dict.fromkeys(self.tags)),
        ]
        return tuple((kind, key) for kind, key in named if key is not None)


class SnapshotCheck(Report):
    """The checklist result of one item; `yes` says, by id of the checklist's items, whether each is met.

    A question with several answers has shares of them.
    """

    passed: bool | Share
    yes: dict[str, bool | Share]

    @staticmethod
    def values(
        pairs: "Sequence[tuple[SnapshotCheck | None, SnapshotCheck | None]]",
    ) -> "Values":
        """Return the pass rate and the rate of each checklist item, over what both runs checked."""
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not both:
            return {}
        values: Values = {PASS_RATE: [(float(a.passed), float(b.passed)) for a, b in both]}
        for name in dict.fromkeys(name for _before, current in both for name in current.yes):
            yes = ((a.yes[name], b.yes[name]) for a, b in both if name in a.yes)
            values[f"{BLOCK}.{name}"] = [(float(old), float(new)) for old, new in yes]
        return values

    @staticmethod
    def change(before: "SnapshotCheck | None", after: "SnapshotCheck | None") -> tuple[float, Text]:
        """Return the change in the share of met checklist items, in [-1, 1], and its description; (0, "") if none."""
        if before is None or after is None:
            return 0.0, ""
        lost = [name for name, yes in before.yes.items() if yes > after.yes.get(name, False)]
        gained = [name for name, yes in after.yes.items() if yes > before.yes.get(name, False)]
        if not lost and not gained:
            return 0.0, ""
        gain = (sum(after.yes.values()) - sum(before.yes.values())) / len(after.yes)
        verdict = _("checklist")
        if {before.passed, after.passed} == {False, True}:
            ways = _("checklist passed → failed"), _("checklist failed → passed")
            verdict = ways[bool(after.passed)]
        parts = [_("items no longer met: {items}", items=lost)] if lost else []
        parts += [_("items newly met: {items}", items=gained)] if gained else []
        return gain, _("{verdict} ({items})", verdict=verdict, items=joined(parts))


_Summary = TypeVar("_Summary", bound=BaseModel)
_Item = TypeVar("_Item", bound=SnapshotItem)


class EvalSnapshot(Report, Generic[_Summary, _Item]):
    """One run as a baseline.

    Attributes:
        task: decides the types of `metrics` and `items`.
        judge_fingerprint: changes with anything that may change a verdict on the same output.
        config: the options of the run.
        metrics: its summary.json.
        kind: how runs of the task are compared.
        checksum: of its file; see `gigamind.checksum`.  None in memory.
    """

    kind: ClassVar["ComparedTask[Any, Any, Any]"]
    version: Literal["1.0"] = _VERSION
    created_at: str
    run_id: str
    task: str
    dataset_hash: str
    notes_hash: str
    notes_hash_mode: Literal["content", "mtime"]
    environment: Environment
    hardware: Hardware
    judge_fingerprint: str
    judge: JudgeReport | None = None
    config: dict[str, object]
    metrics: _Summary
    items: tuple[_Item, ...]
    checksum: str | None = None

    def check_task(self, task: str) -> None:
        """Raise InputError if this baseline belongs to another task."""
        if self.task != task:
            raise InputError(
                "the runs cannot be compared: the baseline {baseline} evaluated the task {other}, but this run"
                " evaluates the task {task}. Give a baseline of the task {task}.",
                baseline=self.run_id,
                other=self.task,
                task=task,
            )

    def file_text(self) -> str:
        """Return the text of its file, with its checksum."""
        content = with_checksum(json.loads(self.model_dump_json()))
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def promote(self, folder: Path) -> Path:
        """Make it the current baseline, for all readers at once; return its file. InputError if not writable."""
        file = folder / f"{self.task}-{self.run_id}.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(file, self.file_text())
            _replace(folder / _pointer_of(self.task), file.name + "\n")
        except OSError as error:
            raise InputError(
                "{folder}: the baseline cannot be written: {reason}",
                folder=folder,
                reason=reason_of(error),
            ) from error
        return file


Snapshot = EvalSnapshot[Any, Any]
_Line = TypeVar("_Line", bound=BaseModel)
Pairs = Sequence[tuple[_Item, _Item]]
"""The shared items: the baseline's and the current run's version of each."""
Values = dict[str, list[tuple[float, float]]]
"""By metric with its block: baseline and current value of each item that both runs measured."""
Terms = dict[str, list[tuple[tuple[float, float], tuple[float, float]]]]
"""By metric with its block: what each item adds to numerator and denominator, in the baseline and the current run."""


def paired_values(
    block: str,
    names: Iterable[str],
    pairs: Sequence[tuple[Mapping[str, float | None], Mapping[str, float | None]]],
) -> Values:
    """Return the values of these metrics of a block, for the items on which both runs measured them."""
    return {
        f"{block}.{name}": [
            (old, new)
            for before, after in pairs
            if (old := before.get(name)) is not None and (new := after.get(name)) is not None
        ]
        for name in names
    }


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as a comparison shows it; `ranking` has the results, best first, and is None without rankings."""

    text: str
    expected_notes: tuple[str, ...]
    ranking: tuple[SnapshotHit, ...] | None


@dataclass(frozen=True, slots=True)
class Change:
    """How the result of an item changed, in a few words; `gain` is never 0, and negative if it got worse."""

    gain: float
    what: Text


class ComparedTask(ABC, Generic[_Summary, _Line, _Item]):
    """One task, typed by its summary.json, per_item.jsonl and snapshot items; `settings` make another system."""

    settings: tuple[str, ...]
    summary: type[_Summary]
    line: type[_Line]
    snapshot: type[EvalSnapshot[_Summary, _Item]]

    def __init_subclass__(cls) -> None:
        cls.summary, cls.line, item = get_args(cls.__orig_bases__[0])  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]  of every class with type arguments
        cls.snapshot = EvalSnapshot[cls.summary, item]
        cls.snapshot.kind = cls()

    def judge_fingerprint(self, run: RunReport) -> str:
        """Return a fingerprint that changes with anything that may change a verdict on the same output."""
        return run.judge.fingerprint if run.judge else ""

    @abstractmethod
    def item(self, line: _Line) -> _Item:
        """Return the snapshot's item for a line of per_item.jsonl."""

    def take_snapshot(self, record: Record[_Summary, _Line]) -> EvalSnapshot[_Summary, _Item]:
        """Return the snapshot of a run."""
        run = record.run
        return self.snapshot.like(
            run,
            judge_fingerprint=self.judge_fingerprint(run),
            config=self.config(run),
            metrics=record.summary,
            items=tuple(self.item(line) for line in record.items),
        )

    def config(self, run: RunReport) -> dict[str, object]:
        """Return the task and the options in effect, by name (spec 6.2)."""
        return {"task": run.task, **run.options}

    @abstractmethod
    def shown(self, item: _Item) -> Shown:
        """Return the item as a comparison shows it."""

    @abstractmethod
    def change(self, before: _Item, after: _Item) -> Change | None:
        """Return how the result of an item changed; None if it did not."""

    def has_verdict(self, _item: _Item, /) -> bool:
        """Return whether the item has a verdict; always true for a task whose metrics need no judge."""
        return True

    def has_answer(self, _item: _Item, /) -> bool:
        """Return whether the notes still contain the expected passage; always true for a task without such labels."""
        return True

    def is_recorded(self, _snapshot: EvalSnapshot[_Summary, _Item], /) -> bool:
        """Return whether the evaluated outputs are recorded in the dataset."""
        return False

    def checklist(self, _snapshot: EvalSnapshot[_Summary, _Item], /) -> str:
        """Return the fingerprint of the checklist of the run; "" for a run without checks."""
        return ""

    def is_checked(self, _item: _Item, /) -> bool:
        """Return whether the item has a checklist result."""
        return False

    def without_checks(self, item: _Item) -> _Item:
        """Return the item without its checklist result."""
        return item

    def values(self, _pairs: Pairs[_Item], /) -> Values:
        """Return the metrics that are means over items."""
        return {}

    def terms(self, _pairs: Pairs[_Item], /) -> Terms:
        """Return the metrics that are ratios of sums over items."""
        return {}

    def figures(self, items: Sequence[_Item]) -> dict[str, float]:
        """Return every metric of one run that is defined."""
        return self.measured(items)[0]

    def measured(self, items: Sequence[_Item]) -> tuple[dict[str, float], dict[str, int]]:
        """Return every metric of one run that is defined, and the number of items that each counts."""
        pairs = [(item, item) for item in items]
        means = {name: [old for old, _new in both] for name, both in self.values(pairs).items()}
        figures = {name: fsum(values) / len(values) for name, values in means.items() if values}
        counts = {name: len(values) for name, values in means.items()}
        for name, both in self.terms(pairs).items():
            over, under = (fsum(term[place] for term, _current in both) for place in (0, 1))
            counts[name] = sum(term[1] > 0 for term, _current in both)
            if under:
                figures[name] = over / under
        return figures, counts

    def speed(self, _summary: _Summary, /) -> Mapping[Speed, float | None]:
        """Return the gated times in milliseconds; None for a time that was not measured."""
        return {}

    def passes(self, _summary: _Summary, /) -> SpeedReport | None:
        """Return the cost of a search in units of the reference load, by pass; None if not measured."""
        return None

    def models(self, summary: _Summary) -> Mapping[str, tuple[str, ...]]:
        """Return the names that servers gave for the models that answered, by role."""
        llm: LlmReport | None = getattr(summary, "llm", None)
        return llm.models if llm else {}


# Checks are compared only if both runs used the same checklist and model (spec 004, "2-1").
BLOCK = "quality"
PASS_RATE = f"{BLOCK}.pass_rate"


_DIGITS = 20  # shown of a number that is too large

Kinds = Mapping[str, ComparedTask[Any, Any, Any]]
"""How runs of each task are compared, by its name."""
_MISSING = _("the file is missing. Give the output folder of a finished run with its JSON files")


def read_snapshot(path: Path, kinds: Kinds) -> Snapshot:
    """Read a snapshot from its file, or make it from the out folder of a run.

    Raises:
        InputError: the file is missing, truncated, no snapshot, of an unknown task or another version, or has no items.
    """
    if not path.exists():
        raise InputError(
            "{path}: no such file or folder. Give a snapshot.json, the output folder of a run or a folder of"
            " baselines. To create the first baseline, evaluate without --compare, then run gigamind baseline"
            " promote RUN --folder {path}",
            path=path,
        )
    if path.is_dir():
        record = read_run(path, kinds)
        snapshot = kinds[record.run.task].take_snapshot(record)
    else:
        content = _object(path)
        task = _checked_task(path, content, kinds)
        snapshot = parse_report(json.dumps(content), task.snapshot, str(path))
    _adopt(snapshot.judge, path)
    if not snapshot.items:
        raise InputError("{path}: the run has no evaluated items; run it again", path=path)
    return snapshot


def read_run(out: Path, kinds: Kinds) -> Record[Any, Any]:
    """Read everything in an out folder; `Record.run.task` is its task. An InputError names file and line."""
    run = read_report(out / "run.json", RunReport, _MISSING)
    _adopt(run.judge, out / "run.json")
    task = kinds[run.task]
    return Record(
        run,
        read_report(out / "summary.json", task.summary, _MISSING),
        read_reports(out / "per_item.jsonl", task.line, _MISSING),
        read_reports(out / "errors.jsonl", ErrorReport, _MISSING),
    )


def _adopt(judge: JudgeReport | None, path: Path) -> None:
    try:
        adopt(report.metric() for report in (judge.metrics if judge else ()))
    except ValueError as error:
        problem = error.args[0]
        raise InputError("{path}: judge.metrics: {problem}", path=path, problem=problem) from error


def _checked_task(
    path: Path, content: dict[str, object], kinds: Kinds
) -> ComparedTask[Any, Any, Any]:
    version, task = content.get("version"), kinds.get(str(content.get("task")))
    if not isinstance(version, str) or "metrics" not in content:
        raise InputError(_no_snapshot(path))
    if version != _VERSION:
        raise InputError(
            "{path}: the snapshot has version {version}, but this gigamind reads version {ours}. Use the"
            " gigamind version that wrote the snapshot, or create a new baseline.",
            path=path,
            version=version,
            ours=_VERSION,
        )
    if task is None:
        raise InputError(
            "{path}: the snapshot is of the unknown task {task!r}. This version of gigamind knows these tasks:"
            " {known}.",
            path=path,
            task=str(content.get("task")),
            known=list(kinds),
        )
    if "items" not in content:
        raise InputError("{path}: the snapshot has no items. Create a new baseline.", path=path)
    return task


def _object(path: Path) -> dict[str, object]:
    try:
        written = read_written(path, _MISSING)
        content = checked(json.loads(written, parse_constant=_refuse_constant, parse_float=_finite))
    except json.JSONDecodeError as error:
        raise InputError(
            "{path}:{line}: invalid or truncated JSON ({reason}). Give a snapshot.json or the output folder of a run.",
            path=path,
            line=error.lineno,
            reason=error.msg,
        ) from error
    except (ValueError, RecursionError) as error:
        reason = error.args[0] if error.args else str(error)
        raise InputError("{path}: {reason}", path=path, reason=reason) from error
    if not isinstance(content, dict):
        raise InputError(_no_snapshot(path))
    return content  # pyright: ignore[reportUnknownVariableType]  checked field by field next


def _no_snapshot(path: Path) -> Message:
    return _("{path}: no gigamind snapshot. Create one with --save-snapshot.", path=path)


def _refuse_constant(name: str) -> float:
    raise ValueError(_("{name} is not a finite number. Create a new baseline.", name=name))


def _finite(number: str) -> float:
    return value if isfinite(value := float(number)) else _refuse_constant(number[:_DIGITS])


POINTER = "LATEST"  # contains the file name of the current baseline


def _pointer_of(task: str) -> str:
    """Return the file name of the pointer of a task; search, the oldest task, has no suffix."""
    return POINTER if task == "search" else f"{POINTER}-{task}"


def read_baseline(path: Path, kinds: Kinds, task: str | None = None) -> Snapshot:
    """Read a baseline: a folder's last promoted one of `task`, a snapshot file or an out folder; InputError if none."""
    pointers = {
        entry: path / _pointer_of(entry) for entry in kinds if (path / _pointer_of(entry)).is_file()
    }
    if not pointers:
        return read_snapshot(path, kinds)
    if len(pointers) > 1 and task is None:
        raise InputError(
            "{path}: the folder has baselines of several tasks ({tasks}). Give the file of one baseline.",
            path=path,
            tasks=list(pointers),
        )
    if task is not None and task not in pointers:
        raise InputError(
            "{path}: the folder has no baseline of the task {task}. Create one with `gigamind baseline promote RUN`.",
            path=path,
            task=task,
        )
    pointer = pointers[task] if task else next(iter(pointers.values()))
    try:
        name = pointer.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        name = ""
    if not name or Path(name).name != name:
        raise InputError(
            "{file}: must contain the name of a baseline file in the same folder, but contains {name!r}."
            " Promote a run again with `gigamind baseline promote`.",
            file=pointer,
            name=name,
        )
    return read_snapshot(path / name, kinds)


def _replace(file: Path, text: str) -> None:
    with whole_file(file) as target:
        target.write(text.encode())
