import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gigamind.datasets.jsonl import Dataset, read_queries

WriteRows = Callable[..., Path]


@pytest.fixture
def write_rows(tmp_path: Path) -> WriteRows:
    """Writes rows, each a dict (as JSON) or a line as it is, and gives the file's path."""

    def write(*rows: dict[str, object] | str) -> Path:
        path = tmp_path / "queries.jsonl"
        lines = (
            row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows
        )
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def read_rows(write_rows: WriteRows) -> Callable[..., Dataset]:
    """Writes rows and reads them as a dataset."""
    return lambda *rows: read_queries(write_rows(*rows))
