from collections.abc import Sequence
from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from plain_index import PlainIndex

from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.fuse import ChunkLayout, Fusion
from gigamind.retrieval.index import Chunk
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.retriever import Retriever, SemanticLeg
from gigamind.retrieval.signals import signals_of
from gigamind.spans import Passage, Span

# Seven notes of one chunk: "apple" in one, "pear" in two, nothing else shared.
TEXTS = (
    "apple pie. a red pear", "pear", "cherry", "plum", "grape", "lemon", "배터리 교체",
)  # fmt: skip


class East:
    """An embedder that gives every query the same unit vector."""

    name = "east@1"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        assert text
        return np.array([1.0, 0.0], np.float32)


def retriever_of(texts: Sequence[str], semantic: SemanticLeg | None = None) -> Retriever:
    chunks = [Chunk(Passage(f"{i}.md", t, Span(0, len(t))), "") for i, t in enumerate(texts)]
    count = len(texts)
    return Retriever(
        notes=tuple(f"{i}.md" for i in range(count)), titles=tuple(str(i) for i in range(count)),
        centralities=np.ones(count), chunks=chunks, layout=ChunkLayout.of([1] * count),
        keyword=KeywordIndex.of(list(texts)), semantic=semantic,
        fusion=Fusion(0.7 if semantic else 0.0, np.ones(count), 10),
    )  # fmt: skip


def test_the_keyword_figures_are_those_of_the_best_note():
    retriever = retriever_of(TEXTS)
    found = signals_of(retriever, "apple pear zebra")
    bm25 = retriever.keyword.scores("apple pear zebra")
    assert found.bm25_top == float(bm25[0]) > float(bm25[1]) > 0
    apple, pear, zebra = log(1 + 6.5 / 1.5), log(1 + 5.5 / 2.5), log(1 + 7.5 / 0.5)
    assert found.note_coverage == pytest.approx((apple + pear) / (apple + pear + zebra))


def test_candidates_are_the_notes_that_share_a_word_and_the_peak_stands_above_their_mean():
    retriever = retriever_of(TEXTS)
    found = signals_of(retriever, "apple pear zebra")
    top, second = (float(score) for score in retriever.keyword.scores("apple pear zebra")[:2])
    assert (found.notes, found.candidates) == (7, 2)
    # Of two values the higher one lies one standard deviation above their mean.
    assert top > second
    assert found.peak == pytest.approx(1.0)
    left = signals_of(retriever, "apple pear zebra", without=["0.md"])
    assert (left.notes, left.candidates, left.peak) == (6, 1, 0.0)


def test_notes_without_a_word_of_the_query_change_the_candidates_as_little_as_the_peak():
    query = "apple pear"
    few, many = (
        signals_of(retriever_of([*TEXTS, *(["수박 참외"] * strangers)]), query)
        for strangers in (0, 50)
    )
    assert (few.candidates, many.candidates) == (2, 2)
    assert (few.peak, many.peak) == (pytest.approx(1.0), pytest.approx(1.0))


def test_a_word_that_every_note_holds_makes_candidates_of_a_vault_of_one_note():
    # rank-bm25 gives such a word a negative weight: the note scores below 0, and is found all the same.
    found = signals_of(retriever_of(["apple"]), "apple")
    assert (found.matched, found.candidates, found.bm25_top) == (True, 1, 0.0)


@pytest.mark.parametrize(
    ("query", "text", "across"),
    [
        ("배터리는 언제 교체해?", "The battery of the bike is replaced when it is worn", True),
        ("When is the battery replaced?", "배터리는 2년마다 교체한다", True),
        ("When is the battery replaced?", "Die Batterie wird mit dem Rad ausgeliefert", True),
        ("When is the battery replaced?", "The battery of the bike is replaced in May", False),
        ("Qdrant Edge", "배터리는 2년마다 교체한다", False),  # names tell no language
        ("Quand est-ce que la batterie est remplacée ?", "배터리는 2년마다 교체한다", False),
    ],
)
def test_a_query_in_another_known_language_than_the_nearest_chunk_is_cross_lingual(
    query, text, across
):
    leg = SemanticLeg(East(), PlainIndex(np.eye(1, 2, dtype=np.float32)))
    assert signals_of(retriever_of([text], leg), query).cross_lingual is across
    assert not signals_of(retriever_of([text]), query).cross_lingual


def test_of_a_chunk_of_ten_megabytes_the_beginning_is_read():
    text = "pear. " + "plum " * 2_000_000 + "apple"
    small = retriever_of(["apple pear", *TEXTS[2:]])
    large = replace(small, chunks=[Chunk(Passage("0.md", text, Span(0, len(text))), "")])
    # The words weigh alike, and "apple" stands at the end.
    assert signals_of(small, "apple pear").word_coverage == pytest.approx(1.0)
    assert signals_of(large, "apple pear").word_coverage == pytest.approx(0.5)


def test_the_words_of_all_sentences_of_a_note_cover_the_query_together():
    assert signals_of(retriever_of(TEXTS), "apple pear").word_coverage == pytest.approx(1.0)


def test_a_query_that_shares_no_word_finds_nothing_in_keyword_mode():
    found = signals_of(retriever_of(TEXTS), "zebra")
    assert not found.matched
    assert (found.bm25_top, found.note_coverage, found.word_coverage) == (0.0, 0.0, 0.0)
    assert found.cosine_top is None
    assert signals_of(retriever_of(TEXTS), "배터리는?").matched


@pytest.mark.parametrize("query", ["apple", "?"])
def test_without_every_note_nothing_is_found(query: str):
    retriever = retriever_of(TEXTS)
    assert not signals_of(retriever, query, without=retriever.notes).matched


def test_a_left_out_note_lends_the_query_nothing():
    found = signals_of(retriever_of(TEXTS), "apple pear", without=["0.md"])
    # "apple" now stands in none of six notes, "pear" in one.
    apple, pear = log(1 + 6.5 / 0.5), log(1 + 5.5 / 1.5)
    assert found.note_coverage == pytest.approx(pear / (apple + pear))
    assert found.word_coverage == pytest.approx(pear**2 / (apple**2 + pear**2))
    assert not signals_of(retriever_of(TEXTS), "apple", without=["0.md"]).matched


def test_the_cosines_are_compared_note_by_note():
    cosines = [0.2, 0.9, 0.5, 0.4, 0.0, -0.3, 0.1]
    vectors = np.array([[c, sqrt(1 - c * c)] for c in cosines], np.float32)
    index = PlainIndex(vectors)
    leg = SemanticLeg(East(), index)
    found = signals_of(retriever_of(TEXTS, leg), "apple")
    assert found.cosine_top == pytest.approx(0.9)
    assert found.cosine_lead == pytest.approx(0.9 - (0.5 + 0.4 + 0.2 + 0.1 + 0.0 - 0.3) / 6)
    assert found.agreement == 1 / 4  # the note that holds "apple" is the fourth by cosine
    assert found.nearest_coverage == 0.0  # and the nearest one holds no "apple"
    left = signals_of(retriever_of(TEXTS, leg), "apple", without=["1.md"])
    assert (left.cosine_top, left.agreement) == (pytest.approx(0.5), 1 / 3)


@pytest.mark.parametrize(("cosine", "found"), [(-0.1, False), (0.0, False), (0.1, True)])
def test_a_cosine_above_zero_finds_what_shares_no_word(cosine: float, found: bool):
    vectors = np.array([[cosine, sqrt(1 - cosine**2)]] * 7, np.float32)
    leg = SemanticLeg(East(), PlainIndex(vectors))
    assert signals_of(retriever_of(TEXTS, leg), "zebra").matched is found


def test_every_mode_of_search_sees_the_same_signals(opened):
    notes = {"a.md": "The deploy runs every Friday.", "나.md": "휴가는 팀장에게 신청한다."}
    seen = []
    for mode in ("hybrid", "semantic"):
        with opened(notes, mode=mode, topk=1) as retriever:
            seen.append([signals_of(retriever, query) for query in ("휴가 신청", "deploy day")])
    assert seen[0] == seen[1]
