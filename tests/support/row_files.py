"""JSON Lines: the files that hold a row on each line."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def as_lines(rows: Iterable[Mapping[str, Any] | str]) -> str:
    """The rows as JSON, each on a line; a row that is a text is a line as it is."""
    texts = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    return "".join(f"{text}\n" for text in texts)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """The file, which now holds these rows."""
    path.write_text(as_lines(rows), "utf-8")
    return path


def read_rows(path: Path) -> list[Any]:
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def query_row(name: str, query: str, *notes: str, **more: object) -> dict[str, Any]:
    """A row of queries.jsonl, which these notes answer; unanswerable without any."""
    return {
        "id": name,
        "query": query,
        "answerable": bool(notes),
        "expected_notes": [*notes],
        **more,
    }
