"""Remove old results of deployments: output folders, remains of stopped runs, and unused model replies.

A run is kept while it is young, among the latest of its deployment, the source of a baseline, or the baseline of a kept
run. Only folders and files that gigamind itself writes are touched.
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
from gigamind.errors import EvaluationError, reason_of
from gigamind.evaluation.shards import is_awaited
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.llm.store import unused_replies
from gigamind.retrieval.settings import default_cache_folder
from gigamind.runs.store import ITEMS_FILE

_DAY_S = 86_400.0
_KIB = 1024
_HALF_WRITTEN = ".[0-9]*-[0-9]*.*"  # a killed process was writing it; see whole_folder


class CleanupOptions(BaseModel, extra="forbid", frozen=True):
    """How long results are kept. Paths are relative to the working directory."""

    dry_run: bool = Field(
        default=False, description="log what would be removed, and remove nothing"
    )
    out: Path = Field(
        Path("eval", "out"),
        description="folder with the runs of all deployments, each in <deployment>/<time>",
    )
    keep_runs: int = Field(20, ge=1, description="number of latest runs to keep per deployment")
    keep_days: float = Field(30, ge=1, description="keep all runs younger than this many days")
    baselines: Path = Field(
        BASELINES,
        description="folder of baselines; the runs that these baselines come from are kept",
    )
    replies: Path | None = Field(
        None, description="folder of stored model replies (default: in the user's cache folder)"
    )
    replies_days: float = Field(
        90, ge=1, description="remove stored model replies that no run has used for this many days"
    )


class _Removal(TypedDict):
    """A removed folder of a run, or all unused replies together; `size` in bytes."""

    what: Text
    why: Text
    size: int


class CleanupReport(TypedDict):
    """What was or would be removed, as JSON values; `kept`: finished runs of deployments that stay."""

    dry_run: bool
    removed: list[_Removal]
    kept: int


@dataclass(frozen=True, slots=True)
class _FinishedRun:
    """A finished run in a folder of runs."""

    folder: Path
    run_id: str
    created: float  # seconds since the epoch


def clean_up(options: CleanupOptions) -> CleanupReport:
    """Remove results that need not be kept; EvaluationError if something remains, after removing everything else."""
    now = time.time()
    homes = [home for home in _folders(options.out) if _file(home / "run.json") is None]
    runs = {home: finished_runs(home) for home in homes}
    kept = _kept(runs, options, now)
    why = _(
        "more than {days:g} days old, and its deployment has at least {runs} newer runs",
        days=options.keep_days,
        runs=options.keep_runs,
    )
    every = (run for finished in runs.values() for run in finished)
    going = [(run.folder, why) for run in every if run not in kept]
    for home in homes:
        lost = _("unfinished run that can no longer be resumed")
        going += [(folder, lost) for folder in sorted(home.glob("*.abandoned"))]
        old = _("unfinished run, unchanged for more than {days:g} days", days=options.keep_days)
        since = now - options.keep_days * _DAY_S
        begun = sorted([*home.glob("*.unfinished"), *home.glob(_HALF_WRITTEN)])
        going += [(folder, old) for folder in begun if _forsaken(folder, since)]
    removed: list[_Removal] = [
        {"what": str(folder), "why": why, "size": sum(map(_size, folder.rglob("*")))}
        for folder, why in going
    ]
    folder = options.replies or default_cache_folder() / "replies"
    replies = list(unused_replies(folder, now - options.replies_days * _DAY_S))
    if replies:
        removed.append(
            {
                "what": n_(
                    "{n} stored model reply in {folder}",
                    "{n:,} stored model replies in {folder}",
                    n=len(replies),
                    folder=folder,
                ),
                "why": _("not used for {days:g} days", days=options.replies_days),
                "size": sum(_size(file) for file in replies),
            }
        )
    if not options.dry_run:
        _remove([*(folder for folder, _why in going), *replies])
    return {"dry_run": options.dry_run, "removed": removed, "kept": len(kept)}


def report_lines(report: CleanupReport) -> Iterator[Message]:
    """Yield the lines of the report."""
    for removal in report["removed"]:
        values = {**removal, "size": removal["size"] / _KIB}
        yield (
            _("would remove {what} ({why}; {size:,.0f} KiB)", **values)
            if report["dry_run"]
            else _("removed {what} ({why}; {size:,.0f} KiB)", **values)
        )
    size = sum(removal["size"] for removal in report["removed"]) / _KIB
    totals = {"count": len(report["removed"]), "size": size, "kept": report["kept"]}
    yield (
        _("entries to remove: {count:,} ({size:,.0f} KiB); runs to keep: {kept:,}", **totals)
        if report["dry_run"]
        else _("entries removed: {count:,} ({size:,.0f} KiB); runs kept: {kept:,}", **totals)
    )


def _kept(
    runs: Mapping[Path, list[_FinishedRun]], options: CleanupOptions, now: float
) -> set[_FinishedRun]:
    """Return the runs to keep; baselines of baselines are not kept, or nightly runs would stay forever."""
    youngest = now - options.keep_days * _DAY_S
    kept = {
        run
        for finished in runs.values()
        for place, run in enumerate(finished)
        if place < options.keep_runs or run.created >= youngest
    }
    named = {_run_id(_file(file)) for file in options.baselines.glob("*.json")}
    compared = ((_file(run.folder / "compare.json") or {}).get("comparison", {}) for run in kept)
    named |= {_run_id(comparison.get("baseline")) for comparison in compared}
    return kept | {run for finished in runs.values() for run in finished if run.run_id in named}


def finished_runs(home: Path) -> list[_FinishedRun]:
    """Return the runs in a folder, the latest first."""
    runs: list[_FinishedRun] = []
    for folder in _folders(home):
        about = _file(folder / "run.json") or {}
        try:
            created = datetime.fromisoformat(str(about.get("created_at"))).timestamp()
        except ValueError:
            continue  # not written by gigamind
        runs.append(_FinishedRun(folder, _run_id(about), created))
    return sorted(runs, key=lambda run: (run.created, run.folder.name), reverse=True)


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    entries = (entry for entry in parent.iterdir() if not entry.name.startswith("."))
    return sorted(entry for entry in entries if entry.is_dir() and not entry.is_symlink())


def _file(path: Path) -> Mapping[str, Any] | None:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _run_id(about: Mapping[str, Any] | None) -> str:
    return str((about or {}).get("run_id", ""))


def _forsaken(folder: Path, since: float) -> bool:
    hidden = folder.name.startswith(".")
    try:
        latest = max(entry.stat().st_mtime for entry in [folder, *folder.iterdir()])
    except FileNotFoundError:  # its run ends at this moment
        return False
    if not (hidden or (folder / ITEMS_FILE).is_file()) or latest >= since:
        return False
    return hidden or not is_awaited(folder)


def _size(path: Path) -> int:
    return path.lstat().st_size if path.is_file() else 0


def _remove(paths: Iterable[Path]) -> None:
    problems: list[Message] = []
    for path in paths:
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        except OSError as error:
            problems.append(
                _("{file}: cannot be removed ({reason})", file=path, reason=reason_of(error))
            )
    if problems:
        more = len(problems) - 1
        tail = n_("... and {n} more problem", "... and {n:,} more problems", n=more)
        advice = _("Change the permissions of this folder.")
        raise EvaluationError(joined([problems[0], *([tail] if more else []), advice], "\n"))
