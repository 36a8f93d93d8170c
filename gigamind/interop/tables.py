"""What other tools open: a table in CSV for spreadsheets, JSON lines for ragas."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """A table with a column for every name, in the order in which they are first met.

    It starts with a byte order mark, without which a spreadsheet shows Korean as rubbish.  Lists and objects are JSON.
    Texts that a spreadsheet would run as a formula get an apostrophe in front.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return "\ufeff" + file.getvalue()


def json_lines_text(rows: Sequence[Mapping[str, object]]) -> str:
    """A row a line; names without a value are left out."""
    return "".join(
        json.dumps({n: v for n, v in row.items() if v is not None}, ensure_ascii=False) + "\n"
        for row in rows
    )


def _cell(value: object) -> object:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
