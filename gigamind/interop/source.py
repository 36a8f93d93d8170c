"""Reads files that other tools wrote: their bytes, their text in whatever encoding, their lines with places."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from gigamind.errors import InputError
from gigamind.loading import refuse_problems

Fields = dict[str, object]


def read_bytes(path: Path, what: str) -> bytes:
    """The content of a file.

    Raises:
        InputError: it cannot be read; `what` says what it is.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: {what} cannot be read ({error.strerror}); check its path"
        ) from error


def decoded(path: Path, content: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with its byte order mark.

    Raises:
        InputError: it is in another encoding; names the line.
    """
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if marked else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: not {encoding.removesuffix('-sig').upper()}; convert the file:"
            " iconv -f CP949 -t UTF-8 (or whatever it is in)"
        ) from error


def read_text(path: Path, what: str) -> str:
    """The text of a file; see `read_bytes` and `decoded`."""
    return decoded(path, read_bytes(path, what))


def placed_lines(path: Path, text: str) -> list[tuple[str, str]]:
    """The lines that are not blank, stripped, each behind its place as `file:line`."""
    return [
        (f"{path}:{number}", line.strip())
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]


def json_lines(path: Path, what: str) -> list[tuple[str, Fields]]:
    """The objects of a file of JSON lines, each behind its place.

    Raises:
        InputError: it cannot be read, or a line is no object.
    """
    rows: list[tuple[str, Fields]] = []
    problems: list[str] = []
    for place, line in placed_lines(path, read_text(path, what)):
        try:
            rows.append((place, _object(json.loads(line))))
        except (ValueError, RecursionError) as error:
            problems.append(f"{place}: no JSON object ({error}); write one a line")
    refuse_problems(problems)
    return rows


def json_whole(path: Path, what: str) -> object:
    """The value of a file that is one JSON text.

    Raises:
        InputError: it cannot be read, or is no JSON; names the line.
    """
    text = read_text(path, what)
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: broken JSON ({error.msg}); mend or export it anew"
        ) from error
    except (ValueError, RecursionError) as error:  # a number of 5 000 digits; nested too deeply
        raise InputError(f"{path}: cannot be read ({error}); export it anew") from error


def table_rows(path: Path, what: str) -> list[tuple[str, Fields]]:
    """The rows of a table in CSV, in JSON lines, or in JSON as a list of rows or as columns, each behind its place.

    Raises:
        InputError: it cannot be read as its name ends; or it has no row.
    """
    match path.suffix.lower():
        case ".csv":
            rows = list(_csv_rows(path, what))
        case ".jsonl":
            rows = json_lines(path, what)
        case ".json":
            rows = _json_rows(path, json_whole(path, what))
        case _:
            raise InputError(f"{path}: {what} must end in .csv, .json or .jsonl; save it as one")
    if not rows:
        raise InputError(f"{path}: {what} holds no row; export it anew")
    return rows


def _csv_rows(path: Path, what: str) -> Iterator[tuple[str, Fields]]:
    csv.field_size_limit(2**31 - 1)  # contexts of a row may be long
    reader = csv.DictReader(io.StringIO(read_text(path, what), newline=""))
    try:
        start = 2
        for row in reader:
            if None in row:
                raise InputError(
                    f"{path}:{start}: more cells than the header has; quote cells with commas"
                )
            yield f"{path}:{start}", {name: cell for name, cell in row.items() if cell}
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{reader.line_num}: broken CSV ({error}); export it anew"
        ) from error


def _json_rows(path: Path, value: object) -> list[tuple[str, Fields]]:
    rows = cast("list[object]", value) if isinstance(value, list) else _columns(value)
    if rows is None or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: neither a list of rows nor columns; export it as JSON lines")
    return [(f"{path}: row {at}", _object(row)) for at, row in enumerate(rows, start=1)]


def _columns(value: object) -> list[object] | None:
    """Rows of {column: {row: value}}, as pandas writes them, or of {column: [values]}."""
    table = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    columns: dict[str, list[object]] = {}
    for name, cells in table.items():
        if isinstance(cells, dict):
            columns[name] = list(cast("dict[str, object]", cells).values())
        elif isinstance(cells, list):
            columns[name] = cast("list[object]", cells)
    if not columns or len(columns) != len(table) or len({len(c) for c in columns.values()}) != 1:
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _object(value: object) -> Fields:
    if not isinstance(value, dict):
        raise ValueError("it is something else")  # noqa: TRY004  the text is at fault
    return cast("Fields", value)
