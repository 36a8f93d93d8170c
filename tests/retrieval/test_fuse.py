"""The claim of `fuse`: no difference from scoring every chunk.  Held against a plain computation over all of them."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_index import PlainIndex, content_of

from gigamind.retrieval.edge import open_edge
from gigamind.retrieval.fuse import ChunkLayout, Fusion, highest, score_notes
from gigamind.retrieval.settings import RetrievalSettings


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def brute_force(
    keyword: Sequence[float], cosines: Sequence[float], counts: Sequence[int], fusion: Fusion
) -> list[tuple[int, float, float]]:
    """(note, base, final) of the top k, note by note and chunk by chunk, as seed 4.1 says it."""
    scored = []
    chunk = 0
    for note, count in enumerate(counts):
        own = range(chunk, chunk + count)
        chunk += count
        semantic = max(max(0.0, cosines[i]) for i in own)
        base = min(1.0, fusion.alpha * semantic + (1 - fusion.alpha) * max(keyword[i] for i in own))
        if base > 0:
            scored.append((base * fusion.boosts[note], note, base))
    scored.sort(reverse=True)
    return [(note, base, final) for final, note, base in scored[: fusion.topk]]


def fused(index, keyword, counts, fusion, query) -> list[tuple[int, float, float]]:
    scored = score_notes(np.array(keyword), ChunkLayout.of(counts), fusion, index, query)
    return [
        (note, scored.base[note], scored.final[note]) for note in scored.top(fusion.topk).tolist()
    ]


@st.composite
def cases(draw: st.DrawFn):
    """Vaults of 65 to 400 chunks, so that the shortlist of 64 leaves many out."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = random.integers(1, draw(st.sampled_from([2, 6, 40])), 400)
    chunks = draw(st.integers(65, 400))
    counts = counts[: int(np.searchsorted(np.cumsum(counts), chunks)) + 1]
    chunks = int(counts.sum())
    vectors = random.normal(size=(chunks, draw(st.sampled_from([2, 8]))))
    if draw(st.booleans()):  # many equal chunks
        vectors = vectors[random.integers(0, 5, chunks)]
    if draw(st.booleans()):  # all on one side: every cosine is positive, or every one negative
        vectors[:, 0] = np.abs(vectors[:, 0]) + 3
    keyword = random.random(chunks) * (random.random(chunks) < draw(st.sampled_from([0, 0.1, 1])))
    if draw(st.booleans()):  # ties
        keyword = np.round(keyword, 1)
    if keyword.max() > 0:
        keyword = keyword / keyword.max()
    boosts = np.ones(len(counts))
    if draw(st.booleans()):
        boosts = 1 + 0.2 * np.round(random.random(len(counts)), draw(st.sampled_from([1, 9])))
    alpha = draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 0.95, 1.0]))
    fusion = Fusion(alpha, boosts, draw(st.sampled_from([1, 3, 10, 60])))
    query = vectors[draw(st.integers(0, chunks - 1))] * draw(st.sampled_from([1, -1]))
    return unit(vectors), unit(query), keyword.tolist(), counts.tolist(), fusion


@settings(max_examples=100)
@given(cases())
def test_the_ranking_and_its_scores_are_those_of_scoring_every_chunk(case):
    vectors, query, keyword, counts, fusion = case
    index = PlainIndex(vectors)
    every = index.cosines(query, np.arange(len(vectors))).tolist()

    assert fused(index, keyword, counts, fusion, query) == brute_force(
        keyword, every, counts, fusion
    )


@settings(max_examples=10)
@given(cases())
def test_the_ranking_over_the_real_engine_is_that_of_scoring_every_chunk(case):
    vectors, query, keyword, counts, fusion = case
    index = open_edge(content_of(vectors), folder=None)
    every = index.cosines(query, np.arange(len(vectors))).tolist()

    found = fused(index, keyword, counts, fusion, query)

    index.close()
    assert found == brute_force(keyword, every, counts, fusion)
    exact = vectors.astype(np.float64) @ query.astype(np.float64)
    assert every == pytest.approx(exact, abs=1e-6)


def test_a_boost_is_one_and_a_fifth_of_the_centrality():
    settings = RetrievalSettings(graph_rerank=True)
    assert Fusion.of(settings, np.array([0.0, 0.25, 1.0])).boosts == pytest.approx([1.0, 1.05, 1.2])


EAST = np.array([1.0, 0.0], dtype=np.float32)
LAST = np.eye(100)[99]  # 1 for the last of 100 notes, 0 for the others


def falling(first, last):
    """100 chunks whose cosines with `EAST` fall from the first to the last."""
    cosines = np.linspace(first, last, 100)
    return PlainIndex(np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1))


def test_a_chunk_that_the_engine_cannot_tell_from_the_last_of_its_list_is_its_notes_best():
    # Of note 0, 0.401 is the last that the engine names; it takes 0.404, the note's other chunk, for as near.
    cosines = np.array([0.401, 0.404, *np.linspace(0.9, 0.5, 63), *np.linspace(0.1, 0, 35)])
    index = PlainIndex(np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1))
    words = np.zeros(100)
    words[0] = 1

    scored = score_notes(
        words, ChunkLayout.of([2] + [1] * 98), Fusion(0.3, np.ones(99), 1), index, EAST
    )

    assert index.shortlist(EAST, 64)[0][-1] == 0
    assert scored.base[scored.top(1)] == pytest.approx(0.3 * 0.404 + 0.7)


def test_notes_that_cannot_take_a_place_are_never_looked_up():
    index = falling(1, 0.01)

    score_notes(LAST, ChunkLayout.of([1] * 100), Fusion(0.5, np.ones(100), 2), index, EAST)

    # The 64th cosine is 0.37: note 99 may reach 0.68, the other notes outside 0.18, below the second's 0.495.
    assert index.asked == [99]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 64, 1_000, 5_000]), st.integers(1, 40))
def test_the_highest_of_thousands_are_those_of_a_full_sort(seed, count, k):
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=count), 1) * (random.random(count) < random.random())

    sort = sorted(range(count), key=lambda place: (scores[place], place), reverse=True)

    assert highest(scores, k).tolist() == [place for place in sort if scores[place] > 0][:k]
