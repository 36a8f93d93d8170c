"""The report of a search run over the examples, in a real Chromium."""

from pathlib import Path

import pytest

from gigamind.release.model import read_run
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture(scope="session")
def record(tmp_path_factory):
    """A run over the examples: 202 queries, 36 of them across languages, 44 unanswerable."""
    folder = tmp_path_factory.mktemp("run")
    options = SearchEvalOptions(
        dataset=EXAMPLES / "queries.jsonl",
        notes=EXAMPLES / "vault",
        mode="keyword",
        cache_dir=folder / "cache",
        out=folder / "out",
    )
    return read_run(evaluate(options).out, KINDS)
