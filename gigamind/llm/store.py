"""Keeps validated answers, found by what was asked: the cache of one's own runs, and the cassette of a test.

One JSON file an answer, named by the SHA-256 of everything that could change it.  Nothing is pickled, a half-written
file cannot be seen, and an answer that failed validation is never kept.
"""

import asyncio
import hashlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gigamind.errors import InputError, LlmError
from gigamind.llm.settings import StoreMode

Record = Mapping[str, Any]
Result = TypeVar("Result")
_FORMAT = 1


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
            if key not in self._in_work:
                return await self._make(key, make), False
            await asyncio.wait([self._in_work[key]])

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

    def _read(self, key: str, read: Callable[[Record], Result]) -> Result | None:
        if self.mode == "refresh" and key not in self._made:
            return None
        try:
            return read(json.loads(self._path(key).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None

    def _write(self, key: str, record: Record) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        text = json.dumps(record, ensure_ascii=False, sort_keys=True, indent=1)
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(path)

    def _path(self, key: str) -> Path:
        return (self._folder or Path()) / key[:2] / f"{key}.json"
