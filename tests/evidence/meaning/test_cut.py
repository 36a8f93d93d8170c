"""Rows of the two tables are notes of our own with a quote that says what its sentence says, or was cut not to."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.evidence.meaning.cut import cut
from gigamind.spans import Span

DATA = Path(__file__).parents[2] / "data"


def cut_of(note, quote):
    """That of the first place of a quote."""
    start = note.index(quote)
    return cut(note, Span(start, start + len(quote)))


def proves(row):
    note, quote = row["note"], row["quote"]
    starts = [start for start in range(len(note)) if note.startswith(quote, start)]
    return any(cut(note, Span(start, start + len(quote))) is None for start in starts)


def rows_of(name):
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_every_quote_that_it_was_tuned_on_is_told_right():
    rows = rows_of("quote_cuts.jsonl")
    assert [row for row in rows if proves(row) is not row["proves"]] == []
    for language in ("ko", "en"):
        kinds = [row["proves"] for row in rows if row["language"] == language]
        assert min(kinds.count(True), kinds.count(False)) >= 30


def test_of_quotes_that_it_was_not_tuned_on_it_keeps_and_refuses_as_many_as_measured():
    rows = rows_of("quote_cuts_held_out.jsonl")
    honest = [proves(row) for row in rows if row["proves"]]
    dishonest = [proves(row) for row in rows if not row["proves"]]
    assert (len(honest), len(dishonest)) == (30, 30)
    assert honest.count(True) >= 29
    assert dishonest.count(False) >= 27


@pytest.mark.parametrize(
    ("note", "quote", "expected"),
    [
        ("기본으로 비활성화되어 있다.", "활성화되어 있다.", "word"),
        ("기본으로 비활성화되어 있다.", "비활성화되어 있다.", None),
        ("기본으로 비**활성화**되어 있다.", "활성화**되어 있다.", "word"),
        ("기본으로 비\u200b활성화되어 있다.", "활성화되어 있다.", "word"),
        ("요금은**무료**입니다.", "무료**입니다.", "word"),
        ("기한은**15일**입니다.", "15일**입니다.", None),  # another script begins
        ("Refunds are non-refundable.", "refundable.", "word"),
        ("서울-부산 노선은 하루 5회다.", "부산 노선은 하루 5회다.", None),
        ("It can't be read.", "It can", "word"),
        ("It is stored in plaintext.", "It is stored in plain", "word"),
        ("벌금은 1,500원이다.", "500원이다.", "number"),
        ("벌금은 1,500원이다.", "벌금은 1", "number"),
        ("벌금은 1,500원이다.", "1,500원이다.", None),
        ("예산은 3 million won.", "예산은 3", "number"),
        ("예산은 3만 원이다.", "예산은 3", "number"),
        ("점수는 3 만족.", "점수는 3", None),
        ("온도는 -5도다.", "5도다.", "number"),
        ("- 5도 이하", "5도 이하", None),
        ("2~4시에 한다.", "4시에 한다.", "number"),
        ("연차는 15일입니다.", "연차는 15일", None),  # a particle or an ending may be left out
        ("휴가는 3일 이상이다.", "휴가는 3일", "comparison"),
        ("휴가는 3일 이상이다.", "휴가는 3일 이상", None),
        ("More than 5 attempts lock it.", "5 attempts lock it", "comparison"),
        ("It takes 5 days or more.", "It takes 5 days", "comparison"),
        ("It takes 5 days or so.", "It takes 5 days", None),
        ("환불이 가능하지 않다.", "환불이 가능", "negation"),
        ("환불이 가능하고 교환은 가능하지 않다.", "환불이 가능", None),
        ("The key is never stored.", "stored", "negation"),
        ("今日は休みではない", "休み", None),  # no spaces, no rules
        ("日本語版はありません", "本語版", None),
    ],
)
def test_what_a_quote_lost_is_named(note, quote, expected):
    assert cut_of(note, quote) == expected


def test_decomposed_syllables_are_read_as_whole_ones():
    note, quote = (
        unicodedata.normalize("NFD", text) for text in ("환불이 가능하지 않습니다.", "환불이 가능")
    )
    assert cut_of(note, quote) == "negation"


def test_other_widths_and_invisible_characters_hide_no_negation():
    assert cut_of("The key is ne\u200bver stored here.", "stored here") == "negation"
    assert cut_of("The key is ｎｏｔ stored here.", "stored here") == "negation"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_wrapped_sentence_is_one_and_lines_of_a_list_are_not(newline):
    wrapped = newline.join(("The passwords of all the old accounts are not", "stored here."))
    assert cut_of(wrapped, "stored here") == "negation"
    listed = newline.join(
        ("- The passwords of the accounts are not", "- stored here as plain text")
    )
    assert cut_of(listed, "stored here") is None
    lines = newline.join(("연차: 15일", "병가: 없음"))
    assert cut_of(lines, "연차: 15일") is None


@given(st.text(max_size=60), st.text(alphabet="가나다abc 0123,.-*", min_size=1, max_size=20))
def test_a_whole_text_is_never_cut(before, quote):
    assert cut(quote, Span(0, len(quote))) is None
    text = f"{before}\n\n{quote}"
    cut(text, Span(len(text) - len(quote), len(text)))  # ends, whatever the text
