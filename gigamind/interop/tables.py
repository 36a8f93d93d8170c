"""Tables for other tools: CSV for spreadsheets, JSON lines for ragas, data frames."""

import csv
import importlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gigamind.errors import InputError

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a CSV table with a column for every name, in order of first appearance; lists and objects as JSON.

    It starts with a byte order mark for Korean in spreadsheets. Texts that would run as a formula get an apostrophe.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return "\ufeff" + file.getvalue()


def optional(library: str) -> Any:  # noqa: ANN401  a module
    """Return a library that users install themselves, such as pandas; InputError if it is missing."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise InputError(
            "{library} is missing. Install it: pip install {library}", library=library
        ) from error


def data_frame(library: str, rows: Sequence[Mapping[str, object]]) -> Any:  # noqa: ANN401  of that library
    """Return a data frame of pandas or polars, objects as JSON; InputError if the library is not installed."""
    frames = optional(library)
    names = dict.fromkeys(name for row in rows for name in row)
    return frames.DataFrame({name: [_plain(row.get(name)) for row in rows] for name in names})


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


def flat_row(item: Mapping[str, Any]) -> dict[str, object]:
    """Return an item of a run as a row: a name for each metric, notes for a ranking, and no other nested values."""
    row: dict[str, object] = {}
    for name, value in item.items():
        if name == "ranking":
            row[name] = [hit["note"] for hit in value]
        elif name == "metrics":
            row |= value
        elif name == "gains" or not (
            isinstance(value, Mapping)
            or (isinstance(value, list) and (not value or isinstance(value[0], Mapping)))
        ):
            row[name] = value
    return row


def json_lines_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return one JSON object per row; names without a value are left out."""
    return "".join(
        json.dumps({n: v for n, v in row.items() if v is not None}, ensure_ascii=False) + "\n"
        for row in rows
    )


def _cell(value: object) -> object:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
