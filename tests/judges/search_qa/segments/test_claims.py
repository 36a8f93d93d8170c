import json
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from time_limit import check_linear

from gigamind.judges.search_qa.segments import claims_of, pieces_of

DATA = Path(__file__).parents[3] / "data" / "answer_sentences.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
MARKDOWN = st.text(
    st.sampled_from('a가다요.!?\r\n -*#|`>[노트 1]"”()📎\u3000\u1100\u1161'), max_size=60
)
# Letters that no marker has, between markers that have none of them.
LETTERS = ["봄", "봄은 Q다", "Q봄", "봄7일이다. ", "봄입니다", "Q is 봄"]
MARKERS = [
    "\n", "\r\n", "\n\n", " ", "\u3000", "# ", "- ", "1. ", "> ", "**", "```\n", "```py\n", "~~~\n",
    "---\n", "| ", " |\n", "|---|---|\n", "|---|\n", "[노트 2]", " [노트 2, 3]. ", "...", "! ", "? ",
    "출처: ", "👍 ", '"', "(", ")", "`", "[1] ", "•",
]  # fmt: skip


@pytest.mark.each("case", CASES)
def test_an_answer_is_cut_as_a_person_would_cut_it(case):
    found = [[_kind(piece), piece.text] for piece in pieces_of(case["answer"])]
    assert found == case["pieces"]


def _kind(piece):
    if piece.role == "other":
        return "other"
    return "heading" if piece.shape == "heading" else "sentence"


def test_the_cases_hold_two_hundred_sentences():
    assert sum(len(case["pieces"]) for case in CASES) >= 200


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("연차는 15일이다. [노트 1] 반차는 없다.", [(1,), ()]),
        ("연차는 15일이다.[노트 2][노트 1] 반차는 없다 [노트 1, 노트 3].", [(2, 1), (1, 3)]),
        ("[Note 3] says 15. [note 3] says so.", [(3, 3)[:1], ()]),
        ("[노트 1]에 따르면 15일이다. [노트 2]에서는 20일이다.", [(1,), (2,)]),
        ("It is 15 [1]. It is 16 [Note 0].", [(1,), (0,)]),
        ("연차는 15일이다.\u3000[노트 1] 반차는 없다\u00a0[Notes 2 and 3].", [(1,), (2, 3)]),
        ("출처: 노트 2, [노트 1]", [(2, 1)]),
    ],
)
def test_a_citation_stays_with_the_sentence_it_follows(answer, cited):
    assert [piece.cited for piece in pieces_of(answer)] == cited


def test_sentences_are_numbered_from_one_and_lines_that_only_name_notes_are_not():
    claims = claims_of(pieces_of("# 휴가\n출처: 노트 1\n연차는 15일이다. 궁금한가요?"))
    assert [(claim.id, claim.text) for claim in claims] == [
        (1, "휴가"),
        (2, "연차는 15일이다."),
        (3, "궁금한가요?"),
    ]


@given(MARKDOWN)
def test_pieces_are_in_order_overlap_nowhere_and_begin_and_end_with_text(answer):
    spans = [piece.span for piece in pieces_of(answer)]
    assert all(before.end <= after.start for before, after in pairwise(spans))
    for span in spans:
        text = span.slice(answer)
        assert text
        assert text == text.strip()


@given(st.lists(st.sampled_from(["연차는 15일이다.", "It is 3.5 %.", "안 되죠."]), max_size=8))
def test_every_letter_of_prose_stands_in_a_piece(sentences):
    answer = " ".join(sentences)
    assert [piece.text for piece in pieces_of(answer)] == sentences


@given(st.lists(st.sampled_from([*LETTERS, *MARKERS]), max_size=14).map("".join))
def test_no_letter_of_an_answer_is_lost_but_those_of_markers(answer):
    def letters(text):
        return Counter(char for char in text if char in "봄Q7")

    told = letters("".join(piece.text for piece in pieces_of(answer)))
    assert not letters(answer) - told  # names of columns are told in each row


@given(st.one_of(st.sampled_from([case["answer"] for case in CASES]), MARKDOWN))
def test_a_decomposed_answer_is_cut_as_the_composed_one(answer):
    decomposed = unicodedata.normalize("NFD", answer)
    found = pieces_of(decomposed)
    composed = pieces_of(unicodedata.normalize("NFC", answer))
    assert [(piece.role, piece.text, piece.cited) for piece in found] == [
        (piece.role, piece.text, piece.cited) for piece in composed
    ]
    for piece, twin in zip(found, composed, strict=True):
        raw = unicodedata.normalize("NFC", piece.span.slice(decomposed))
        assert raw == twin.span.slice(unicodedata.normalize("NFC", answer))


@pytest.mark.whole
@pytest.mark.each(
    "unit",
    [
        "노트", "[노트 1]", "`", '"', "(", " ", "[", "?", "**", "www.", "a. ", "| - |\n", "가요 ",
        "](", "http://. ", "요!", "!a?", "노트 1, ", "(노트 1", "[1, ", "입니다👍", "출처: ", "# a\n",
        "\r", "노트에 없어 ", "the notes and ", "```a ", "\u1100", "\u1161", "|", "|\n|-\n", ". [1] ",
    ],
)  # fmt: skip
def test_anything_is_cut_in_linear_time(unit):
    def cut(size):
        answer = f"a{unit * (size // len(unit))}b"
        assert pieces_of(answer)[-1].span.end == len(answer)

    check_linear(cut, 32_000)
