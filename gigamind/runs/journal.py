"""A file of JSON lines that only grows: one writer at a time, whole lines only, and a killed process loses none.

A line that a killed writer left half-written is cut off when the next one opens the file, and left out by readers.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gigamind.errors import InputError

_NEWLINE = b"\n"


class Journal:
    """The one writer of a file.  Use it as a context manager.

    Args:
        sync: wait until each line is on the disk, so that it survives a power cut as well.

    Raises:
        InputError: another process writes the file.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._sync = sync
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise InputError(f"{path}: another run is writing it; wait for its end") from None
        os.ftruncate(self._descriptor, _whole_bytes(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the next writer in."""
        os.close(self._descriptor)

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one line; it is in the file on return."""
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        left = line.encode() + _NEWLINE
        while left:  # a write may be cut short
            left = left[os.write(self._descriptor, left) :]
        if self._sync:
            os.fsync(self._descriptor)


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file in order; none when it is absent.

    Raises:
        InputError: a whole line is no JSON object.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(_NEWLINE):
                return
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise InputError(
                    f"{path}:{number}: not a JSON object; the file was changed by hand"
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
