"""Reranking by a tiny real cross-encoder through fastembed and onnxruntime."""

import math
from dataclasses import replace
from functools import partial

import pytest
from tiny_model import LETTERS, tiny_matrix, write_tiny_model

from gigamind.errors import InputError
from gigamind.retrieval.prepare import _load_reranker
from gigamind.retrieval.settings import RetrievalSettings

NOTES = {
    "battery.md": "battery battery battery",
    "daily.md": "battery every day",
    "night.md": "battery at night, once more",
    "other.md": "nothing of it",
}


@pytest.fixture
def cross_encoder(tmp_path):
    folder = tmp_path / "pairs"
    folder.mkdir()
    write_tiny_model(folder, of_pairs=True)
    return f"fastembed:{folder}"


def by_hand(query, text):
    """The logistic function of the mean of the vectors of all characters."""
    rows = [LETTERS.find(c) + 2 if c in LETTERS else 1 for c in (query + text).lower() if c.strip()]
    return 1 / (1 + math.exp(-tiny_matrix()[rows].mean()))


def test_a_score_is_that_of_the_model_for_the_pair(cross_encoder):
    score = _load_reranker(cross_encoder)
    for pair in (("battery", "매일 밤"), ("a", "z"), ("Q!", "battery: day.")):
        assert score(*pair) == pytest.approx(by_hand(*pair), rel=1e-4)


@pytest.fixture
def search(opened):
    return partial(opened, NOTES, mode="keyword", topk=3)


def test_the_best_notes_are_ordered_anew_by_their_best_chunks(cross_encoder, search):
    with search() as plain, search(rerank=cross_encoder) as reranked:
        before, after = plain.search("battery"), reranked.search("battery")
    assert {hit.note for hit in after} == {hit.note for hit in before}
    scores = {hit.note: by_hand("battery", hit.chunk.indexed_text) for hit in before}
    assert [hit.note for hit in after] == sorted(scores, key=lambda note: -scores[note])
    assert [hit.note for hit in after] != [hit.note for hit in before]
    for hit in after:
        assert hit.base_score == hit.final_score == pytest.approx(scores[hit.note], rel=1e-4)


def test_settings_of_a_grid_are_reranked_as_a_search_is(cross_encoder, search):
    with search(rerank=cross_encoder) as reranked:
        plain = RetrievalSettings(mode="keyword", topk=3)
        grid = [plain, replace(plain, rerank=cross_encoder)]
        found = reranked.rankings("battery", grid)
        assert found[1] == [hit.note for hit in reranked.search("battery")]
        assert found[0] != found[1]


@pytest.mark.parametrize("name", ["litellm:x", "fastembed:", "fastembed:nowhere/none"])
def test_an_unknown_reranker_is_told(name):
    with pytest.raises(InputError):
        _load_reranker(name)
