import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes a file of bytes, text, rows of Parquet, or else JSON; its path."""

    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".parquet"):
            table = pytest.importorskip("pyarrow").Table.from_pylist(content)
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8", newline="")
        return path

    return put
