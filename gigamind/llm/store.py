"""Validated replies on disk, found by the request: a cache between runs, and a cassette for tests.

One JSON file per reply, named by the SHA-256 of everything that can change it.  A checksum detects damaged files, whose
replies are requested again.  Nothing is pickled, writes are atomic, and invalid replies are never stored.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gigamind.checksum import checked, with_checksum
from gigamind.choices import StoreMode
from gigamind.errors import InputError, LlmError, UnwrittenError, reason_of
from gigamind.i18n import _
from gigamind.runs.folders import private_file
from gigamind.runs.store import Journal

Record = Mapping[str, Any]
_Reply = TypeVar("_Reply")
_FORMAT = 1
_LOOK_S = 0.2
_ENTRY = re.compile(r"[0-9a-f]{64}\.json(?:\.asked)?|\.[0-9a-f]{64}\.json\.\d+\.[0-9a-f]{8}")


def key_of(request: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hexadecimal, of a request given as JSON values in any order."""
    text = json.dumps({"format": _FORMAT, **request}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """A folder of replies; mode `refresh` requests all again and stores them, and a miss in `replay` is an error."""

    def __init__(self, folder: Path | None = None, mode: StoreMode = "off") -> None:
        if folder is None and mode != "off":
            raise InputError(
                "the store mode {mode} requires a folder for stored replies", mode=mode
            )
        self._folder = folder or Path()
        self.mode: StoreMode = mode
        self._made: set[str] = set()
        self._in_work: dict[str, asyncio.Future[None]] = {}
        self._troubles: set[str] = set()
        self.shared = False
        """Whether other processes send the same requests; then each reply is requested by only one of them."""
        self.tell: Callable[[str], None] = lambda _line: None
        """Receives each kind of problem once; a run works without its store."""

    async def fetch(
        self,
        key: str,
        read: Callable[[Record], _Reply],
        make: Callable[[], Awaitable[tuple[Record, _Reply]]],
    ) -> tuple[_Reply, bool]:
        """Return the stored reply and True, or the reply from `make`, which is then stored, and False.

        Of concurrent callers with the same key, one makes the reply and the others wait until it is validated; if that
        fails, the next one tries.  `read` raises ValueError for an unusable record, which counts as a miss.
        Raises LlmError (`cassette_miss`), or as `make`.
        """
        if self.mode == "off":
            return (await make())[1], False
        while True:
            stored = self._read(key, read)
            if stored is not None:
                return stored, True
            if self.mode == "replay":
                raise LlmError(
                    "no reply is stored for the request {key:.16}, and replay mode sends no requests",
                    "cassette_miss",
                    key=key,
                )
            if key in self._in_work:
                await asyncio.wait([self._in_work[key]])
                continue
            with self._claimed(key) as is_ours:
                # Another process may have stored it since the first look.
                stored = self._read(key, read) if is_ours and self.shared else None
                if stored is not None:
                    return stored, True
                if is_ours:
                    return await self._make(key, make), False
            await asyncio.sleep(_LOOK_S)

    async def _make(self, key: str, make: Callable[[], Awaitable[tuple[Record, _Reply]]]) -> _Reply:
        done = self._in_work[key] = asyncio.get_running_loop().create_future()
        try:
            record, result = await make()
            self._write(key, record)
            self._made.add(key)
            return result
        finally:
            del self._in_work[key]
            done.set_result(None)

    @contextlib.contextmanager
    def _claimed(self, key: str) -> Generator[bool]:
        if not self.shared or self.mode != "readwrite":
            yield True
            return
        path = reply_file(self._folder, key).with_suffix(".json.asked")
        try:
            claim = Journal(path)
        except UnwrittenError:  # nothing can be stored, so nobody else would find it
            yield True
            return
        except InputError:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
            claim.close()

    def _read(self, key: str, read: Callable[[Record], _Reply]) -> _Reply | None:
        if self.mode == "refresh" and key not in self._made:
            return None
        path = reply_file(self._folder, key)
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            self._tell_once(
                _(
                    "{file}: the stored reply cannot be read: {reason}. gigamind requests the reply again.",
                    file=path,
                    reason=reason,
                ),
                "unread",
            )
            return None
        try:
            reply = read(checked(json.loads(text)))
        except (ValueError, TypeError, LookupError, RecursionError):
            self._tell_once(
                _(
                    "{file}: this file does not contain the expected reply. gigamind requests the reply again.",
                    file=path,
                ),
                "foreign",
            )
            return None
        with contextlib.suppress(OSError):  # owned by another user, or read-only
            os.utime(path)  # marks it as used: see `unused_replies`
        return reply

    def _write(self, key: str, record: Record) -> None:
        text = json.dumps(with_checksum(record), ensure_ascii=False, sort_keys=True, indent=1)
        try:
            with private_file(reply_file(self._folder, key)) as unfinished:
                unfinished.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            self._tell_once(
                _(
                    "{folder}: model replies cannot be stored: {reason}. This run uses the replies, but another"
                    " run must pay for them again.",
                    folder=self._folder,
                    reason=reason_of(error),
                ),
                "unkept",
            )

    def _tell_once(self, line: str, kind: str) -> None:
        if kind not in self._troubles:
            self._troubles.add(kind)
            self.tell(line)


def reply_file(folder: Path, key: str) -> Path:
    """Return the file of a reply in a folder of replies."""
    return folder / key[:2] / f"{key}.json"


def unused_replies(folder: Path, since: float) -> Iterator[Path]:
    """Yield the replies unused since a time (epoch seconds), and temporary files of killed runs."""
    for path in sorted(folder.glob("[0-9a-f][0-9a-f]/*.json*")):
        with contextlib.suppress(FileNotFoundError):  # removed by another cleanup
            if _ENTRY.fullmatch(path.name) and path.stat().st_mtime < since:
                yield path
