"""snapshot.json: what a later run is compared with, one file that needs no vault and no dataset; see `model`.

A folder of baselines holds such files, and a pointer to the one that counts.
"""

import json
import secrets
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from gigamind.checksum import checked, with_checksum
from gigamind.errors import InputError
from gigamind.metrics.table import adopt
from gigamind.records.judged import JudgeReport
from gigamind.records.reading import parse_report, read_report, read_reports, read_written
from gigamind.records.schema import ErrorReport, Record, RunReport
from gigamind.release.model import VERSION, ComparedTask, EvalSnapshot
from gigamind.runs.folders import whole_file

_DIGITS = 20  # of a number that is too large, as it is told

Kinds = Mapping[str, ComparedTask[Any, Any, Any]]
"""What comparisons must know of each task, by its name."""
_MISSING = "missing; is this the out folder of a finished run with its JSON?"


def read_snapshot(path: Path, kinds: Kinds) -> EvalSnapshot[Any, Any]:
    """A snapshot from its file, or from the out folder of a run (which need not have saved one).

    Raises:
        InputError: there is none, it is cut short, foreign, of an unknown task or of a newer version, or it lacks
            items; says which and what to do.
    """
    if not path.exists():
        raise InputError(
            f"{path}: no such file or folder; give a snapshot.json or the out folder of a run"
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
        raise InputError(
            f"{path}: holds no item, so nothing can be compared with it; run the baseline again"
        )
    return snapshot


def read_run(out: Path, kinds: Kinds) -> Record[Any, Any]:
    """Everything in an out folder; `Record.run.task` tells of which task.

    Raises:
        InputError: a file is missing, unreadable, or not what it should be; names the file and the line.
    """
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
    """Know the figures of a team's own judge under the names that its run gives them."""
    try:
        adopt(report.metric() for report in (judge.metrics if judge else ()))
    except ValueError as error:
        raise InputError(f"{path}: judge.metrics: {error}") from error


def _checked_task(
    path: Path, content: dict[str, object], kinds: Kinds
) -> ComparedTask[Any, Any, Any]:
    """The task of a snapshot; says what a file is before saying which of its fields is wrong."""
    version, task = content.get("version"), kinds.get(str(content.get("task")))
    if not isinstance(version, str) or "metrics" not in content:
        raise InputError(f"{path}: not a snapshot of gigamind; make one with --save-snapshot")
    if version != VERSION:
        raise InputError(
            f"{path}: snapshot version {version}, and this gigamind reads {VERSION};"
            " use the version that wrote it, or make a new baseline"
        )
    if task is None:
        raise InputError(
            f'{path}: a snapshot of the task "{content.get("task")}", which this gigamind does not know;'
            f" it knows {', '.join(kinds)}"
        )
    if "items" not in content:
        raise InputError(
            f"{path}: has no values by item, so chance cannot be told; make a new baseline"
        )
    return task


def _object(path: Path) -> dict[str, object]:
    try:
        written = read_written(path, _MISSING)
        content = checked(json.loads(written, parse_constant=_refuse_constant, parse_float=_finite))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: not JSON, or cut short ({error.msg});"
            " give a snapshot.json or the out folder of a run"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a snapshot of gigamind; make one with --save-snapshot")
    return content  # pyright: ignore[reportUnknownVariableType]  checked field by field next


def _refuse_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is no figure; make a new baseline")


def _finite(number: str) -> float:
    return value if isfinite(value := float(number)) else _refuse_constant(number[:_DIGITS])


Snapshot = EvalSnapshot[Any, Any]

POINTER = "LATEST"  # holds the file name of the baseline that counts


def pointer_of(task: str) -> str:
    """Name of the pointer of a task.  That of search bears no name: it is older than the other tasks."""
    return POINTER if task == "search" else f"{POINTER}-{task}"


def snapshot_text(snapshot: Snapshot) -> str:
    """The text of its file, a checksum in it."""
    content = with_checksum(json.loads(snapshot.model_dump_json()))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def promote(snapshot: Snapshot, folder: Path) -> Path:
    """Make a snapshot the baseline of its task that counts; the file it stands in.

    The snapshot is written first and the pointer replaced last, each by renaming: whoever reads at any moment, or after
    a crash at any moment, finds the old baseline or the new one, whole.

    Raises:
        InputError: the folder cannot be written.
    """
    file = folder / f"{snapshot.task}-{snapshot.run_id}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(file, snapshot_text(snapshot))
        _replace(folder / pointer_of(snapshot.task), file.name + "\n")
    except OSError as error:
        raise InputError(f"{folder}: no baseline can be written here ({error.strerror})") from error
    return file


def read_baseline(path: Path, kinds: Kinds, task: str | None = None) -> Snapshot:
    """The baseline at `path`: a folder of baselines (the last promoted), a snapshot file, or an out folder.

    `task` chooses in a folder that holds baselines of several tasks.

    Raises:
        InputError: there is none, or it cannot be used; see `read_snapshot`.
    """
    if not path.exists():
        raise InputError(
            f"{path}: no such file or folder; give a snapshot.json, the out folder of a run or a folder of baselines."
            " A first baseline is made by evaluating without --compare, then gigamind baseline promote RUN"
            f" --folder {path}"
        )
    pointers = {
        name: path / pointer_of(name) for name in kinds if (path / pointer_of(name)).is_file()
    }
    if not pointers:
        return read_snapshot(path, kinds)
    if len(pointers) > 1 and task is None:
        raise InputError(
            f"{path}: holds baselines of {' and '.join(pointers)}; name the file of one of them"
        )
    if task is not None and task not in pointers:
        raise InputError(
            f"{path}: holds no baseline of {task}; make one with `gigamind baseline promote RUN`"
        )
    pointer = pointers[task] if task else next(iter(pointers.values()))
    try:
        name = pointer.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{pointer}: cannot be read ({error}); promote a run again") from error
    if not name or Path(name).name != name:
        raise InputError(f'{pointer}: names no file of this folder ("{name}"); promote a run again')
    return read_snapshot(path / name, kinds)


def _replace(file: Path, text: str) -> None:
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with whole_file(file, aside) as target:
        target.write(text.encode())
