"""Store the results of a run, item by item: `items.jsonl` in its folder, which a later process can resume.

The file is an append-only journal of JSON lines with checksums and a single writer. A half-written last line is cut off
when the file is opened for writing. The first line is the identity of the run (dataset, notes, judge, options, as
hashes); it is resumed only with the same identity. The last line of an item counts.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
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
    reason_of,
    text_of,
)
from gigamind.i18n import Message, Text, from_json

_NEWLINE = b"\n"


class Journal(AbstractContextManager["Journal"]):
    """The single writer of a file, a context manager; `sync` waits until each line is on the disk.

    Raises:
        InputError: another process writes the file.
        UnwrittenError: it cannot be created.
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
            raise InputError(
                "{file}: another run is writing this file. Wait until it ends.", file=path
            ) from None
        os.ftruncate(self._descriptor, path.read_bytes().rfind(_NEWLINE) + 1)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file for the next writer."""
        os.close(self._descriptor)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line; it is in the file on return.

        Raises:
            UnwrittenError: the disk is full; the line is not in the file.
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
    return UnwrittenError(
        "{file}: cannot be written ({reason})", file=path, reason=reason_of(error)
    )


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file in order; none if it is missing.

    Raises:
        InputError: a complete line is not JSON, or was changed.
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
                    "{file}:{line}: the JSON object is not the one that gigamind wrote. The file was damaged"
                    " or edited.",
                    file=path,
                    line=number,
                )
            yield row


if sys.platform == "win32":
    import msvcrt

    # A lock blocks readers of the bytes that it covers, so it covers bytes that are never written.
    _LOCKED_AT = 2**62

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_AT, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Outcomes that another attempt would not change.
FINAL: frozenset[Outcome] = frozenset({"scored", "unscored", "refused"})
ITEMS_FILE = "items.jsonl"


class ItemKey(NamedTuple):
    """Key of a result: an item, and a part of its evaluation; "" is the main part."""

    item_id: str
    part: str = ""


@dataclass(frozen=True)
class ItemResult:
    """The result of an item."""

    item_id: str
    outcome: Outcome
    code: str = ""  # of the error; empty if scored
    message: Text = ""  # the error and how to fix it; empty if scored
    value: Any = None  # JSON values; None without a verdict
    latency_ms: float = 0.0  # wall time, including waiting
    part: str = ""  # see `ItemKey`

    @property
    def key(self) -> ItemKey:
        """Return the item and part of the result."""
        return ItemKey(self.item_id, self.part)

    @property
    def is_final(self) -> bool:
        """Return whether a resumed run would keep the result."""
        return self.outcome in FINAL

    def dump(self) -> dict[str, Any]:
        """Return JSON values; `message_parts` keeps a message translatable."""
        row = dict(vars(self))
        if isinstance(self.message, Message):
            row |= {"message": str(self.message), "message_parts": self.message.as_json()}
        return row

    @classmethod
    def load(cls, row: Mapping[str, Any]) -> Self:
        """Restore a result from `dump`; TypeError if there are other fields."""
        fields = dict(row)
        if parts := fields.pop("message_parts", None):
            fields["message"] = from_json(parts)
        return cls(**fields)


class RunStore(AbstractContextManager["RunStore"]):
    """The single writer of a run's results, a context manager; the `identity` must be equal to `resume` a run.

    Raises:
        InputError: there is no run to resume, it has another identity, or a run exists already.
    """

    def __init__(self, folder: Path, identity: Mapping[str, str], *, resume: bool = False) -> None:
        self._path = folder / ITEMS_FILE
        _check(self._path, list(islice(read_journal(self._path), 1)), identity, resume=resume)
        self._journal = Journal(self._path, sync=True)
        try:  # once more, as another run may have written before the lock
            rows = list(read_journal(self._path))
            _check(self._path, rows, identity, resume=resume)
            self.results = _results(rows)
        except InputError:
            self._journal.close()
            raise
        if not rows:
            self._journal.append({"run": dict(identity)})

    @staticmethod
    def check(folder: Path, identity: Mapping[str, str]) -> None:
        """Check that the run in `folder` has this identity; InputError if there is no run, or it has another one."""
        path = folder / ITEMS_FILE
        _check(path, list(islice(read_journal(path), 1)), identity, resume=True)

    def __exit__(self, *error: object) -> None:
        self._journal.close()

    def append(self, result: ItemResult) -> None:
        """Store a result; on return it survives a killed process and a power failure."""
        self._journal.append(result.dump())
        self.results[result.key] = result

    def final(self, key: ItemKey) -> ItemResult | None:
        """Return the result of an item that need not be evaluated again."""
        result = self.results.get(key)
        return result if result and result.is_final else None


def read_results(folder: Path) -> dict[ItemKey, ItemResult]:
    """Return the results of a running or finished run by item; none if there is no run.

    Raises:
        InputError: the file was edited.
    """
    return _results(list(read_journal(folder / ITEMS_FILE)))


def _results(rows: Sequence[Mapping[str, Any]]) -> dict[ItemKey, ItemResult]:
    try:
        results = [ItemResult.load(row) for row in rows[1:]]
    except TypeError as error:
        raise InputError(
            "{file}: invalid result ({reason}). The file was damaged or edited.",
            file=ITEMS_FILE,
            reason=text_of(error),
        ) from error
    return {result.key: result for result in results}


def _check(
    path: Path, rows: list[dict[str, Any]], identity: Mapping[str, str], *, resume: bool
) -> None:
    if not resume:
        if rows:
            raise InputError(
                "{file}: a run exists already. Continue it with --resume, or name another folder.",
                file=path,
            )
        return
    if not rows:
        if path.is_file():  # killed, or disk full, before its identity was written
            return
        raise InputError("{file}: there is no run to resume", file=path)
    before: Mapping[str, str] = rows[0].get("run", {})
    changed = [name for name in {**before, **identity} if before.get(name) != identity.get(name)]
    if changed:
        raise OtherRunError(
            "{file}: the run cannot be resumed, because these inputs or options changed: {names}. Start a new"
            " run.",
            file=path,
            names=changed,
        )


_Item = TypeVar("_Item")
_OUTCOMES: dict[str, Outcome] = {
    "refused": "refused",
    "content_filtered": "refused",
    "invalid_output": "unscored",
    "truncated": "unscored",
    "context_too_long": "unscored",
    "budget_exceeded": "skipped_budget",
}


def outcome_of(code: str) -> Outcome:
    """Return the outcome of an item that ends with an error of this code."""
    return _OUTCOMES.get(code, "error")


async def evaluate_all(
    items: Mapping[ItemKey, _Item],
    evaluate: Callable[[ItemKey, _Item], Awaitable[Any]],
    store: RunStore,
    *,
    max_in_flight: int,
) -> list[ItemResult]:
    """Evaluate all items and return a result for each, in their order; `evaluate` returns JSON values.

    A known error ends its item, which a resumed run repeats if that may help. Any other error ends the run.
    """
    waiting = iter([key for key in items if store.final(key) is None])
    skipped: dict[ItemKey, ItemResult] = {}

    async def work() -> None:
        for key in waiting:  # shared by all workers
            result = await _result(key, evaluate(key, items[key]))
            if result.outcome == "skipped_budget":
                skipped[key] = result  # nothing worth keeping happened
            else:
                store.append(result)

    async with asyncio.TaskGroup() as group:
        for _worker in range(min(max_in_flight, len(items))):
            group.create_task(work())
    known = {**store.results, **skipped}
    return [known[key] for key in items]


async def _result(key: ItemKey, evaluation: Awaitable[Any]) -> ItemResult:
    start = time.perf_counter()
    result = ItemResult(key.item_id, "scored", part=key.part)
    try:
        result = replace(result, value=await evaluation)
    except UnwrittenError:
        raise  # the next result could not be stored either
    except GigamindError as error:
        code = error.code if isinstance(error, LlmError) else type(error).__name__
        result = replace(result, outcome=outcome_of(code), code=code, message=error.message)
    return replace(result, latency_ms=round(1000 * (time.perf_counter() - start), 3))


async def unless_final(evaluation: Awaitable[_Item]) -> _Item | None:
    """Return the result of a repeated evaluation; None if it failed for good, so that nothing can be compared.

    Raises:
        LlmError: it failed, and may succeed later.
    """
    try:
        return await evaluation
    except LlmError as error:
        if outcome_of(error.code) not in FINAL:
            raise
        return None
