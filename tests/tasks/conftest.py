import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def lines() -> Callable[[Path, str], list[Any]]:
    """The rows of a file of an out folder."""

    def read(folder: Path, name: str) -> list[Any]:
        return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]

    return read
