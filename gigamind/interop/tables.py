"""Write tables for other tools: CSV for spreadsheets, JSON lines for ragas."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

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
