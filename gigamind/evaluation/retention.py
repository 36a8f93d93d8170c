"""Which results of deployments may go: old out folders, what stopped runs left, replies that nobody asked for again.

A run stays while it is young, among the last of its deployment, the origin of a baseline, or what a run that stays was
compared with.  Only folders and files that gigamind itself writes are looked at; anything else beside them stays.
"""

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from pydantic import BaseModel, Field

from gigamind.choices import BASELINES
from gigamind.errors import EvaluationError, InputError
from gigamind.llm.store import unused_replies
from gigamind.retrieval.settings import default_cache_folder
from gigamind.runs.store import ITEMS_FILE, Journal

_DAY_S = 86_400.0
_KIB = 1024


class CleanupOptions(BaseModel, extra="forbid", frozen=True):
    """How long what is kept.  Paths are relative to the working directory."""

    dry_run: bool = Field(
        default=False, description="log what would be removed, and remove nothing"
    )
    out: Path = Field(
        Path("eval", "out"), description="folder of the deployments' runs: out/<deployment>/<time>"
    )
    keep_runs: int = Field(20, ge=1, description="latest runs to keep per deployment")
    keep_days: float = Field(30, ge=1, description="keep all runs younger than this many days")
    baselines: Path = Field(BASELINES, description="folder of baselines whose source runs are kept")
    replies: Path | None = Field(
        None, description="folder of stored model replies (default: in the user's cache folder)"
    )
    replies_days: float = Field(
        90, ge=1, description="remove replies that no run has used for this many days"
    )


class Removal(TypedDict):
    """Something that goes: a folder of a run, or all unused replies together; `size` in bytes."""

    what: str
    why: str
    size: int


class CleanupReport(TypedDict):
    """What went, or would go, as JSON values; `kept`: finished runs of deployments that stay."""

    dry_run: bool
    removed: list[Removal]
    kept: int


@dataclass(frozen=True, slots=True)
class _FinishedRun:
    folder: Path
    run_id: str
    created: float  # seconds since the epoch


def clean_up(options: CleanupOptions) -> CleanupReport:
    """Remove what need not be kept any more.

    Raises:
        EvaluationError: something could not be removed; says what, and all the rest is gone.
    """
    now = time.time()
    homes = [home for home in _folders(options.out) if _file(home / "run.json") is None]
    runs = {home: _finished_runs(home) for home in homes}
    kept = _kept(runs, options, now)
    going = [
        (run.folder, f"over {options.keep_days:g} days old, and {options.keep_runs} are newer")
        for finished in runs.values()
        for run in finished
        if run not in kept
    ]
    for home in homes:
        going += [(folder, "abandoned") for folder in sorted(home.glob("*.abandoned"))]
        going += [
            (folder, f"unfinished, and untouched for over {options.keep_days:g} days")
            for folder in sorted(home.glob("*.unfinished"))
            if _forsaken(folder, now - options.keep_days * _DAY_S)
        ]
    removed = [_removal(folder, why) for folder, why in going]
    folder = options.replies or default_cache_folder() / "replies"
    replies = list(unused_replies(folder, now - options.replies_days * _DAY_S))
    if replies:
        why = f"not asked for in {options.replies_days:g} days"
        size = sum(_size(file) for file in replies)
        removed.append({"what": f"{len(replies)} replies in {folder}", "why": why, "size": size})
    if not options.dry_run:
        _remove([*(folder for folder, _ in going), *replies])
    return {"dry_run": options.dry_run, "removed": removed, "kept": len(kept)}


def told(report: CleanupReport) -> Iterator[str]:
    """The report in lines."""
    verb = "would go" if report["dry_run"] else "removed"
    for removal in report["removed"]:
        yield f"{verb}: {removal['what']} ({removal['why']}; {removal['size'] / _KIB:,.0f} KiB)"
    size = sum(removal["size"] for removal in report["removed"]) / _KIB
    yield f"{len(report['removed'])} {verb}, {size:,.0f} KiB; {report['kept']} runs stay"


def _kept(
    runs: Mapping[Path, list[_FinishedRun]], options: CleanupOptions, now: float
) -> set[_FinishedRun]:
    """The runs that stay.

    Not what those were compared with that stay only for their sake: where each night's run becomes the next baseline,
    that would keep every run there ever was.
    """
    youngest = now - options.keep_days * _DAY_S
    kept = {
        run
        for finished in runs.values()
        for place, run in enumerate(finished)
        if place < options.keep_runs or run.created >= youngest
    }
    named = {_run_id(_file(file)) for file in options.baselines.glob("*.json")}
    named |= {_run_id(_compared(run.folder)) for run in kept}
    return kept | {run for finished in runs.values() for run in finished if run.run_id in named}


def _finished_runs(home: Path) -> list[_FinishedRun]:
    """The runs of a deployment that have ended, newest first."""
    runs: list[_FinishedRun] = []
    for folder in _folders(home):
        about = _file(folder / "run.json") or {}
        try:
            created = datetime.fromisoformat(str(about.get("created_at"))).timestamp()
        except ValueError:
            continue  # none of ours
        runs.append(_FinishedRun(folder, _run_id(about), created))
    return sorted(runs, key=lambda run: (run.created, run.folder.name), reverse=True)


def _folders(parent: Path) -> list[Path]:
    """Those in a folder that are not hidden, nor a link to somewhere else; none where there is no such folder."""
    if not parent.is_dir():
        return []
    return sorted(
        entry
        for entry in parent.iterdir()
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith(".")
    )


def _file(path: Path) -> Mapping[str, Any] | None:
    """The object in a JSON file; None where there is none."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _compared(folder: Path) -> Mapping[str, Any] | None:
    """The run that a run was held against, as its compare.json names it."""
    comparison = (_file(folder / "compare.json") or {}).get("comparison", {})
    return comparison.get("baseline")


def _run_id(about: Mapping[str, Any] | None) -> str:
    return str((about or {}).get("run_id", ""))


def _forsaken(folder: Path, since: float) -> bool:
    """Whether what a stopped run left was last written before that, and nobody writes it now."""
    items = folder / ITEMS_FILE
    if not items.is_file() or max(_times(folder)) >= since:
        return False
    try:
        Journal(items).close()
    except InputError:  # another process has it open
        return False
    return True


def _times(folder: Path) -> Iterable[float]:
    return (entry.stat().st_mtime for entry in [folder, *folder.iterdir()])


def _removal(folder: Path, why: str) -> Removal:
    return {"what": str(folder), "why": why, "size": sum(map(_size, folder.rglob("*")))}


def _size(path: Path) -> int:
    return path.lstat().st_size if path.is_file() else 0


def _remove(paths: Iterable[Path]) -> None:
    problems: list[str] = []
    for path in paths:
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        except OSError as error:
            problems.append(f"{path}: cannot be removed ({error.strerror or error})")
    if problems:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise EvaluationError(f"{problems[0]}{more}: mend the rights of this folder")
