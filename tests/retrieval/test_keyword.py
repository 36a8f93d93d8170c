import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from gigamind.retrieval.fuse import relative
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.text import tokens

WORDS = st.lists(st.sampled_from(["rag", "vector", "검색", "엔진", "a", "꿈"]), max_size=12)


def oracle(texts: list[str], query: str) -> np.ndarray:
    return BM25Okapi([tokens(text) for text in texts]).get_scores(tokens(query))


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=12), WORDS.map(" ".join))
def test_scores_equal_those_of_rank_bm25(texts, query):
    index = KeywordIndex.of(texts)

    if any(tokens(text) for text in texts):  # rank_bm25 itself divides by zero without a token
        assert index.scores(query) == pytest.approx(oracle(texts, query), abs=1e-9)
    assert index.scores(query).shape == (len(texts),)


@given(
    st.lists(st.text() | st.sampled_from(["ΑΣ", "e", "\u0301", "책", "을", "x" * 50, " ", "\x85"]))
)
def test_an_index_holds_the_tokens_of_any_text(pieces):
    text = "".join(pieces)

    index = KeywordIndex.of([text])

    held = [term for term in index.rows if not term.startswith("^")]
    assert sorted(held) == sorted(set(tokens(text)))
    assert index.lengths.tolist() == [len(tokens(text))]


BOOKS = ["책을 샀다", "정책을 폈다", "b c", "d e f"]


@pytest.mark.parametrize(
    "query", ["책 어디에 있어?", "책은 어디 있지", "책에서 읽었어", "책이라는 것"]
)
def test_a_word_of_one_syllable_is_found_before_another_particle(query):
    # Of four documents with 2, 3, 2 and 3 tokens, 2.5 on average, one has a book; 정책 is a policy.
    # idf = ln(3.5 / 1.5), the share of one occurrence 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 2.5)).
    share = 2.5 / (1 + 1.5 * 0.85)

    found = KeywordIndex.of(BOOKS).scores(query)

    assert found == pytest.approx([math.log(3.5 / 1.5) * share, 0, 0, 0])


@pytest.mark.parametrize(
    "query",
    [
        "책을 어디서 샀어?",  # this form has a posting
        "정책은",  # no word of one syllable
        "책가방",
        "b 책상",
    ],
)
def test_all_other_words_count_as_in_rank_bm25(query):
    assert KeywordIndex.of(BOOKS).scores(query) == pytest.approx(oracle(BOOKS, query))


def test_a_word_of_one_syllable_in_most_chunks_weighs_no_less_than_nothing():
    found = KeywordIndex.of(["돈을", "돈은", "돈이 a", "b"]).scores("돈 있어?")

    assert (found[:3] > 0).all()
    assert found[3] == 0


def test_relative_scores_are_over_the_best_of_the_query():
    index = KeywordIndex.of(["rag rag", "rag b", "c d", "e f", "g h"])
    raw = index.scores("rag")

    assert relative(index.scores("rag")) == pytest.approx([1.0, raw[1] / raw[0], 0, 0, 0])
    assert 0 < raw[1] < raw[0]


def test_a_word_in_most_chunks_weighs_little_but_not_less_than_nothing():
    # "all" stands in 4 of 4: its own idf is negative and becomes a quarter of the mean idf, as in rank_bm25.
    texts = ["all a", "all b", "all c", "all d"]
    index = KeywordIndex.of(texts)
    rare = math.log(3.5 / 1.5)
    mean = (4 * rare + math.log(0.5 / 4.5)) / 5

    assert index.weight("a") == pytest.approx(rare)
    assert index.weight("all") == pytest.approx(0.25 * mean)
    assert index.weight("unknown") == 0.0
    assert index.scores("all a") == pytest.approx(oracle(texts, "all a"), abs=1e-9)


def test_relative_scores_and_weights_stay_in_range_where_every_idf_is_negative():
    # rank_bm25's floor is a share of the mean idf; in one chunk that mean is negative itself.
    texts = ["rag b"]
    index = KeywordIndex.of(texts)

    assert index.scores("rag") == pytest.approx(oracle(texts, "rag"), abs=1e-9)
    assert index.scores("rag")[0] < 0
    assert relative(index.scores("rag")).tolist() == [0.0]
    assert index.weight("rag") == 0.0


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=8), WORDS.map(" ".join))
def test_relative_scores_are_between_0_and_1(texts, query):
    scores = relative(KeywordIndex.of(texts).scores(query))

    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("texts", [["rag 검색 엔진", "vector 책을", "𠀀𠀁 a"], ["", ""]])
def test_a_saved_index_comes_back_the_same(texts, tmp_path):
    built = KeywordIndex.of(texts)
    built.save(tmp_path / "index.bm25")

    loaded = KeywordIndex.load(tmp_path / "index.bm25")

    assert loaded.rows == built.rows
    assert loaded.size == built.size
    for query in ("rag 검색", "책이", "𠀀𠀁", "엔진 vector vector", "none"):
        assert loaded.scores(query).tolist() == built.scores(query).tolist()
        assert loaded.weight(query) == built.weight(query)


def damaged(whole: bytes) -> Iterator[bytes]:
    """Yield a content cut anywhere, and with one bit flipped."""
    yield whole[:-1]
    for place in range(0, len(whole), 29):
        yield whole[:place]
        yield whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]


def test_a_damaged_file_is_never_taken_for_an_index(tmp_path):
    path = tmp_path / "index.bm25"
    KeywordIndex.of(["rag b", "c d", "e"]).save(path)

    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"index\.bm25"):
            KeywordIndex.load(path)


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        KeywordIndex.load(tmp_path / "index.bm25")
