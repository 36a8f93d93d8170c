"""Read files of other tools: bytes, text in several encodings, and lines with their places."""

import csv
import io
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from gigamind.errors import InputError, text_of
from gigamind.i18n import Message, _
from gigamind.loading import numbered_lines, read_bytes, read_text, refuse_problems

Fields = dict[str, object]
_OF_SAMPLES = {"input", "turns", "metric_input"}  # of runs of deepeval, and annotations of ragas


def placed_lines(path: Path, text: str) -> list[tuple[str, str]]:
    """Return the non-blank lines, stripped, each with its place as `file:line`."""
    return [(f"{path}:{number}", line.strip()) for number, line in numbered_lines(text)]


def json_lines(path: Path, what: Message) -> list[tuple[str, Fields]]:
    """Return the objects of a JSON lines file, each with its place; InputError if a line is not an object."""
    rows: list[tuple[str, Fields]] = []
    problems: list[Message] = []
    for place, line in placed_lines(path, read_text(path, what)):
        try:
            rows.append((place, _object(json.loads(line))))
        except (ValueError, RecursionError) as error:
            problem = _(
                "{place}: not a JSON object ({reason}). Write one per line.",
                place=place,
                reason=text_of(error),
            )
            problems.append(problem)
    refuse_problems(problems)
    return rows


def json_whole(path: Path, what: Message) -> object:
    """Return the value of a JSON file; an InputError names the line that is not JSON."""
    text = read_text(path, what)
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:  # also a number of 5 000 digits
        raise InputError(
            "{file}:{line}: invalid JSON ({reason}). Fix the line, or export the file again.",
            file=path,
            line=getattr(error, "lineno", 1),
            reason=getattr(error, "msg", str(error)),
        ) from error


def table_rows(path: Path, what: Message) -> list[tuple[str, Fields]]:
    """Return the rows of a table, each with its place: CSV, TSV, Parquet, JSON lines, or JSON.

    JSON is a list of rows, an object of columns, a test run of deepeval or annotations of ragas.

    Raises:
        InputError: it cannot be read in the format of its suffix, or has no rows.
        ModuleNotFoundError: gigamind was installed without its extra `parquet`.
    """
    match path.suffix.lower():
        case ".csv" | ".tsv":
            rows = list(_csv_rows(path, what))
        case ".jsonl":
            rows = json_lines(path, what)
        case ".json":
            rows = _json_rows(path, json_whole(path, what))
        case ".parquet":
            rows = _parquet_rows(path, what)
        case _:
            raise InputError(
                "{file}: the name of {what} must end in .csv, .json, .jsonl, .parquet or .tsv. Save it in one of"
                " these formats.",
                file=path,
                what=what,
            )
    if not rows:
        raise InputError("{file}: {what} has no rows. Export it again.", file=path, what=what)
    return rows


def _parquet_rows(path: Path, what: Message) -> list[tuple[str, Fields]]:
    content = read_bytes(path, what)
    pyarrow: Any = import_module("pyarrow")  # has no types
    try:
        rows = import_module("pyarrow.parquet").read_table(io.BytesIO(content)).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(
            "{file}: cannot be read ({reason}). Export it again.", file=path, reason=str(error)
        ) from error
    return [(f"{path}: row {at}", row) for at, row in enumerate(rows, start=1)]


def _csv_rows(path: Path, what: Message) -> Iterator[tuple[str, Fields]]:
    csv.field_size_limit(2**31 - 1)  # contexts of a row may be long
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(read_text(path, what), newline=""), delimiter=delimiter)
    try:
        start = 2
        for row in reader:
            if None in row:
                raise InputError(
                    "{file}:{line}: more cells than the header. Quote cells that contain commas.",
                    file=path,
                    line=start,
                )
            yield f"{path}:{start}", {name: cell for name, cell in row.items() if cell}
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            "{file}:{line}: invalid CSV ({reason}). Export it again.",
            file=path,
            line=reader.line_num,
            reason=str(error),
        ) from error


def _json_rows(path: Path, value: object) -> list[tuple[str, Fields]]:
    listed = cast("list[object]", value) if isinstance(value, list) else _sections(value)
    rows = listed if isinstance(value, list) else listed or _columns(value)
    if rows is None or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            "{file}: the JSON must be a list of rows or an object of columns. Export the data as JSON lines.",
            file=path,
        )
    return [(f"{path}: row {at}", _object(row)) for at, row in enumerate(rows, start=1)]


def _sections(value: object) -> list[object]:
    """Return the samples of a run, or of the metrics that annotated them, each once; [] without any."""
    rows: dict[str, object] = {}
    for part in cast("dict[str, object]", value).values() if isinstance(value, dict) else ():
        for cell in cast("list[object]", part) if isinstance(part, list) else ():
            row = cast("Fields", cell) if isinstance(cell, dict) else {}
            if row.keys() & _OF_SAMPLES:
                rows[str(row.get("metric_input", len(rows)))] = row
    return list(rows.values())


def _columns(value: object) -> list[object] | None:
    """Return the rows of {column: {row: value}}, as pandas writes them, or of {column: [values]}."""
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
        raise ValueError(_("found a value of type {type}", type=type(value).__name__))  # noqa: TRY004  the text is at fault
    return cast("Fields", value)
