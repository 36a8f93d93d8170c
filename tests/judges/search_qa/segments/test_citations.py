"""How an answer names the notes it rests on."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.judges.search_qa.segments import (
    _end_of_citations,
    _names_of_notes,
    _without_citations,
    citations,
    without_note_names,
)

TEXTS = st.text(st.sampled_from("a가1 ,;-.[]()`노트\n\u3000"), max_size=40)


@pytest.mark.each(
    "text, numbers, bare",
    [
        ("15일이다 [노트 1].", (1,), "15일이다."),
        ("15일이다[노트1][노트 2].", (1, 2), "15일이다."),
        ("15일이다 [노트1], [노트2].", (1, 2), "15일이다."),
        ("15일이다.\u3000[노트 1]", (1,), "15일이다."),
        ("It is 15 [Note 1; Note 2].", (1, 2), "It is 15."),
        ("It is 15 [Notes 1 and 2].", (1, 2), "It is 15."),
        ("It is 15 [notes 1, 2, and 4].", (1, 2, 4), "It is 15."),
        ("15일이다 [노트 2-4].", (2, 3, 4), "15일이다."),
        ("15일이다 [노트 4-2].", (4, 2), "15일이다."),
        ("15일이다 (노트 1, 2).", (1, 2), "15일이다."),
        ("15일이다 ([노트 1]).", (1,), "15일이다."),
        ("15일이다 (출처: [노트 1], 노트 3).", (1, 3), "15일이다."),
        ("15일이다 【노트 1】.", (1,), "15일이다."),
        ("15일이다 [노트 1](https://a.b/note2).", (1,), "15일이다."),
        ("[노트 1]에 따르면 15일이다.", (1,), "노트 1에 따르면 15일이다."),
        ("[노트 1], [노트 2]에 따르면 15일이다.", (1, 2), "노트 1, 노트 2에 따르면 15일이다."),
        ("수수료는 없다 (노트 2 참고).", (2,), "수수료는 없다 (노트 2 참고)."),
        ("It is free (see Note 2).", (2,), "It is free (see Note 2)."),
        ("15일이다 [노트 1, 15일].", (), "15일이다 [노트 1, 15일]."),
        ("15일이다 [노트 1](15일).", (1,), "15일이다(15일)."),
        ("[[노트 1]]을 본다.", (), "[[노트 1]]을 본다."),
    ],
)
def test_notes_are_named_in_many_ways(text, numbers, bare):
    assert citations(text) == numbers
    assert _without_citations(text) == bare


@pytest.mark.each(
    "text, numbers",
    [
        ("15일입니다 [1].", (1,)), ("15일입니다[1].", (1,)), ("15일입니다. [1] 끝", (1,)),
        ("15일입니다.[1][2] 끝", (1, 2)), ("It is 15 days [1, 2].", (1, 2)), ("It ends [3]", (3,)),
        ("arr[1].", ()), ("`a [1].`", ()), ("[1](https://a.b)", ()), ("[1]: https://a.b", ()),
        ("값은 [1].", ()), ("The list is [1, 2].", ()), ("x = [1]", ()), ("[^1]", ()), ("[0].", ()),
        ("끝 [100].", ()), ("f(x)[1].", ()), ("[[1]].", ()),
    ],
)  # fmt: skip
def test_a_number_in_brackets_is_a_citation_only_behind_a_clause(text, numbers):
    assert citations(text) == numbers
    if not numbers:
        assert _without_citations(text) == text


@pytest.mark.each(
    "text, expected",
    [
        ("노트 1에 따르면 15일이다.", "15일이다."), ("[노트 1]에 따르면 15일이다.", "15일이다."),
        ("반차는 노트 2에서 0.5일이다.", "반차는 0.5일이다."), ("노트 1, 2에 따르면 3일이다.", "3일이다."),
        ("노트 1과 2일 뒤", "2일 뒤"), ("수수료는 없다 (노트 2 참고).", "수수료는 없다 ."),
        ("[1]에 따르면 3일이다.", "3일이다."), ("According to Note 1, leave is 15 days.", "leave is 15 days."),
        ("Note 3 says 15.", "says 15."), ("Notes 1 and 2 say 15.", "say 15."), ("15일이다 [노트 1].", "15일이다."),
    ],
)  # fmt: skip
def test_a_claim_is_read_without_the_names_of_notes(text, expected):
    assert without_note_names(text) == expected


@pytest.mark.each(
    "text",
    [
        "노트 90일", "갤럭시 노트 10의 값", "노트 5 권을 샀다", "Note 90 days apply.", "A note in 3 days",
        "Please note 3 days are needed", "연차는 15일이다.", "노트북 2대에",
    ],
)  # fmt: skip
def test_other_numbers_stay_in_a_claim(text):
    assert without_note_names(text) == text


def test_a_line_of_sources_names_notes_without_brackets():
    assert _names_of_notes("출처: 노트 2, [노트 1], Note 7 (휴가 3일)") == (2, 1, 7)


@pytest.mark.each(
    "text, end",
    [
        *(("끝. [노트 1] 또", 9), ("끝. [노트 1]. 또", 10), ("끝. [노트 1]에 따르면", 2)),
        *(("끝. [노트 1]... 또", 12), ("끝. 또", 2)),
    ],
)
def test_a_citation_is_found_behind_a_sentence(text, end):
    assert _end_of_citations(text, 2) == end


def test_a_decomposed_citation_is_one():
    text = unicodedata.normalize("NFD", "15일이다 [노트 1].")
    assert (citations(text), _without_citations(text)) == ((1,), "15일이다.")


@given(TEXTS)
def test_letters_of_a_text_without_citations_are_its_own_in_their_order(text):
    left = iter(text)
    assert all(char in left for char in _without_citations(text) if not char.isspace())
