from collections.abc import Callable
from pathlib import Path

import pytest
from row_files import write_rows

from gigamind.datasets.jsonl import Dataset, read_queries


@pytest.fixture
def read_rows(tmp_path: Path) -> Callable[..., Dataset]:
    """Writes rows, each a dict or a line as it is, and reads them as a dataset."""
    return lambda *rows: read_queries(write_rows(tmp_path / "queries.jsonl", rows))
