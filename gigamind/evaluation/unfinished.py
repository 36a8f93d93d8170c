"""What a run that asks models keeps beside its out folder until every item has a final result: OUT.unfinished.

It holds items.jsonl (each result as it ends) and attempts.jsonl (each request), and the folders of its shards, if it
has any, hold theirs; `--resume OUT` continues it, in shards or without.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gigamind.errors import (
    InputError,
    LlmCode,
)
from gigamind.evaluation.shards import (
    folders_of,
    rows_in,
)
from gigamind.llm.ledger import Attempt
from gigamind.records.schema import ErrorReport
from gigamind.runs.store import (
    ITEMS_FILE,
    ItemKey,
    ItemResult,
)

# The next item would end the same way, and so would the thousandth.
HOPELESS: frozenset[LlmCode] = frozenset({"auth_failed", "quota_exhausted", "not_asked"})


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What asking gave.

    Attributes:
        results: of each item that has ended, in the order of the items.
        attempts: every request of the run, those before it was resumed included.
        interrupted: Ctrl-C stopped it.
        unasked: what it left without a result then.
    """

    results: Mapping[ItemKey, ItemResult]
    attempts: Sequence[Attempt]
    interrupted: bool = False
    unasked: Sequence[ItemKey] = ()


def unfinished_folder(out: Path) -> Path:
    """Where the run that will write `out` keeps what it has so far."""
    return out.with_name(f"{out.name}.unfinished")


def check_unfinished(out: Path, *, resume: bool) -> None:
    """See to it, before any work is done, that what is kept beside `out` is to be continued, or is not there.

    Raises:
        InputError: it is not so.
    """
    kept = is_resumable(out)
    if resume and not kept:
        raise InputError(
            f"--resume {out}: there is no run to resume; it has ended, or none was to write this folder"
        )
    if kept and not resume:
        raise InputError(
            f"{unfinished_folder(out)}: a run is there already; continue it with --resume {out}, or name another folder"
        )


def is_resumable(out: Path) -> bool:
    """Whether a run that was to write `out` can be continued."""
    return (unfinished_folder(out) / ITEMS_FILE).is_file()


def last_unfinished(home: Path) -> Path | None:
    """The out folder in `home` whose run was stopped last and can be continued; None where there is none."""
    kept = [
        folder.with_suffix("")
        for folder in sorted(home.glob("*.unfinished"), reverse=True)
        if is_resumable(folder.with_suffix(""))
    ]
    return kept[0] if kept else None


def abandon(out: Path) -> Path:
    """Where what was asked for `out` stands from now on, which nobody is to continue."""
    return unfinished_folder(out).rename(out.with_name(f"{out.name}.abandoned"))


def drop_if_final(out: Path, run: ModelRun) -> None:
    """Remove what a run kept once its out folder stands and nothing is left to be resumed."""
    if not run.interrupted and all(result.is_final for result in run.results.values()):
        shutil.rmtree(unfinished_folder(out), ignore_errors=True)


def attempts_of(out: Path) -> Sequence[Attempt]:
    """The requests of the run that will write `out`, those of its shards included."""
    return rows_in(folders_of(unfinished_folder(out)))


def unscored(
    run: ModelRun, named: Callable[[ItemKey], tuple[Literal["verdict", "check", "item"], str]]
) -> list[ErrorReport]:
    """What a model was asked for and could not be had; `named` tells its kind, and what kind of item it is of."""
    stopped = ("not_asked", "the run was stopped before its end; --resume goes on with it")
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
            message=f"{named(key)[1]} {key.item_id}: {message}",
        )
        for key, (code, message) in lost.items()
    ]
