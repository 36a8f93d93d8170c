"""What only a run shows: the options that a snapshot names."""

import pytest

from gigamind.assets import asset
from gigamind.library import evaluate_search

EXAMPLES = asset("examples")


@pytest.fixture
def config(monkeypatch, examples_cache):
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))

    def taken(**options):
        return evaluate_search(
            EXAMPLES / "queries.jsonl",
            EXAMPLES / "vault",
            mode="keyword",
            sample="4",
            speed_passes=0,
            warmup=0,
            **options,
        ).snapshot.config

    return taken


def test_a_snapshot_names_the_task_and_the_score_in_effect(config):
    named = ("task", "mode", "topk", "min_score", "unanswerable_mode")
    assert [config()[name] for name in named] == ["search", "keyword", 10, 0.3, "threshold"]
    assert config(min_score=0.2)["min_score"] == 0.2
    assert config(unanswerable_mode="calibrated")["min_score"] is None  # it uses none
