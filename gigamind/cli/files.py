"""Reads what a command is given: a UTF-8 file, or standard input for "-"."""

from collections.abc import Iterator

import click

from gigamind.errors import InputError

STDIN = "-"


def read_text(name: str, max_bytes: int) -> str:
    """The text of a file, a byte order mark at its start left off.

    Raises:
        InputError: it cannot be read, is larger than `max_bytes`, or is not UTF-8.
    """
    try:
        with click.open_file(name, "rb") as file:
            data: bytes = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{name}: cannot be read ({error})") from error
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
