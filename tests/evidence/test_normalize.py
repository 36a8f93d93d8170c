import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.evidence.normalize import Folding, composes_backwards, is_boundary
from gigamind.spans import Span

MIXED = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(
            "가각ᄀ\u1161\u11a8é\u0301\u200b\ufeff \n\t*_`#->[]()|~12㈜ㅋㅏ²½…“ﬁＡ\u00a0"
        ),
    ),
    max_size=60,
)


def n2(text, *, is_quote=False):
    return Folding.unmarked(text, Folding.visible(text), is_quote=is_quote)


@pytest.mark.each(
    "text, folded",
    [
        ("Ａｂ１", "ab1"),  # full width
        ("ｶﾞ", "ガ"),  # half width, its voicing mark composed
        ("㈜깃", "(주)깃"),
        ("10²", "10²"),  # not 102
        ("½컵", "½컵"),
        ("ㅋㅏ", "ㅋㅏ"),  # not 카
        ("ﬁnd Ⅷ", "find viii"), ("\u1100\u1161\u11a8", "각"),
        ("e\u200b\u0301", "é"),  # a zero-width space does not keep a mark from its letter
        ("\u200b\ufeff\u00ad\ufe0f\u202e\u3164", ""), ("“a” ‘b’ 「c」", '"a" \'b\' "c"'),
        ("1–2—3−4", "1-2-3-4"), ("가ㆍ나・다•라", "가·나·다·라"),
        ("a\u00a0\u3000\r\n\u2028b", "a b"), ("a \u200b b", "a b"), ("끝…", "끝..."),
        ("\u00a8", "\u00a8"),  # folds to a space and a mark: left alone
    ],
)  # fmt: skip
def test_n1_folds_what_a_reader_takes_for_the_same(text, folded):
    assert Folding.visible(text).text == folded


@pytest.mark.each(
    "text, folded",
    [
        ("# 제목", "제목"), ("> - [x] 끝", "끝"), ("1. 하나\n2) 둘", "하나 둘"),
        ("2024. 1. 3. 시행", "2024. 1. 3. 시행"),  # a date, not a list
        ("[[노트|보이는 말]]과 [[다른 노트]]", "보이는 말과 다른 노트"),
        ("![그림](a.png) [글](<my note.md> '제목')", "그림 글"), ("[글](a_(b).md).", "글."),
        ("[원] 그대로", "[원] 그대로"), ("`code` ``x``", "code x"),
        ("***굵게*** __굵게__ ~~줄~~ ==칠==", "굵게 굵게 줄 칠"),
        ("snake_case a * b 2*3 x == 1", "snake_case a * b 2*3 x == 1"),
        ("a\n```python title\nx\n```\nb", "a x b"), ("~~~\nx", "x"),
    ],
)  # fmt: skip
def test_n2_drops_markdown_markers_and_nothing_else(text, folded):
    assert n2(text).text.strip() == folded


def test_the_number_of_an_ordered_list_stays_in_a_quote():
    assert n2("1. 첫째", is_quote=True).text == "1. 첫째"
    assert n2("- 첫째", is_quote=True).text == "첫째"


@pytest.mark.parametrize(
    ("text", "folded"),
    [("키워드 와 벡터", "키워드와벡터"), ("1 000 원", "1 000원"), ("a  1", "a1")],
)
def test_n3_drops_spaces_but_not_between_digits(text, folded):
    assert n2(text).spaceless().text == folded


def test_a_text_without_markers_or_spaces_is_folded_once():
    first = Folding.visible("가나다")
    second = Folding.unmarked("가나다", first, is_quote=False)
    assert second is first
    assert second.spaceless() is first


def test_a_folded_character_keeps_its_original_range():
    folding = n2("## ㈜ **\u1100\u1161\u11a8**…")
    assert folding.text == "(주) 각..."
    assert folding.span(0, 3) == Span(3, 4)
    assert folding.span(4, 5) == Span(7, 10)
    assert folding.span(4, 8) == Span(7, 13)
    inside_of_one = [offset for offset in range(9) if not folding.is_edge(offset)]
    assert inside_of_one == [1, 2, 6, 7]  # of ㈜ and of the ellipsis


@given(MIXED)
def test_every_folded_stretch_comes_back_from_its_original(text):
    for folding in (Folding.visible(text), n2(text), n2(text).spaceless()):
        edges = [offset for offset in range(len(folding.text) + 1) if folding.is_edge(offset)]
        for start, end in pairwise(edges):
            span = folding.span(start, end)
            assert 0 <= span.start < span.end <= len(text)
            assert folding.under(span) == folding.text[start:end]
        if len(edges) > 1:
            assert folding.under(folding.span(0, len(folding.text))) == folding.text


@given(MIXED)
def test_n1_of_decomposed_text_is_n1_of_composed_text(text):
    decomposed = Folding.visible(unicodedata.normalize("NFD", text)).text
    assert decomposed == Folding.visible(unicodedata.normalize("NFC", text)).text


@given(MIXED)
def test_n1_has_no_double_spaces_and_n3_only_spaces_between_digits(text):
    assert "  " not in Folding.visible(text).text
    without = n2(text).spaceless().text
    for at, char in enumerate(without):
        if char == " ":
            assert without[at - 1].isdigit()
            assert without[at + 1].isdigit()


def test_every_character_that_composes_with_the_one_before_is_known():
    for code in range(0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) != 2 or parts[0].startswith("<"):
            continue
        first, second = (chr(int(part, 16)) for part in parts)
        if unicodedata.normalize("NFC", first + second) == chr(code):
            assert composes_backwards(second), hex(code)


def test_the_ends_of_a_text_are_boundaries_and_a_decomposed_syllable_has_none_inside():
    text = "\u1100\u1161\u11a8"
    assert [is_boundary(text, offset) for offset in range(4)] == [True, False, False, True]
