"""Files that a run with models keeps beside its output folder until every item has a final result: OUT.unfinished.

items.jsonl (results), attempts.jsonl (requests), and the folders of its shards with theirs. `--resume OUT` continues.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gigamind.errors import InputError, LlmCode
from gigamind.evaluation.shards import folders_of, rows_in
from gigamind.i18n import Text, _
from gigamind.llm.ledger import Attempt
from gigamind.records.schema import ErrorReport
from gigamind.runs.store import ITEMS_FILE, ItemKey, ItemResult

# Errors that every further item would have as well.
HOPELESS: frozenset[LlmCode] = frozenset({"auth_failed", "quota_exhausted", "not_asked"})


@dataclass(frozen=True, slots=True)
class ModelRun:
    """The results of models."""

    results: Mapping[ItemKey, ItemResult]  # of each finished item, in item order
    attempts: Sequence[Attempt]  # every request of the run, including those before it was resumed
    interrupted: bool = False  # whether Ctrl-C stopped it
    unasked: Sequence[ItemKey] = ()  # items without a result because of that


def unfinished_folder(out: Path) -> Path:
    """Return the folder that keeps the results so far of the run that will write `out`."""
    return out.with_name(f"{out.name}.unfinished")


def check_unfinished(out: Path, *, resume: bool) -> None:
    """Raise InputError if the folder beside `out` is missing in a resumed run, or exists in another one."""
    kept = is_resumable(out)
    if resume and not kept:
        raise InputError(
            _(
                "--resume {folder}: this folder has no interrupted run to resume. The run has ended, or never"
                " existed.",
                folder=out,
            )
        )
    if kept and not resume:
        raise InputError(
            _(
                "{unfinished}: an unfinished run exists. Resume it with --resume {folder}, or name another folder.",
                unfinished=unfinished_folder(out),
                folder=out,
            )
        )


def is_resumable(out: Path) -> bool:
    """Return whether a run that was to write `out` can be resumed."""
    return (unfinished_folder(out) / ITEMS_FILE).is_file()


def last_unfinished(home: Path) -> Path | None:
    """Return the output folder in `home` of the latest stopped run that can be resumed, or None."""
    kept = [
        folder.with_suffix("")
        for folder in sorted(home.glob("*.unfinished"), reverse=True)
        if is_resumable(folder.with_suffix(""))
    ]
    return kept[0] if kept else None


def abandon(out: Path) -> Path:
    """Move the remains of a run out of the way, so that it is not resumed; return their new place."""
    return unfinished_folder(out).rename(out.with_name(f"{out.name}.abandoned"))


def drop_if_final(out: Path, run: ModelRun) -> None:
    """Remove the remains of a run once its output folder exists and nothing is left to resume."""
    if not run.interrupted and all(result.is_final for result in run.results.values()):
        shutil.rmtree(unfinished_folder(out), ignore_errors=True)


def attempts_of(out: Path) -> Sequence[Attempt]:
    """Return the requests of the run that will write `out`, including its shards' requests."""
    return rows_in(folders_of(unfinished_folder(out)))


def unscored(
    run: ModelRun, named: Callable[[ItemKey], tuple[Literal["verdict", "check", "item"], Text]]
) -> list[ErrorReport]:
    """Return an error report for each missing result; `named` returns its kind and the kind of its item."""
    stopped = ("not_asked", _("the run was stopped early; --resume continues it"))
    lost = {
        **{
            key: (result.code, result.message)
            for key, result in run.results.items()
            if result.outcome != "scored"
        },
        **dict.fromkeys(run.unasked, stopped),
    }
    return [
        ErrorReport(
            kind=named(key)[0],
            id=key.item_id,
            error=code,
            message=_("{unit} {id}: {reason}", unit=named(key)[1], id=key.item_id, reason=message),
        )
        for key, (code, message) in lost.items()
    ]
