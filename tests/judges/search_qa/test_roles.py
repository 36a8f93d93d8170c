"""Which sentences of an answer are let off being claims, whatever a model says of them."""

import json
from pathlib import Path

import pytest
from time_limit import check_linear

from gigamind.judges.search_qa.roles import Roles, is_abstention
from gigamind.judges.search_qa.segments import claims_of, pieces_of
from gigamind.judges.search_qa.words import is_of_another_language
from gigamind.prompting.fences import Source

LEAVE = Source(
    "휴가 규정",
    "연차는 첫해에 15일을 준다. 이월은 5일까지다. 담당자는 김하나이다. 관련 문서는 외부에 공개하지 않는다.",
)
PARENTS = Source(
    "Parental leave",
    "Parental leave is 10 working days. It is paid in full. Refunds are free. The desk is closed.",
)
GERMAN = (
    "Der Urlaub beträgt im ersten Jahr fünfzehn Tage, davon können fünf Tage bis Ende März des nächsten Jahres"
    " genommen werden, wenn Vorgesetzte zustimmen."
)
KO, EN = "연차는 며칠인가요?", "How long is parental leave?"


def veto(text, role, *, question=EN, notes=(PARENTS,), behind=""):
    """Why the first sentence of an answer is a claim."""
    claims = claims_of(pieces_of(text + behind))
    return Roles(question, notes, claims).veto(claims[0], role)


@pytest.mark.each(
    "role, text",
    [
        ("courtesy", "Sure, here's what I found."), ("courtesy", "Of course!"),
        ("courtesy", "Let me know if you'd like the full list."),
        ("courtesy", "I hope this helps, feel free to ask!"),
        ("courtesy", "Thank you for your question."),
        ("abstention", "The notes do not say how long parental leave is."),
        ("abstention", "I'm sorry, but I could not find this in the provided notes."),
        ("abstention", "It is unclear whether the leave is paid, based on the passages."),
        ("abstention", "I don't know."), ("question", "Would you like more details?"),
        ("abstention", "The notes do not mention a sabbatical bonus."),
        ("abstention", "The notes do not say how long it is [Note 1]."),
        ("source", "Sources: Parental leave"),
    ],
)  # fmt: skip
def test_what_states_nothing_in_english_is_let_off(role, text):
    assert veto(text, role) is None


@pytest.mark.each(
    "role, text",
    [
        ("courtesy", "네, 안내해 드리겠습니다."), ("courtesy", "물론입니다!"),
        ("courtesy", "더 궁금한 점이 있으시면 언제든지 말씀해 주세요."),
        ("abstention", "노트에는 연차에 관한 내용이 없습니다."),
        ("abstention", "제공된 문서에서 해당 정보를 찾을 수 없습니다."),
        ("abstention", "연차가 며칠인지는 알 수 없습니다."),
        ("abstention", "죄송하지만 노트에 나와 있지 않아 답변드리기 어렵습니다."),
        ("question", "더 필요한 정보가 있으신가요?"), ("source", "출처: 휴가 규정"),
    ],
)  # fmt: skip
def test_what_states_nothing_in_korean_is_let_off(role, text):
    assert veto(text, role, question=KO, notes=(LEAVE,)) is None


@pytest.mark.each(
    "role, text, why",
    [
        ("courtesy", "Of course, it is paid in full.", "word_of_a_note"),
        ("courtesy", "Sure, the bonus is generous.", "states"),
        ("courtesy", "Yes.", "states"),
        ("courtesy", "Sure, it is 10 days.", "number"),
        ("courtesy", "Glad to help [Note 1].", "citation"),
        ("abstention", "Parental leave is long.", "states"),
        ("abstention", "Parental leave is not long.", "states"),
        ("abstention", "The notes do not say more, but refunds are free.", "states"),
        ("abstention", "The notes do not say more, but dogs are welcome.", "states"),
        ("abstention", "Parental leave is long, and the notes do not say more.", "states"),
        ("abstention", "The notes do not say more, but parental leave is long.", "states"),
        ("abstention", "The notes do not mention the 90 days.", "number"),
        ("abstention", "The notes do not mention sabbaticals, bonuses, lunches, cars.", "states"),
        ("abstention", "The notes say nothing more, refunds being free.", "states"),
        ("abstention", "The desk is closed without information.", "word_of_a_note"),
        ("question", "Did you know that refunds are free?", "word_of_a_note"),
        ("question", "Is it long.", "form"),
        ("heading", "Parental leave is long", "form"),
        ("lead_in", "Here is what I found:", "form"),  # nothing follows
        ("source", "Sources: dogs and parrots", "states"),
        ("source", "Sources: Parental leave is paid", "word_of_a_note"),
        ("source", "Sources: Parental leave 10 days", "number"),
    ],
)
def test_what_could_be_a_fact_in_english_stays_a_claim(role, text, why):
    assert veto(text, role) == why


@pytest.mark.each(
    "role, text, why",
    [
        ("courtesy", "네.", "form"),
        ("courtesy", "물론입니다, 담당자는 김하나입니다.", "word_of_a_note"),
        ("courtesy", "감사합니다만 반차는 폐지되었습니다.", "states"),
        ("abstention", "연차는 길다.", "states"),
        ("abstention", "연차는 길지 않다.", "states"),
        ("abstention", "노트에는 연차가 없다고 나와 있습니다.", "no_words"),
        ("abstention", "며칠인지는 노트에 없지만 담당자는 김하나입니다.", "word_of_a_note"),
        ("abstention", "노트에 없지만 반차는 무료로 제공됩니다.", "states"),
        ("abstention", "노트에는 20일에 대한 내용이 없습니다.", "number"),
        ("abstention", "관련 문서는 외부에 공개하지 않는다.", "word_of_a_note"),
        ("question", "담당자가 김하나인 것을 아시나요?", "word_of_a_note"),
    ],
)
def test_what_could_be_a_fact_in_korean_stays_a_claim(role, text, why):
    assert veto(text, role, question=KO, notes=(LEAVE,)) == why


def test_a_number_and_a_word_of_the_question_may_stand_in_an_abstention():
    asked = "What was the 2024 budget for refunds?"
    assert veto("The notes do not mention the 2024 budget.", "abstention", question=asked) is None
    assert veto("The notes do not mention the refunds.", "abstention", question=asked) is None
    assert (
        veto("The notes do not mention the 2025 budget.", "abstention", question=asked) == "number"
    )


def test_a_yes_or_no_is_an_answer():
    asked = "Is parental leave paid in full?"
    text = "No, there is no evidence that parental leave is paid in full."
    assert veto(text, "abstention", question=asked) == "states"
    assert veto(text.removeprefix("No, "), "abstention", question=asked) is None


@pytest.mark.each(
    "role, text, why",
    [
        ("lead_in", "Here is what I found:", None),
        ("lead_in", "The days of parental leave are as follows:", None),
        ("lead_in", "The desk is closed, and the steps are:", "word_of_a_note"),
        ("lead_in", "Parental leave is long.", "form"),  # announces nothing
        ("heading", "# Parental leave", None),
        ("heading", "# Days and pay", None),  # of what stands below it
        ("heading", "# The desk is closed", "word_of_a_note"),
        ("heading", "# Dogs are welcome", "states"),
        ("heading", "# Parental leave is not provided", "states"),
        ("lead_in", "The days of parental leave are:", None),
        ("lead_in", "Parental leave is long:", "form"),
        ("lead_in", "Parental leave is not provided:", "states"),
    ],
)
def test_a_lead_in_and_a_heading_name_only_what_is_asked_or_follows(role, text, why):
    assert veto(text, role, behind="\n- Pay is for all days.") == why


def test_rows_and_codes_are_claims():
    assert veto("| Hello |\n|---|\n| Thanks |", "courtesy") == "form"
    assert veto("```sh\nthanks\n```", "courtesy") == "form"


@pytest.mark.parametrize("unit", ["not ", "없", "?", "a", "and ", "the notes, ", "다고 "])
@pytest.mark.parametrize("role", ["abstention", "courtesy", "lead_in", "question"])
def test_a_long_sentence_takes_linear_time(role, unit):
    def read(size):
        text = "The notes do not say " + unit * (size // len(unit)) + "b"
        veto(text, role, behind="\n- b")

    check_linear(read, 16_000)


def test_words_must_stand_in_their_sentence_to_say_that_something_is_untold():
    assert is_abstention("notes do not say", "The notes do not say when.")
    assert not is_abstention("notes do not tell", "The notes do not say when.")
    assert not is_abstention("not", "The notes do not say when.")


@pytest.mark.each(
    "text, expected",
    [
        ("연차는 첫해에 15일을 준다. 이월은 다음 해 3월 31일에 소멸하며, 담당자는 김하나이다.", False),
        ("The leave is fifteen days in the first year, and five of them may be carried over to the next.", False),
        (GERMAN, True),
        ("有給休暇は初年度に十五日付与され、翌年度に五日まで繰り越すことができます。", True),
        ("VPN", False),
    ],
)  # fmt: skip
def test_a_text_of_a_third_language_is_known_where_it_has_some_length(text, expected):
    assert is_of_another_language(text) is expected


@pytest.mark.parametrize(("language", "least"), [("en", 16), ("ko", 18)])
def test_abstentions_in_words_that_chose_no_rule_are_recognised(language, least):
    table = Path(__file__).parents[2] / "data" / "abstentions.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    own = [row for row in rows if row["language"] == language]
    notes = [(Source(row["note"].partition("\n")[0], row["note"]),) for row in own]
    vetoes = [
        veto(row["text"], "abstention", question=row["question"], notes=note)
        for row, note in zip(own, notes, strict=True)
    ]
    assert len(vetoes) == 20
    assert vetoes.count(None) >= least
