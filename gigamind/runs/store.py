"""The results of a run, item by item as they end: `items.jsonl` in its folder, which a later process can continue.

The file is a journal: JSON lines that only grow, one writer at a time, whole lines only, each with its checksum, and a
killed process loses none.  A line that a killed writer left half-written is cut off when the next one opens the file,
and left out by readers.  The first line tells what the run is of (dataset, notes, judge, options, as hashes); it is
resumed only with the same.  Each line after it is one item; should an item stand there twice, the later line holds.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from gigamind.checksum import checked, with_checksum
from gigamind.errors import (
    GigamindError,
    InputError,
    LlmError,
    OtherRunError,
    Outcome,
    UnwrittenError,
    fault_of,
)

_NEWLINE = b"\n"


class Journal:
    """The one writer of a file.  Use it as a context manager.

    Args:
        sync: wait until each line is on the disk, so that it survives a power cut as well.

    Raises:
        InputError: another process writes the file.
        UnwrittenError: it cannot be made.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self._path = path
        self._sync = sync
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise _unwritten(path, error) from error
        try:
            _lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise InputError(f"{path}: another run is writing it; wait for its end") from None
        os.ftruncate(self._descriptor, _whole_bytes(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the next writer in."""
        os.close(self._descriptor)

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one line; it is in the file on return.

        Raises:
            UnwrittenError: the disk is full; none of the line is in the file then.
        """
        line = json.dumps(
            with_checksum(row), ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        left = line.encode() + _NEWLINE
        before = os.fstat(self._descriptor).st_size
        try:
            while left:  # a write may be cut short
                left = left[os.write(self._descriptor, left) :]
            if self._sync:
                os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, before)
            raise _unwritten(self._path, error) from error


def _unwritten(path: Path, error: OSError) -> UnwrittenError:
    return UnwrittenError(f"{path}: cannot be written ({error.strerror or error})")


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file in order; none when it is absent.

    Raises:
        InputError: a whole line is no JSON object, or not the one that was written.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(_NEWLINE):
                return
            try:
                row = checked(json.loads(line))
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise InputError(
                    f"{path}:{number}: not a JSON object as it was written; the file was damaged or changed by hand"
                )
            yield row


def _whole_bytes(path: Path) -> int:
    """Length of the file up to its last line break."""
    data = path.read_bytes()
    return data.rfind(_NEWLINE) + 1


if sys.platform == "win32":
    import msvcrt

    # A lock keeps readers out of the bytes it covers; these are never written.
    _LOCKED_AT = 2**62

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_AT, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# What another attempt would not change.
FINAL: frozenset[Outcome] = frozenset({"scored", "unscored", "refused"})
ITEMS_FILE = "items.jsonl"


class ItemKey(NamedTuple):
    """What a result is of: an item, and which part of what is asked about it; "" is the main one."""

    item_id: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """How one item ended.

    Attributes:
        code: of the error; empty when scored.
        message: what went wrong and how to mend it; empty when scored.
        value: JSON values; None without a verdict, unless what led there was kept.
        latency_ms: wall time, waiting included.
        passing: what went wrong may pass, whatever the outcome.
        part: see `ItemKey`.
    """

    item_id: str
    outcome: Outcome
    code: str = ""
    message: str = ""
    value: Any = None
    latency_ms: float = 0.0
    passing: bool = False
    part: str = ""

    @property
    def key(self) -> ItemKey:
        """What it is of."""
        return ItemKey(self.item_id, self.part)

    @property
    def is_final(self) -> bool:
        """Whether a resumed run would get nothing else."""
        return self.outcome in FINAL and not self.passing


@dataclass(frozen=True, slots=True)
class Unscored:
    """An item without a verdict of which something is worth keeping; as an error ends one without.

    Attributes:
        kept: JSON values.
        passing: another attempt may end otherwise.
    """

    code: str
    message: str
    kept: Any
    passing: bool = False


class RunStore:
    """The one writer of a run's results.  Use it as a context manager.

    Args:
        identity: what the run is of; strings that must be the same for a resumed run.
        resume: continue the run in `folder` instead of starting one there.

    Raises:
        InputError: there is no run to resume, it is of something else, or one is there already.
    """

    def __init__(self, folder: Path, identity: Mapping[str, str], *, resume: bool = False) -> None:
        self._path = folder / ITEMS_FILE
        rows = list(read_journal(self._path))
        _check(self._path, rows, identity, resume=resume)
        self.results = _results(rows)
        self._journal = Journal(self._path, sync=True)
        if not rows:
            self._journal.append({"run": dict(identity)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()

    def append(self, result: ItemResult) -> None:
        """Keep a result; on return it survives a killed process and a power cut."""
        self._journal.append(asdict(result))
        self.results[result.key] = result

    def final(self, key: ItemKey) -> ItemResult | None:
        """The result of an item that need not be evaluated again."""
        result = self.results.get(key)
        return result if result and result.is_final else None


def read_results(folder: Path) -> dict[ItemKey, ItemResult]:
    """The results of a run by item, while it lasts or later; none when there is no run.

    Raises:
        InputError: the file was changed by hand.
    """
    return _results(list(read_journal(folder / ITEMS_FILE)))


def check_run(folder: Path, identity: Mapping[str, str]) -> None:
    """See to it that what is asked here is what the run in `folder` is of.

    Raises:
        InputError: there is no run, or it is of something else.
    """
    path = folder / ITEMS_FILE
    _check(path, list(islice(read_journal(path), 1)), identity, resume=True)


def _results(rows: Sequence[Mapping[str, Any]]) -> dict[ItemKey, ItemResult]:
    """Those of the lines behind the first; of two of one item, the later one."""
    try:
        results = [ItemResult(**row) for row in rows[1:]]
    except TypeError as error:
        raise InputError(
            f"{ITEMS_FILE}: holds what is no result ({error}); the file was damaged or changed by hand"
        ) from error
    return {result.key: result for result in results}


def _check(
    path: Path, rows: list[dict[str, Any]], identity: Mapping[str, str], *, resume: bool
) -> None:
    if not resume:
        if rows:
            raise InputError(
                f"{path}: a run is there already; continue it with --resume, or name another folder"
            )
        return
    if not rows:
        if path.is_file():  # killed, or without room, before it could tell what it is of
            return
        raise InputError(f"{path}: there is no run to resume")
    before: Mapping[str, str] = rows[0].get("run", {})
    changed = [name for name in {**before, **identity} if before.get(name) != identity.get(name)]
    if changed:
        raise OtherRunError(
            f"{path}: the run cannot be resumed, for these differ: {', '.join(changed)}; start a new one"
        )


Item = TypeVar("Item")
_OUTCOMES: dict[str, Outcome] = {
    "refused": "refused",
    "content_filtered": "refused",
    "invalid_output": "unscored",
    "truncated": "unscored",
    "context_too_long": "unscored",
    "panel_incomplete": "unscored",
    "panel_tied": "unscored",
    "budget_exceeded": "skipped_budget",
}


def outcome_of(code: str) -> Outcome:
    """How an item ends with an error of this code."""
    return _OUTCOMES.get(code, "error")


async def evaluate_all(
    items: Mapping[ItemKey, Item],
    evaluate: Callable[[ItemKey, Item], Awaitable[Any]],
    store: RunStore,
    *,
    max_in_flight: int,
) -> list[ItemResult]:
    """One result an item, by id, in the order of `items`; `evaluate` gives JSON values, or `Unscored`.

    A known error ends its item, and is tried again by a resumed run if that may help.  Anything else is a bug, and ends
    the run; what has ended before is kept.
    """
    waiting = iter([key for key in items if store.final(key) is None])
    skipped: dict[ItemKey, ItemResult] = {}
    async with asyncio.TaskGroup() as group:
        for _ in range(min(max_in_flight, len(items))):
            group.create_task(_work(waiting, items, evaluate, store, skipped))
    known = {**store.results, **skipped}
    return [known[key] for key in items]


async def _work(
    waiting: Iterator[ItemKey],
    items: Mapping[ItemKey, Item],
    evaluate: Callable[[ItemKey, Item], Awaitable[Any]],
    store: RunStore,
    skipped: dict[ItemKey, ItemResult],
) -> None:
    for key in waiting:  # shared by all workers
        result = await _result(key, evaluate(key, items[key]))
        if result.outcome == "skipped_budget":
            skipped[key] = result  # nothing happened that would be worth keeping
        else:
            store.append(result)


async def _result(key: ItemKey, evaluation: Awaitable[Any]) -> ItemResult:
    start = time.perf_counter()

    def ended(outcome: Outcome, code: str = "", message: str = "", **more: Any) -> ItemResult:  # noqa: ANN401  JSON values
        latency_ms = round(1000 * (time.perf_counter() - start), 3)
        return ItemResult(
            key.item_id, outcome, code, message, latency_ms=latency_ms, part=key.part, **more
        )

    try:
        value = await evaluation
    except UnwrittenError:
        raise  # the next item would not be kept either
    except GigamindError as error:
        code = error.code if isinstance(error, LlmError) else type(error).__name__
        return ended(outcome_of(code), code, str(error))
    # Of a judge of a team's own: it would end all, in exit code 0 perhaps.
    except SystemExit as error:
        return ended(
            "error",
            type(error).__name__,
            f"the code of the judge called sys.exit ({fault_of(error)})",
        )
    if isinstance(value, Unscored):
        return ended("unscored", value.code, value.message, value=value.kept, passing=value.passing)
    return ended("scored", value=value)


async def unless_final(asked: Awaitable[Item]) -> Item | None:
    """What a second question about an item gave; None where it failed for good, for then nothing is known to flip.

    Raises:
        LlmError: it failed, and may not again.
    """
    try:
        return await asked
    except LlmError as error:
        if outcome_of(error.code) not in FINAL:
            raise
        return None
