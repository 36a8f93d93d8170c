import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.judges.search_qa.claims import claims_of, pieces_of

DATA = Path(__file__).parents[2] / "data" / "answer_sentences.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
MARKDOWN = st.text(st.sampled_from('a가다요.!?\n -*#|`>[노트 1]"”()📎'), max_size=60)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_answer_is_cut_as_a_person_would_cut_it(case):
    found = [[piece.role, piece.text] for piece in pieces_of(case["answer"])]
    assert found == case["pieces"]


def test_the_cases_hold_two_hundred_sentences():
    assert sum(len(case["pieces"]) for case in CASES) >= 200


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("연차는 15일이다. [노트 1] 반차는 없다.", [(1,), ()]),
        ("연차는 15일이다.[노트 2][노트 1] 반차는 없다 [노트 1, 노트 3].", [(2, 1), (1, 3)]),
        ("[Note 3] says 15. [note 3] says so.", [(3, 3)[:1], ()]),
        ("[노트 1]에 따르면 15일이다. [노트 2]에서는 20일이다.", [(1,), (2,)]),
        ("It is 15 [1]. It is 16 [Note 0].", [(), (0,)]),
    ],
)
def test_a_citation_stays_with_the_sentence_it_follows(answer, cited):
    assert [piece.cited for piece in pieces_of(answer)] == cited


def test_claims_are_numbered_from_one_and_nothing_else_is():
    claims = claims_of(pieces_of("# 휴가\n연차는 15일이다. 궁금한가요?\n- 반차도 된다"))
    assert [(claim.id, claim.piece.text) for claim in claims] == [
        (1, "연차는 15일이다."),
        (2, "반차도 된다"),
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


@pytest.mark.parametrize(
    "unit",
    ["노트", "[노트 1]", "`", '"', "(", " ", "[", "?", "**", "www.", "a. ", "| - |\n", "가요 "],
)
def test_a_hundred_kilobytes_of_anything_are_cut_in_seconds(unit):
    answer = f"a{unit * (100_000 // len(unit))}b"
    start = time.perf_counter()
    pieces = pieces_of(answer)
    assert time.perf_counter() - start < 10  # seconds; anything quadratic takes minutes
    assert pieces[-1].span.end == len(answer)
