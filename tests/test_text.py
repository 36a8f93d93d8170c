import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.spans import Span
from gigamind.text import (
    jaccard,
    places_of,
    plain,
    sentences,
    sentences_touched,
    short_words,
    tokens,
)


@pytest.mark.each(
    "text, expected",
    [
        ("Hybrid Search", ["hybrid", "search"]),
        ("RAG 시스템의 v2", ["rag", "시스", "스템", "템의", "v2"]),
        ("검색 search", ["검색", "search"]),
        ("검색search엔진", ["검색", "search", "엔진"]),
        ("꿈", ["꿈"]),
        ("東京都", ["東京", "京都"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),  # ideographs beyond the basic plane
        ("2024년 3.5%", ["2024", "년", "3", "5"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("don't-stop", ["don", "t", "stop"]),
        ("Größe ÉTÉ", ["größe", "été"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("", []),
        (" \n👋 — !?", []),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


def test_a_decomposed_text_has_the_tokens_of_the_composed_one():
    decomposed = unicodedata.normalize("NFD", "검색 엔진 résumé")

    assert len(decomposed) > len("검색 엔진 résumé")
    assert tokens(decomposed) == ["검색", "엔진", "résumé"]


@given(st.text(st.sampled_from("aZ9_ -.\n가나다東ひ👋"), max_size=40))
def test_tokens_are_lower_case_and_hold_no_space_or_mark(text):
    for token in tokens(text):
        assert token == token.lower()
        assert token.strip(".+#").isalnum()


@pytest.mark.each(
    "query, text, covered",
    [
        ("시스템은", "그 시스템의 구조", ["시스템"]),  # the particle is no part of the match
        (
            "승인 절차",
            "승인절차 문서",
            ["승인절차"],
        ),  # 인절 is not asked for: two places that touch
        ("rag system", "The RAG Systems: a RAG.", ["RAG", "RAG"]),  # words of letters match whole
        ("밤", "밤에 밤", ["밤"]),  # a bigram is another token than its first character
        ("휴가", "👋 휴가를", ["휴가"]),
        ("résumé 검색", unicodedata.normalize("NFD", "검색의 résumé"), ["검색", "résumé"]),
        (
            "istanbul ışık",
            "İstanbul",
            [],
        ),  # lower-cased it is two words, i and stanbul, as keyword search has it
        ("stanbul", "İstanbul X", ["stanbul"]),
        ("", "word", []),
        ("word", "", []),
    ],
)
def test_places_are_where_the_tokens_of_a_query_stand(query, text, covered):
    found = places_of(set(tokens(query)), text)

    assert [unicodedata.normalize("NFC", span.slice(text)) for span in found] == covered


@given(
    st.text(st.sampled_from("aZ9 .가나다é東\u0301\u11a8İ👋"), max_size=30),
    st.text(st.sampled_from("aZ9 .가나다é東"), max_size=10),
)
def test_a_text_has_places_exactly_when_it_shares_a_token_and_they_rise_apart(text, query):
    wanted = set(tokens(query))
    found = places_of(wanted, text)

    assert bool(found) == (not wanted.isdisjoint(tokens(text)))
    assert all(len(place) for place in found)
    assert all(a.end < b.start for a, b in pairwise(found))


@pytest.mark.each(
    "text, expected",
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("검색했습니다. 결과가 좋다! 그런가요?", ["검색했습니다.", "결과가 좋다!", "그런가요?"]),
        ("It is 3.5 in v1.2 now. Done", ["It is 3.5 in v1.2 now.", "Done"]),
        ("평균은 3.5점이다. 끝", ["평균은 3.5점이다.", "끝"]),
        (
            "Use a tool, e.g. Qdrant. Ask Dr. Kim etc. today.",
            ["Use a tool, e.g. Qdrant.", "Ask Dr. Kim etc. today."],
        ),
        ("A. Smith of the U.S. wrote. Fin.", ["A. Smith of the U.S. wrote.", "Fin."]),
        ("1. first\n2. second. more\n", ["1. first", "2. second.", "more"]),
        ("회의는 2026. 3. 5. 회의실에서 한다. 끝", ["회의는 2026. 3. 5. 회의실에서 한다.", "끝"]),
        ("It began in 2024. Then more.", ["It began in 2024.", "Then more."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("“그만.” 그가 말했다.", ["“그만.”", "그가 말했다."]),
        ("(See below.) Next", ["(See below.)", "Next"]),
        ("東京です。京都です！本当？", ["東京です。", "京都です！", "本当？"]),
        ("「東京です。」と言った。", ["「東京です。」", "と言った。"]),
        ("Wait... what?! Yes", ["Wait...", "what?!", "Yes"]),
        ("음… 좋다", ["음…", "좋다"]),
        ("no full stop\nsecond line", ["no full stop", "second line"]),
        ("one.\r\ntwo.\r\n", ["one.", "two."]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_sentences(text, expected):
    assert [span.slice(text) for span in sentences(text)] == expected


@given(
    st.text(st.sampled_from('ab1.!? \n-"다'), max_size=60), st.integers(0, 60), st.integers(0, 60)
)
def test_the_sentences_that_a_span_touches_are_those_of_the_whole_text(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    touched = [found for found in sentences(text) if found.start < end and start < found.end]
    assert sentences_touched(text, Span(start, end)) == touched


@given(st.text(st.sampled_from("aB1 .!?。」”\"')(\n\r\t가다👋etc…"), max_size=60))
def test_sentences_cover_everything_but_white_space_in_order(text):
    found = sentences(text)
    covered = set()
    for before, after in pairwise(found):
        assert before.end <= after.start
    for span in found:
        assert span.slice(text) == span.slice(text).strip() != ""
        covered |= set(range(span.start, span.end))

    assert all(text[i].isspace() for i in range(len(text)) if i not in covered)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Hybrid,\n  SEARCH! ", "hybrid search"),
        ("“검색”은 (하이브리드) 이다.", "검색은 하이브리드 이다"),
        ("well-known it's", "wellknown its"),
        (unicodedata.normalize("NFD", "검색"), "검색"),
        ("…—。、", ""),
        ("a + b = 3%", "a + b = 3"),  # "+" and "=" are symbols, "%" is punctuation
    ],
)
def test_plain_drops_punctuation_and_folds_space_and_case(text, expected):
    assert plain(text) == expected


@given(st.text(st.sampled_from("aÉ가 \n.,“”(-)1👋"), max_size=40))
def test_plain_twice_is_plain_once(text):
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a b c", "b c d", 2 / 4),
        ("a a b", "a b b", 1.0),
        ("a", "b", 0.0),
        ("a", "", 0.0),
        ("", "", 0.0),
    ],
)
def test_jaccard_is_shared_words_over_all_words(left, right, expected):
    assert jaccard(left, right) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("책 어디에 있어?", [("책", "책")]),
        ("책에서는 돈을, 술!", [("책", "책에"), ("돈", "돈을"), ("술", "술")]),
        ("정책을 책상에 3권을 a책을", []),
        ("내야 타다", []),
        ("책를", []),  # 책 ends in a consonant
        ("", []),
    ],
)
def test_words_of_one_syllable_are_known_before_particles(text, expected):
    assert short_words(text) == expected


def test_a_sign_that_makes_a_name_is_a_token_more():
    assert tokens("은C++와 C#, C") == ["은", "c", "와", "c", "c", "c++", "c#"]
    assert tokens(".NET 8, x.py") == ["net", "8", "x", "py", ".net"]
    assert tokens("issue#12 a+b C++17") == ["issue", "12", "a", "b", "c", "17", "c++"]
