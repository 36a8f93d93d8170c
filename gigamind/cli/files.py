"""Read the input of a command: a UTF-8 file, or standard input for "-"."""

from pathlib import Path

import click

STDIN = "-"


def read_text(name: str, max_bytes: int) -> str:
    """Return the text of a file without a leading byte order mark.

    Raises:
        InputError: it cannot be read, is larger than `max_bytes`, or is not UTF-8.
    """
    from gigamind.evidence import schema as files

    if name != STDIN:
        return files.read_text(Path(name), max_bytes)
    with click.open_file(name, "rb") as file:
        data: bytes = file.read(max_bytes + 1)
    return files.decoded(data, "standard input", max_bytes)
