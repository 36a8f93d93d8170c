from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from out_files import rows_of


@pytest.fixture
def lines() -> Callable[[Path, str], list[Any]]:
    """The rows of a file of an out folder."""
    return rows_of
