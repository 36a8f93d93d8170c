"""Keeps validated answers, found by what was asked: the cache of one's own runs, and the cassette of a test.

One JSON file an answer, named by the SHA-256 of everything that could change it, with that of what it holds: one that a
disk has damaged is asked for anew.  Nothing is pickled, a half-written file cannot be seen, and an answer that failed
validation is never kept.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gigamind.checksum import checked, with_checksum
from gigamind.errors import InputError, LlmError, UnwrittenError
from gigamind.llm.settings import StoreMode
from gigamind.runs.folders import private_folder
from gigamind.runs.store import Journal

Record = Mapping[str, Any]
Result = TypeVar("Result")
_FORMAT = 1
_LOOK_S = 0.2
_ENTRY = re.compile(r"[0-9a-f]{64}\.json(?:\.asked)?|\.[0-9a-f]{64}\.json\.\d+\.[0-9a-f]{8}")


def key_of(request: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of what was asked: JSON values only, in any order."""
    text = json.dumps({"format": _FORMAT, **request}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """A folder of answers.

    Args:
        mode: `readwrite` reads and keeps; `refresh` asks anew and keeps; `replay` reads only, and a miss is an error;
            `off` does neither.
    """

    def __init__(self, folder: Path | None = None, mode: StoreMode = "off") -> None:
        if folder is None and mode != "off":
            raise InputError(f"a store in mode {mode} needs a folder")
        self._folder = folder
        self.mode: StoreMode = mode
        self._made: set[str] = set()
        self._in_work: dict[str, asyncio.Future[None]] = {}
        self._troubles: set[str] = set()
        self.shared = False
        """Whether other processes ask the same now: then they make an answer once, too."""
        self.tell: Callable[[str], None] = lambda _line: None
        """Told once of what cannot be read or kept: a store is a help, and what was paid for counts without it."""

    async def fetch(
        self,
        key: str,
        read: Callable[[Record], Result],
        make: Callable[[], Awaitable[tuple[Record, Result]]],
    ) -> tuple[Result, bool]:
        """The stored answer and True, else that of `make` and False, which is then kept.

        Of several that ask for the same at the same time, one makes it and the others wait until it is validated;
        should that fail, the next one tries.  `read` raises ValueError for a record that it cannot use: a miss.

        Raises:
            LlmError: with code `cassette_miss`, or what `make` raises.
        """
        if self.mode == "off":
            return (await make())[1], False
        while True:
            stored = self._read(key, read)
            if stored is not None:
                return stored, True
            if self.mode == "replay":
                raise LlmError(f"no recorded answer for request {key[:16]}", "cassette_miss")
            if key in self._in_work:
                await asyncio.wait([self._in_work[key]])
                continue
            with self._claimed(key) as is_ours:
                # Another process may have made it since it was looked for.
                stored = self._read(key, read) if is_ours and self.shared else None
                if stored is not None:
                    return stored, True
                if is_ours:
                    return await self._make(key, make), False
            await asyncio.sleep(_LOOK_S)

    async def _make(self, key: str, make: Callable[[], Awaitable[tuple[Record, Result]]]) -> Result:
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
        """Whether no other process makes this answer, as long as the block lasts."""
        if not self.shared or self.mode != "readwrite":
            yield True
            return
        path = self._path(key).with_suffix(".json.asked")
        try:
            claim = Journal(path)
        except UnwrittenError:  # nothing can be kept, so nobody else would find it
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

    def _read(self, key: str, read: Callable[[Record], Result]) -> Result | None:
        if self.mode == "refresh" and key not in self._made:
            return None
        path = self._path(key)
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            self._tell_once(
                f"{path}: cannot be read ({_why(error)}): it is asked for anew", "unread"
            )
            return None
        try:
            reply = read(checked(json.loads(text)))
        except (ValueError, TypeError, LookupError, RecursionError):
            self._tell_once(f"{path}: holds no such reply: it is asked for anew", "foreign")
            return None
        with contextlib.suppress(OSError):  # of somebody else, or read-only
            os.utime(path)  # used now: see `unused_replies`
        return reply

    def _write(self, key: str, record: Record) -> None:
        path = self._path(key)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        text = json.dumps(with_checksum(record), ensure_ascii=False, sort_keys=True, indent=1)
        try:
            private_folder(path.parent)
            unfinished.write_text(text + "\n", encoding="utf-8")
            unfinished.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            self._tell_once(
                f"{self._folder}: replies cannot be kept ({_why(error)}): they count, and would be paid for again",
                "unkept",
            )

    def _tell_once(self, line: str, kind: str) -> None:
        """Tell the first trouble of a kind: hundreds of replies have the same."""
        if kind not in self._troubles:
            self._troubles.add(kind)
            self.tell(line)

    def _path(self, key: str) -> Path:
        return (self._folder or Path()) / key[:2] / f"{key}.json"


def unused_replies(folder: Path, since: float) -> Iterator[Path]:
    """The answers in a store that no run has made or read since then, and what one left that was killed while it wrote.

    Args:
        since: seconds since the epoch.
    """
    for path in sorted(folder.glob("[0-9a-f][0-9a-f]/*.json*")):
        with contextlib.suppress(FileNotFoundError):  # another run of a cleanup was first
            if _ENTRY.fullmatch(path.name) and path.stat().st_mtime < since:
                yield path


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
