"""Claims that are made of the words of their source, and say what none of its clauses says."""

import pytest

from gigamind.assets import asset
from gigamind.judges.load import OF_ANSWERS, load_judge
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.by_words import _judged_by_words
from gigamind.prompting.fences import Source

FILE = load_judge(asset("judges") / "words.toml", kinds=OF_ANSWERS).file


def verdict(note, claim):
    [judged] = _judged_by_words(AnswerCase("", claim, (Source("", note),)), FILE).claims
    return judged.verdict, judged.doubt


PARALLEL = [
    ("Apples ripen in three weeks, pears in five.", "Pears ripen in three weeks.", "Apples ripen in three weeks."),
    ("The east gate is locked at night, but the west gate stays open.", "The west gate is locked at night.",
     "The east gate is locked at night."),
    ("The tower was built by Ann Lee (a baker, 1901 – 1970) and it was sold in 1980.", None,
     "The tower was built by Ann Lee."),
]  # fmt: skip


@pytest.mark.each("note, mixed, told", PARALLEL)
def test_what_is_said_of_one_of_two_is_not_believed_of_the_other(note, mixed, told):
    if mixed is not None:
        assert verdict(note, mixed)[0] != "supported"
    assert verdict(note, told) == ("supported", None)


TABLE = "| Level | Meaning | Answer |\n|---|---|---|\n| L1 | all down | in 15 minutes |\n| L2 | slow | in 4 hours |\n"
ITEMS = "승인:\n\n- 10만 원 이하: 담당자 승인\n- 10만 원 초과: 본부장 승인\n"


@pytest.mark.each(
    "note, claim, believed",
    [
        (TABLE, "L2 means slow with an answer in 4 hours.", True),
        (TABLE, "L1 means slow with an answer in 4 hours.", False),
        ("| 등급 | 수당 |\n|---|---|\n| A | 12 % |\n| B | 6 % |\n", "A등급의 수당은 12 %입니다.", True),
        ("| 등급 | 수당 |\n|---|---|\n| A | 12 % |\n| B | 6 % |\n", "B등급의 수당은 12 %입니다.", False),
        (ITEMS, "10만 원 초과는 본부장 승인을 받습니다.", True),
        (ITEMS, "10만 원 이하는 본부장 승인을 받습니다.", False),
        (ITEMS, "10만 원 초과는 담당자 승인을 받습니다.", False),
        # Times, counts, names and negations of short sentences.
        ("The old bridge will be closed in May.", "The old bridge will be closed in May.", True),
        ("The guide walks with a lamp.", "The guide walks without a lamp.", False),
        ("The watch changes on Mondays at 10:00.", "The watch changes on Mondays at 22:00.", False),
        ("The watch changes on Mondays at 10 am.", "The watch changes on Mondays at 10 pm.", False),
        ("교대는 월요일 오후 2시에 한다.", "교대는 월요일 14:00에 한다.", True),
        ("교대는 월요일 오후 2시에 한다.", "교대는 월요일 오전 2시에 한다.", False),
        ("Each order needs two signatures.", "Each order needs one signature.", False),
        ("담당자는 이수민입니다.", "담당자는 박수민입니다.", False),
        ("암호는 해마다 바꾸지 않아도 된다.", "암호는 해마다 바꿔야 한다.", False),
        ("# Parking\n\nVisitors are not allowed.", "Visitors are not allowed parking.", True),
        ("Tanks are filled to at most 80%.", "Tanks are filled to no more than 80%.", True),
    ],
)  # fmt: skip
def test_another_row_item_time_count_name_or_negation_is_not_believed(note, claim, believed):
    assert (verdict(note, claim)[0] == "supported") is believed
