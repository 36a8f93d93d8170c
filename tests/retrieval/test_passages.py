from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.retrieval.index import Chunk, cut, highlights
from gigamind.spans import Passage, Span
from gigamind.text import sentences, tokens

TEXT = "Bikes are green. 배터리는 매일 밤 점검한다. Stations close at 2.30. Bikes rest."
PASSAGE = Passage("a.md", TEXT, Span(100, 100 + len(TEXT)))


def flat(_token: str) -> float:
    return 1.0


def shown_of(passage: Passage, query: str, weight: Callable[[str], float]) -> Passage:
    return Chunk(passage, "").evidence({token: weight(token) for token in tokens(query)})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("when do stations close?", "Stations close at 2.30."),
        ("배터리 점검", "배터리는 매일 밤 점검한다."),
        ("bikes", "Bikes are green."),  # the first of equals
    ],
)
def test_the_sentence_with_the_most_query_words_is_shown_where_it_stands(query, expected):
    shown = shown_of(PASSAGE, query, flat)

    assert shown.text == expected
    assert shown.note == "a.md"
    assert TEXT[shown.span.start - 100 : shown.span.end - 100] == expected


def test_a_rare_word_counts_more_than_two_common_ones():
    weight = {"bikes": 0.1, "are": 0.1, "close": 1.0}.get

    assert shown_of(PASSAGE, "bikes are close", lambda t: weight(t, 0.0)).text == (
        "Stations close at 2.30."
    )


@pytest.mark.parametrize("query", ["unrelated", "", "?!"])
def test_a_passage_without_a_query_word_is_shown_whole(query):
    assert shown_of(PASSAGE, query, flat) == PASSAGE


def test_words_without_weight_show_the_passage_whole():
    assert shown_of(PASSAGE, "bikes", lambda _token: 0.0) == PASSAGE


@given(
    st.text(st.sampled_from("ab. 가나!\n👋"), max_size=40), st.sampled_from(["a", "가나", "b a"])
)
def test_what_is_shown_is_always_the_text_under_its_span(text, query):
    shown = shown_of(Passage("a.md", text, Span(7, 7 + len(text))), query, flat)

    assert Span(shown.span.start - 7, shown.span.end - 7).slice(text) == shown.text


@given(st.text(st.sampled_from("ab. 가나!\n👋"), max_size=40))
def test_a_cut_has_the_sentences_of_the_text_with_all_their_tokens(text):
    found = cut(text)

    assert [sentence.span for sentence in found] == sentences(text)
    for sentence in found:
        assert list(sentence.tokens) == sorted(set(tokens(sentence.span.slice(text))))


def test_the_words_of_the_query_are_highlighted_where_they_stand_in_the_note():
    # "배터리는 매일 밤 점검한다." begins at 17 of the text, which begins at 100 of its note.
    found = highlights(PASSAGE, set(tokens("배터리를 점검 bikes")))

    shown = [TEXT[span.start - 100 : span.end - 100] for span in found]
    assert shown == ["Bikes", "배터리", "점검", "Bikes"]
    assert (found[1].start, found[1].end) == (117, 120)
