"""An evaluation over five notes."""

import pytest
from linked_notes import ROWS, write_linked_notes

from gigamind import tasks
from gigamind.evaluation.options import validated
from gigamind.tasks.options import LinkEvalOptions


@pytest.fixture
def evaluate(tmp_path):
    def run(rows=ROWS, progress=None, **options):
        write_linked_notes(tmp_path / "notes", tmp_path / "links.jsonl", rows)
        given = {
            "dataset": tmp_path / "links.jsonl",
            "notes": tmp_path / "notes",
            "out": tmp_path / "out",
            "semantic": False,
        }
        return tasks.evaluate(validated(LinkEvalOptions, given | options), progress)

    return run
