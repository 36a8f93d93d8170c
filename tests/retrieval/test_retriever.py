"""Search end to end over the example vault with the real encoder and engine, held against a plain computation."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from gigamind.judges.unanswerable import ThresholdJudge
from gigamind.retrieval.cache import Cache, embed_all, quiet
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.spans import Passage
from gigamind.text import tokens
from gigamind.vault.graph import centrality, link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

QUERIES = [
    "배터리는 언제 교체하나요?",
    "How are bikes moved between stations at night?",
    "rebalancing 트럭 경로",
    "zebra quantum flavour",
]
MODES = [
    *(("hybrid", alpha) for alpha in (0.7, 0.2, 1.0, 0.0)),
    ("semantic", 0.7),
    ("keyword", 0.7),
]


@pytest.fixture(scope="session")
def vault():
    return Vault.read(Path(__file__).parents[2] / "examples" / "vault")


@pytest.fixture(scope="session")
def open_with(vault, examples_cache):
    """Retrievers over the example vault by their settings; each is opened once, and closed at the end."""
    opened = {}

    def open_(topk=10, **settings):
        key = tuple(sorted(settings.items()))
        if key not in opened:
            opened[key] = open_retriever(
                vault,
                Identities(vault.notes),
                RetrievalSettings(cache=examples_cache, **settings),
                quiet,
            )
        return replace(opened[key], fusion=replace(opened[key].fusion, topk=topk))

    yield open_
    for retriever in opened.values():
        retriever.close()


@pytest.fixture(scope="session")
def hybrid(open_with):
    return open_with(mode="hybrid", alpha=0.7)


@pytest.fixture(scope="session")
def chunk_scores(vault, encoder, examples_cache):
    """Per query: every chunk's passage, cosine and relative BM25."""
    chunks = chunk_notes(vault.notes)
    texts = [chunk.indexed_text for chunk in chunks]
    vectors = embed_all(encoder, texts, Cache(examples_cache).embeddings, quiet).astype(np.float64)
    bm25 = BM25Okapi([tokens(text) for text in texts])
    assert len(chunks) > 64

    @cache
    def scores(query: str) -> list[tuple[Passage, float, float]]:
        cosines = vectors @ encoder.embed_query(query).astype(np.float64)
        words = bm25.get_scores(tokens(query))
        words = np.maximum(words, 0) / words.max() if words.max() > 0 else 0 * words
        passages = [chunk.passage for chunk in chunks]
        return list(zip(passages, cosines.tolist(), words.tolist(), strict=True))

    return scores


@pytest.fixture(scope="session")
def plain_scores(chunk_scores):
    """Per query: (best max(0, cosine), best relative BM25) of every note, computed chunk by chunk."""

    @cache
    def scores(query: str) -> dict[str, tuple[float, float]]:
        best: dict[str, tuple[float, float]] = {}
        for passage, cosine, word in chunk_scores(query):
            semantic, keyword = best.get(passage.note, (0.0, 0.0))
            best[passage.note] = max(semantic, cosine), max(keyword, word)
        return best

    return scores


def share_of(mode, alpha):
    """How much the cosine counts."""
    return {"hybrid": alpha, "semantic": 1.0, "keyword": 0.0}[mode]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("mode", "alpha"), MODES)
def test_a_search_gives_the_scores_of_a_plain_computation(
    query, mode, alpha, open_with, plain_scores
):
    hits = open_with(mode=mode, alpha=alpha).search(query)

    share = share_of(mode, alpha)
    every = {
        note: share * semantic + (1 - share) * keyword
        for note, (semantic, keyword) in plain_scores(query).items()
    }
    expected = sorted((score for score in every.values() if score > 0), reverse=True)[:10]
    assert [hit.base_score for hit in hits] == pytest.approx(expected, abs=2e-6)
    for hit in hits:
        semantic, keyword = plain_scores(query)[hit.note]
        assert hit.base_score == pytest.approx(every[hit.note], abs=2e-6)
        assert hit.semantic_score == (
            None if mode == "keyword" else pytest.approx(semantic, abs=2e-6)
        )
        assert hit.keyword_score == (None if share == 1 else pytest.approx(keyword))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("mode", ["semantic", "hybrid", "keyword"])
def test_base_scores_lie_between_0_and_1_and_equal_the_final_ones_without_the_rerank(
    query, mode, open_with
):
    hits = open_with(mode=mode, alpha=0.7, topk=100).search(query)

    assert all(0 < hit.base_score <= 1 for hit in hits)
    assert all(hit.final_score == hit.base_score for hit in hits)
    assert hits == sorted(hits, key=lambda hit: (hit.final_score, hit.note), reverse=True)
    assert len({hit.note for hit in hits}) == len(hits)


@pytest.mark.parametrize("query", QUERIES)
def test_the_rerank_multiplies_by_the_centrality_and_leaves_base_scores_alone(
    query, vault, open_with
):
    central = centrality(link_graph(vault, Identities(vault.notes)))
    without = {hit.note: hit for hit in open_with(mode="hybrid", alpha=0.7, topk=100).search(query)}

    hits = open_with(graph_rerank=True, topk=100).search(query)

    assert {hit.note for hit in hits} == without.keys()
    for hit in hits:
        assert hit.base_score == without[hit.note].base_score
        assert hit.final_score >= hit.base_score
        assert hit.final_score == pytest.approx(hit.base_score * (1 + 0.2 * central[hit.note]))
    assert hits == sorted(hits, key=lambda hit: (hit.final_score, hit.note), reverse=True)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("mode", "alpha"), MODES)
def test_a_hit_shows_the_chunk_that_is_best_by_both_legs_together(
    query, mode, alpha, open_with, chunk_scores
):
    hits = open_with(mode=mode, alpha=alpha).search(query)

    share = share_of(mode, alpha)
    for hit in hits:
        own = {
            passage: share * cosine + (1 - share) * word
            for passage, cosine, word in chunk_scores(query)
            if passage.note == hit.note
        }
        assert own[hit.passage] == pytest.approx(max(own.values()), abs=2e-6)


def test_a_hit_and_its_evidence_stand_in_the_note_as_they_are_shown(vault, hybrid):
    for query in QUERIES:
        hits = hybrid.search(query)
        for hit, evidence in zip(
            hits, hybrid.evidence(query, [hit.chunk for hit in hits]), strict=True
        ):
            text = vault.note(hit.note).text
            assert hit.passage.note == evidence.note == hit.note
            assert hit.passage.span.slice(text) == hit.passage.text
            assert evidence.span.slice(text) == evidence.text
            assert evidence.text in hit.passage.text


@pytest.mark.parametrize("query", ["", "   ", "?!", "👋", "a" * 20_000])
def test_a_query_without_words_breaks_nothing(query, hybrid, open_with):
    assert len(hybrid.search(query)) <= 10
    assert open_with(mode="keyword", alpha=0.7).search(query) == []


def test_threads_share_a_retriever(hybrid):
    expected = [hybrid.search(query) for query in QUERIES]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(hybrid.search, QUERIES * 5))

    assert found == expected * 5


# The leaf says "zebra" in fewer words than the hub, to which every other note links.
FLIP = {
    "hub.md": "zebra rules for all",
    "leaf.md": "zebra rules here",
    **{f"other{n}.md": f"[[hub]] something else {n}" for n in range(8)},
}


@pytest.mark.parametrize(("rerank", "first"), [(False, "leaf.md"), (True, "hub.md")])
def test_the_first_is_taken_by_final_score_and_judged_by_its_base_score(rerank, first, opened):
    with opened(FLIP, mode="keyword", graph_rerank=rerank) as retriever:
        hits = retriever.search("zebra")

    base = {hit.note: hit.base_score for hit in hits}
    assert base["leaf.md"] == 1.0
    assert 1 / 1.2 < base["hub.md"] < 0.99
    assert hits[0].note == first
    # The hub's final score passes any threshold; its base score, the one that counts, does not pass 0.99.
    verdict = ThresholdJudge(kind="threshold", min_score=0.99).verdict(hits)
    assert (verdict.unanswerable, verdict.score) == (rerank, base[first])
    if rerank:
        assert hits[0].final_score == pytest.approx(1.2 * base["hub.md"])  # the most central note
        assert hits[0].final_score > 1


NOTES = {"a.md": "The deploy runs every Friday.", "b.md": "휴가는 팀장에게 신청한다."}


def test_a_second_look_finds_the_same_and_embeds_only_what_was_never_searched(opened):
    with opened(NOTES, mode="hybrid") as retriever:
        searched, recalled = retriever.recording()
        hits = searched.search("deploy")
        first = searched.semantic.embedder.vectors["deploy"]
        assert recalled.search("deploy") == hits == retriever.search("deploy")
        assert recalled.semantic.embedder.embed_query("deploy") is first
        assert recalled.semantic.embedder.name == retriever.semantic.embedder.name
        other = recalled.semantic.embedder.embed_query("휴가")
        assert np.array_equal(other, retriever.semantic.embedder.embed_query("휴가"))


def test_a_search_is_embedded_anew_each_time_so_that_its_time_is_honest(opened):
    with opened(NOTES, mode="semantic") as retriever:
        searched, _recalled = retriever.recording()
        searched.search("deploy")
        first = searched.semantic.embedder.vectors["deploy"]
        searched.search("deploy")
        assert searched.semantic.embedder.vectors["deploy"] is not first


def test_keyword_mode_has_nothing_to_record(opened):
    with opened(NOTES, mode="keyword") as retriever:
        assert retriever.recording() == (retriever, retriever)
