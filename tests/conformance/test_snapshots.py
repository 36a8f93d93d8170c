"""What only a run shows: the options that a snapshot names."""

import pytest
from row_files import write_rows

from gigamind.library import evaluate_search

ROW = {"id": "a", "query": "high tide", "answerable": True, "expected_notes": ["tides"]}


@pytest.fixture
def config(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "tides.md").write_text("High tide closes the southern gate.", "utf-8")
    dataset = write_rows(tmp_path / "queries.jsonl", [ROW])

    def taken(**options):
        untimed = {"speed_passes": 0, "warmup": 0}
        return evaluate_search(dataset, vault, mode="keyword", **untimed, **options).snapshot.config

    return taken


def test_a_snapshot_names_the_task_and_the_score_in_effect(config):
    named = ("task", "mode", "topk", "min_score", "unanswerable_mode")
    assert [config()[name] for name in named] == ["search", "keyword", 10, 0.3, "threshold"]
    assert config(min_score=0.2)["min_score"] == 0.2
    assert config(unanswerable_mode="calibrated")["min_score"] is None  # it uses none
