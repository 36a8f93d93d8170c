"""Writes a dataset as JSON lines, whole or not at all."""

import contextlib
import secrets
from collections.abc import Iterable
from pathlib import Path

from gigamind.datasets.schema import Row
from gigamind.errors import EvaluationError


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """One line for each row; fields without a value are left out.

    Raises:
        EvaluationError: the file cannot be written.
    """
    write_lines(
        path, [row.model_dump_json(exclude_none=True, exclude_defaults=True) for row in rows]
    )


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Rows that are JSON text already.

    Raises:
        EvaluationError: the file cannot be written.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
        aside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # its folder may be a file
            aside.unlink()
        raise EvaluationError(f"{path}: cannot be written ({error.strerror or error})") from error
