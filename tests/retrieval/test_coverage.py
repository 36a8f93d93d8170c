from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.signals import _read_query_words
from gigamind.text import tokens

NONE = np.zeros(0, np.int64)
# "apple" stands in 2 of 3 chunks, "banana" in 1, "zebra" in none: ln(1 + (3 - n + 1/2) / (n + 1/2)).
APPLE, BANANA, ZEBRA = log(1.6), log(8 / 3), log(8)
INDEX = KeywordIndex.of(["apple banana", "cherry", "apple"])


def covered(query: str, text: str) -> float:
    words = _read_query_words(query, INDEX, NONE)
    there = set(tokens(text))
    return words.coverage(there, words.forms(there))


def test_a_word_weighs_its_idf_and_one_that_no_chunk_holds_weighs_most():
    words = _read_query_words("Apple banana zebra apple", INDEX, NONE)
    assert words.idf == pytest.approx({"apple": APPLE, "banana": BANANA, "zebra": ZEBRA})
    assert words.mass == pytest.approx(APPLE + BANANA + ZEBRA)


def test_hidden_chunks_count_as_if_they_were_not_indexed():
    # Without chunk 0 two are left: "banana" is in none of them, "apple" in one.
    words = _read_query_words("apple banana", INDEX, np.array([0]))
    assert words.idf == pytest.approx({"apple": log(2), "banana": log(6)})


def test_the_share_in_chunks_is_that_of_the_idf_they_hold():
    words = _read_query_words("apple zebra", INDEX, NONE)
    assert words.share_in(INDEX, np.array([0])) == pytest.approx(APPLE / (APPLE + ZEBRA))
    assert words.share_in(INDEX, np.array([1])) == 0.0
    assert words.share_in(INDEX, np.array([1, 2])) == pytest.approx(APPLE / (APPLE + ZEBRA))


def test_coverage_squares_the_idf_so_that_rare_words_decide():
    assert covered("apple zebra", "an apple") == pytest.approx(APPLE**2 / (APPLE**2 + ZEBRA**2))
    assert covered("apple zebra", "zebra, apple!") == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("invented", "the inventor", 0.8),  # 8 letters: "inven" is the stem
        ("invented", "an inverse", 0.0),
        ("banks", "bank", 0.8),  # 5 letters: the stem keeps 4
        ("bank", "banks", 0.0),  # 4 letters stand for themselves alone
        ("invented", "invented by the inventor", 1.0),
        # A Korean word counts by its beginning more than by its particle.
        ("배터리를", "배터리", 6 / 7),  # the particle weighs 1 of 4 + 2 + 1
        ("배터리를", "배터리를 바꾼다", 1.0),
        ("배터리를", "배터", 4 / 7),
        ("배터리를", "터리를", 3 / 7),
    ],
)
def test_a_word_counts_less_with_another_ending(query, text, expected):
    assert covered(query, text) == pytest.approx(expected)


def test_a_query_without_a_word_covers_nothing():
    words = _read_query_words("?!", INDEX, NONE)
    assert words.mass == 0.0
    assert words.share_in(INDEX, np.array([0])) == 0.0
    assert covered("?!", "apple") == 0.0


@given(st.text(), st.text())
def test_coverage_is_a_share_and_a_text_covers_itself(query: str, text: str):
    assert 0.0 <= covered(query, text) <= 1.0 + 1e-9
    if tokens(query):
        assert covered(query, query) == pytest.approx(1.0)
