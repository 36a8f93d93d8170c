"""Which word of a copied sentence stands in the place of another, and what is an honest retelling."""

import pytest

from gigamind.judges.search_qa.support import substitution
from gigamind.judges.search_qa.words import Reading

KEEP = "The hub keeps the events of thirty days in the inner memory."


@pytest.mark.each(
    "source, claim, ours, theirs",
    [
        (KEEP, "The hub keeps the events of thirty days in the outer memory.", "outer", "inner"),
        (KEEP, "The hub keeps the events of sixty days in the inner memory.", "sixty", "thirty"),
        (KEEP, "The hub keeps the events of thirty weeks in the inner memory.", "weeks", "days"),
        ("Some hubs keep the events of thirty days.", "All hubs keep the events of thirty days.", "all", "some"),
        ("Anderson keeps the keys of the office.", "Andersen keeps the keys of the office.", "andersen", "anderson"),
        ("The owner may call the installer when the hub is new.",
         "The installer may call the installer when the hub is new.", "installer", "owner"),
        ("In Porto the cook is a guide, and in many towns, mostly those of Lugo, a friend.",
         "In Lugo the cook is known as a guide, in many towns, mostly those of Porto, a friend.", "lugo", "porto"),
        ("휴가는 대표가 승인합니다.", "휴가는 팀장이 승인합니다.", "팀장이", "대표가"),
        ("문은 닫혀 있어야 합니다.", "문은 열려 있어야 합니다.", "열려", "닫혀"),
        ("여기서 상자란 창 안의 네모를 말하며, 기본값은 KOSPI 시장입니다.",  # a name, whatever else differs
         "상자의 기본값으로 KOSDAQ 시장을 씁니다.", "kosdaq", "kospi"),
        ("기본적으로 상대는 컴퓨터입니다.", "기본적으로 상대는 사람입니다.", "사람입니다", "컴퓨터입니다"),
        ("김민수 씨가 회의를 이끈다.", "김민주 씨가 회의를 이끈다.", "김민주", "김민수"),
    ],
)  # fmt: skip
def test_a_word_in_the_place_of_another_is_found_in_a_copied_sentence(source, claim, ours, theirs):
    found = substitution(Reading(claim), Reading(source))
    assert found is not None
    assert found.texts == (ours, theirs)


@pytest.mark.each(
    "source, claim",
    [
        (KEEP, KEEP),
        (KEEP, "The hub kept the events of thirty days in its inner memory."),  # inflected, another article
        (KEEP, "The hub keeps the events of thirty days."),  # a part
        (KEEP, "In the inner memory the hub keeps the events of thirty days."),  # another order
        (KEEP, "Events stay on the device for thirty days."),  # in other words: too little is copied
        (KEEP, "The hub keeps ... thirty days in the inner memory."),
        ("Roses and tulips stand near the gate.", "Tulips and roses stand near the gate."),  # a list
        ("The deforestation of the region went on.", "The deforrestation of the region went on."),  # a slip
        ("못 쓴 연차는 다음 해에 소멸합니다.", "못 쓴 연차는 다음 해에 사라집니다."),  # the predicate at the end
        ("시스템은 CD나 DVD같은 매체에서 바로 켠다.", "시스템은 CD나 DVD 같은 매체에서 바로 켠다."),
        ("금액은 다음 날 오전에 취소했다.", "금액은 다음 날오전에 취소했다."),  # spaced otherwise
        ("이월분은 다음 해에 소멸합니다.", "이월분이 다음 해에 소멸한다."),
    ],
)  # fmt: skip
def test_an_honest_retelling_puts_no_word_in_the_place_of_another(source, claim):
    assert substitution(Reading(claim), Reading(source)) is None


def test_of_a_claim_in_words_of_its_own_a_single_word_is_no_copy_with_another():
    """From 0.6 of the longer with one difference, and from 0.85 with more: both from both sides."""
    source = Reading("one two red four five six seven eight nine ten")
    assert substitution(Reading("one two blue"), Reading("one two red")) is not None
    assert substitution(Reading("one blue"), Reading("one red")) is None
    assert (
        substitution(Reading("one two blue four five six seven eight nine ten"), source) is not None
    )
    assert substitution(Reading("one two blue four green six seven eight nine ten"), source) is None
