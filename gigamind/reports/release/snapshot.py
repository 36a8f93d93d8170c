"""snapshot.json: what a later run is compared with, one file that needs no vault and no dataset; see `model`."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.errors import InputError
from gigamind.reports.release.model import VERSION, EvalSnapshot
from gigamind.reports.release.task import ComparedTask
from gigamind.reports.release.tasks import TASKS
from gigamind.reports.schema import ErrorReport, Record, RunReport

Report = TypeVar("Report", bound=BaseModel)


def take_snapshot(record: Record[Any, Any]) -> EvalSnapshot[Any, Any]:
    """The snapshot of a run."""
    run = record.run
    task = TASKS[run.task]
    return task.snapshot(
        created_at=run.created_at,
        run_id=run.run_id,
        task=run.task,
        dataset_hash=run.dataset_hash,
        notes_hash=run.notes_hash,
        notes_hash_mode=run.notes_hash_mode,
        environment=run.environment,
        hardware=run.hardware,
        judge_fingerprint=task.judge_fingerprint(run),
        judge=run.judge,
        config=run.options,
        metrics=record.summary,
        items=tuple(task.item(line) for line in record.items),
    )


def read_snapshot(path: Path) -> EvalSnapshot[Any, Any]:
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
        snapshot = take_snapshot(read_run(path))
    else:
        content = _object(path)
        task = _checked_task(path, content)
        snapshot = _parsed(json.dumps(content), task.snapshot, str(path))
    if not snapshot.items:
        raise InputError(
            f"{path}: holds no item, so nothing can be compared with it; run the baseline again"
        )
    return snapshot


def read_run(out: Path) -> Record[Any, Any]:
    """Everything in an out folder; `Record.run.task` tells of which task.

    Raises:
        InputError: a file is missing, unreadable, or not what it should be; names the file and the line.
    """
    run = _parsed(_text(out / "run.json"), RunReport, str(out / "run.json"))
    task = TASKS[run.task]
    return Record(
        run,
        _parsed(_text(out / "summary.json"), task.summary, str(out / "summary.json")),
        _lines(out / "per_item.jsonl", task.line),
        _lines(out / "errors.jsonl", ErrorReport),
    )


def _checked_task(path: Path, content: dict[str, object]) -> ComparedTask[Any, Any, Any]:
    """The task of a snapshot; says what a file is before saying which of its fields is wrong."""
    version, task = content.get("version"), TASKS.get(str(content.get("task")))
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
            f" it knows {', '.join(TASKS)}"
        )
    if "items" not in content:
        raise InputError(
            f"{path}: has no values by item, so chance cannot be told; make a new baseline"
        )
    return task


def _object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(_text(path), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON, or cut short ({error.msg})") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a snapshot of gigamind; make one with --save-snapshot")
    return content  # pyright: ignore[reportUnknownVariableType]  checked field by field next


def _refuse_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is no figure; make a new baseline")


def _lines(path: Path, model: type[Report]) -> list[Report]:
    # Not splitlines: a note's text may hold U+2028, which JSON leaves as it is.
    lines = _text(path).split("\n")
    return [_parsed(line, model, f"{path}:{i}") for i, line in enumerate(lines, start=1) if line]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: missing; is this the out folder of a finished run with its JSON?"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _parsed(text: str, model: type[Report], where: str) -> Report:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(f"{where}: not as gigamind writes it ({field}: {first['msg']})") from error
