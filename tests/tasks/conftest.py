from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from gigamind.prompting.prompts import Prompt

_read: dict[tuple[Path, frozenset[str]], Prompt] = {}


@pytest.fixture(autouse=True, scope="module")
def prompts_read_once() -> Iterator[None]:
    """Prompts that come with gigamind are read once: for each run that takes a tenth of its CPU time."""
    load = Prompt.load

    def load_once(path: Path, given: Collection[str]) -> Prompt:
        key = path, frozenset(given)
        if key not in _read:
            _read[key] = load(path, given)
        return _read[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prompt, "load", load_once)
        yield
