"""Read and write snapshot.json, the baseline of later runs; a folder of baselines also points to the current one."""

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from gigamind.checksum import checked, with_checksum
from gigamind.errors import InputError, reason_of
from gigamind.i18n import Message, _
from gigamind.metrics.table import adopt
from gigamind.records.folder import parse_report, read_report, read_reports, read_written
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import ErrorReport, Record, RunReport
from gigamind.release.model import VERSION, ComparedTask, Snapshot
from gigamind.runs.folders import whole_file

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
    if version != VERSION:
        raise InputError(
            "{path}: the snapshot has version {version}, but this gigamind reads version {ours}. Use the"
            " gigamind version that wrote the snapshot, or create a new baseline.",
            path=path,
            version=version,
            ours=VERSION,
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


def snapshot_text(snapshot: Snapshot) -> str:
    """Return the text of a snapshot's file, with its checksum."""
    content = with_checksum(json.loads(snapshot.model_dump_json()))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def promote(snapshot: Snapshot, folder: Path) -> Path:
    """Make a snapshot the current baseline, for all readers at once; return its file. InputError if not writable."""
    file = folder / f"{snapshot.task}-{snapshot.run_id}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(file, snapshot_text(snapshot))
        _replace(folder / _pointer_of(snapshot.task), file.name + "\n")
    except OSError as error:
        raise InputError(
            "{folder}: the baseline cannot be written: {reason}",
            folder=folder,
            reason=reason_of(error),
        ) from error
    return file


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
