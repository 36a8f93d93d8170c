"""A folder of baselines: every snapshot ever promoted, and which one counts now."""

import os
import secrets
from pathlib import Path
from typing import Any

from gigamind.errors import InputError
from gigamind.reports.release.model import EvalSnapshot
from gigamind.reports.release.snapshot import read_snapshot
from gigamind.reports.release.tasks import TASKS

Snapshot = EvalSnapshot[Any, Any]

POINTER = "LATEST"  # holds the file name of the baseline that counts


def pointer_of(task: str) -> str:
    """Name of the pointer of a task.  That of search bears no name: it is older than the other tasks."""
    return POINTER if task == "search" else f"{POINTER}-{task}"


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
        _replace(file, snapshot.model_dump_json(indent=2) + "\n")
        _replace(folder / pointer_of(snapshot.task), file.name + "\n")
    except OSError as error:
        raise InputError(f"{folder}: no baseline can be written here ({error.strerror})") from error
    return file


def read_baseline(path: Path, task: str | None = None) -> Snapshot:
    """The baseline at `path`: a folder of baselines (the last promoted), a snapshot file, or an out folder.

    `task` chooses in a folder that holds baselines of several tasks.

    Raises:
        InputError: there is none, or it cannot be used; see `read_snapshot`.
    """
    pointers = {
        name: path / pointer_of(name) for name in TASKS if (path / pointer_of(name)).is_file()
    }
    if not pointers:
        return read_snapshot(path)
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
    return read_snapshot(path / name)


def _replace(file: Path, text: str) -> None:
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with aside.open("w", encoding="utf-8", newline="\n") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
