"""Many settings at once give the rankings that each gives by itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from gigamind.retrieval.cache import quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

VAULT = Path(__file__).parents[2] / "examples" / "vault"
QUERIES = ["휴가는 며칠까지 쓸 수 있나요?", "who approves a release", "porto", "zebra", ""]


@pytest.fixture(scope="module")
def search(examples_cache):
    """Opens a retriever over the examples under some settings."""
    vault = Vault.read(VAULT)

    def opened(**settings):
        chosen = RetrievalSettings(cache=examples_cache, **settings)
        return open_retriever(vault, Identities(vault.notes), chosen, quiet)

    return opened


@pytest.mark.parametrize("topk", [1, 200])
def test_rankings_are_those_of_each_setting_by_itself(search, topk):
    joined = [
        {"mode": "keyword"}, {"mode": "semantic"}, *({"alpha": alpha} for alpha in (0.0, 0.5, 1.0)),
        *({"fusion": "balanced", "title_weight": weight} for weight in (0.1, 1.0)),
    ]  # fmt: skip
    settings = [own | {"graph_rerank": moved} for own in joined for moved in (False, True)]
    with search(topk=topk) as retriever:
        base = RetrievalSettings(topk=topk)
        chosen = [replace(base, **own) for own in settings]
        found = [retriever.rankings(query, chosen) for query in QUERIES]
    for place, own in enumerate(settings):
        with search(topk=topk, **own) as alone:
            for query, rankings in zip(QUERIES, found, strict=True):
                assert [hit.note for hit in alone.search(query)] == rankings[place], (own, query)


def test_chunks_of_another_length_are_another_index(search):
    first, shorter = {"mode": "keyword"}, {"mode": "keyword", "chunk_chars": 600}
    with search(**first) as long, search(**shorter) as short, search(**first) as again:
        assert len(short.chunks) > len(long.chunks) == len(again.chunks)
        assert short.keyword.size == len(short.chunks)
        assert long.keyword.size == again.keyword.size == len(long.chunks)
        assert short.search("approval")[0].note == long.search("approval")[0].note


def test_keyword_settings_alone_need_no_vectors(search):
    base = RetrievalSettings(mode="keyword", topk=3)
    with search(mode="keyword", topk=3) as retriever:
        settings = [base, replace(base, graph_rerank=True)]
        plain, moved = retriever.rankings("release approval porto", settings)
        assert plain == [hit.note for hit in retriever.search("release approval porto")]
        assert len(plain) == len(moved) == 3
        assert retriever.rankings("qqqq", settings) == [[], []]
