"""An evaluation over five notes."""

import json

import pytest
from linked_notes import NOTES, ROWS
from vaults import write_vault

from gigamind import tasks
from gigamind.evaluation.options import validated
from gigamind.tasks.options import LinkEvalOptions


@pytest.fixture
def evaluate(tmp_path):
    write_vault(tmp_path / "notes", NOTES)

    def run(rows=ROWS, progress=None, **options):
        lines = (json.dumps(row) for row in rows)
        (tmp_path / "links.jsonl").write_text("\n".join(lines), encoding="utf-8")
        given = {
            "dataset": tmp_path / "links.jsonl",
            "notes": tmp_path / "notes",
            "out": tmp_path / "out",
            "semantic": False,
        }
        return tasks.evaluate(validated(LinkEvalOptions, given | options), progress)

    return run
