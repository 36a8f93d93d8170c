"""Reads text that comes from outside: UTF-8, and no more of it than a limit allows."""

from collections.abc import Iterator
from pathlib import Path

from gigamind.errors import InputError


def read_text(path: Path, max_bytes: int) -> str:
    """The text of a file, a byte order mark at its start left off.

    Raises:
        InputError: it cannot be read, is larger than `max_bytes`, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise InputError(f"{path}: cannot be read ({reason})") from error
    return decoded(data, str(path), max_bytes)


def decoded(data: bytes, name: str, max_bytes: int) -> str:
    """The text of `data`, of which up to `max_bytes` + 1 bytes were read.

    Raises:
        InputError: it is larger than `max_bytes`, or not UTF-8.
    """
    if len(data) > max_bytes:
        raise InputError(f"{name}: larger than the limit of {max_bytes:,} bytes; split it")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: not UTF-8 text at byte {error.start}; convert it to UTF-8"
        ) from error


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, numbered from 1.  U+2028 ends no line: a JSON string may hold it."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line
