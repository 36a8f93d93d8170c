"""What only a run shows: the options that a snapshot names."""

import pytest

from gigamind.assets import asset
from gigamind.library import evaluate_search


@pytest.fixture(scope="module")
def config():
    def taken(**options):
        examples = asset("examples")
        run = evaluate_search(
            examples / "queries.jsonl",
            examples / "vault",
            mode="keyword",
            sample="4",
            speed_passes=0,
            warmup=0,
            **options,
        )
        return run.snapshot.config

    return taken


def test_a_snapshot_names_the_task_and_the_score_in_effect(config):
    named = ("task", "mode", "topk", "min_score", "unanswerable_mode")
    assert [config()[name] for name in named] == ["search", "keyword", 10, 0.3, "threshold"]
    assert config(min_score=0.2)["min_score"] == 0.2


def test_a_judge_that_holds_no_score_against_anything_has_none_in_the_snapshot(config):
    assert config(unanswerable_mode="calibrated")["min_score"] is None
