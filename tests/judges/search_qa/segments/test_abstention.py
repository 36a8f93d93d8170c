"""Whether a sentence says that the notes do not tell; the table was written by hand."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from gigamind.judges.search_qa.segments.abstention import abstains

DATA = Path(__file__).parents[3] / "data" / "abstentions.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


@pytest.mark.each("case", CASES)
def test_a_sentence_abstains_only_if_it_says_nothing_besides(case):
    assert abstains(case["text"]) == case["abstains"]


def test_the_table_holds_forty_of_each_kind_and_language():
    counts = Counter((case["language"], case["abstains"]) for case in CASES)
    assert len(counts) == 4
    assert min(counts.values()) >= 40
    assert len({case["text"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("노트에는 2025년 매출에 대한 정보가 없습니다.", True),
        ("노트에는 3월 매출에 대한 정보가 없습니다.", False),
        ("노트에는 2021년에 퇴사한 이유가 나와 있지 않습니다.", False),
        ("The notes do not mention the 2024 budget.", True),
        ("The notes do not mention the refund of 90 euros.", False),
        ("The notes do not say why Kim left in 2021.", False),
        ("I could not find an award for rider app 4 in the notes.", True),
    ],
)
def test_a_number_is_let_in_only_as_part_of_a_name(text, expected):
    assert abstains(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The notes don't mention it, so I can't answer.", True),
        ("The notes don't mention it, so late claims are paid.", False),
        ("노트에 정보가 없어 답변드릴 수 없습니다.", True),
        ("노트에 정보가 없어 늦은 신청도 됩니다.", False),
        ("The notes do not mention fees and refunds.", True),
        ("The notes do not mention fees and refunds are paid at once.", False),
        ("The notes do not say whether refunds are free.", True),
        ("The notes do not say refunds are free.", False),
    ],
)
def test_each_clause_must_say_so(text, expected):
    assert abstains(text) is expected


@pytest.mark.parametrize("mark", ["", ".", "!", " 😊", "**", ".”"])
def test_marks_around_a_sentence_change_nothing(mark):
    assert abstains(f"노트에는 관련 정보가 없습니다{mark}")
    assert abstains(f"The notes do not mention it{mark}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("노트에 나와 있지 않은 내용입니다.", True),
        ("규정에 나와 있지 않은 내용입니다.", False),
        ("노트에 언급되어 있지 않습니다.", True),
        ("공지에 언급되어 있지 않습니다.", False),
        ("노트에 따르면 징계 기록이 없습니다.", False),
        ("제출 문서에 적혀 있지 않습니다.", False),
        ("제공된 문서에 적혀 있지 않습니다.", True),
        ("The notes do not contain the fee.", True),
        ("The document does not contain the fee.", False),
        ("The document does not contain information about the fee.", True),
        ("I could not find the fee.", True),
        ("We could not find the fee.", False),
    ],
)
def test_the_notes_or_the_answerer_must_be_the_ones_that_do_not_tell(text, expected):
    assert abstains(text) is expected


@pytest.mark.parametrize(("length", "expected"), [(300, True), (301, False)])
def test_a_very_long_sentence_is_a_claim(length, expected):
    sentence = "The notes do not mention " + "x" * (length - 26) + "."
    assert len(sentence) == length
    assert abstains(sentence) is (expected and length <= 226)


@pytest.mark.parametrize(
    "unit",
    ["노트에 ", "노트에서 정보 ", "없어 ", "the notes ", "and ", "so I can't ", "in the notes "],
)
def test_the_longest_sentence_takes_no_time(unit):
    sentence = (unit * 300)[:299] + "."
    start = time.perf_counter()
    for _ in range(5):
        assert not abstains(sentence)
    assert time.perf_counter() - start < 5  # seconds
