"""`claims = "llm"`: a model cuts sentences into claims, and our code keeps the words of the answer."""

import json
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.errors import InputError, LlmError
from gigamind.judges.search_qa.judge import load_search_qa_judge, refined
from gigamind.judges.search_qa.segments.claims import pieces_of

LEAVE = "연차는 입사 첫해에 15일을 준다."
TWO = "연차는 15일이고 반차는 0.5일이다."


def parts_of(answer, *parts, number=1):
    """Text, cut and citations of the claims once a model has told these parts of one."""
    cut = refined(answer, pieces_of(answer), {number: parts})
    return [(one.text, one.cut, one.cited) for one in cut if one.role == "claim"]


def cut_reply(*sentences):
    return {
        "sentences": [{"id": number, "parts": list(parts)} for number, *parts in sentences],
    }


def test_a_sentence_with_two_claims_becomes_two():
    assert parts_of(TWO, "연차는 15일이고", "반차는 0.5일이다.") == [
        ("연차는 15일이고", "part", ()),
        ("반차는 0.5일이다.", "part", ()),
    ]


def test_a_model_that_gives_the_example_of_the_prompt_back_cuts_nothing():
    example = ("연차는 15일이고", "병가는 3일입니다.")
    assert parts_of(TWO, *example) == [(TWO, "uncut", ())]


def test_what_stands_between_two_parts_belongs_to_the_later_one():
    answer = "Leave is 15 days, and half a day counts 0.5."
    assert [
        text for text, *_ in parts_of(answer, "Leave is 15 days", "half a day counts 0.5.")
    ] == [
        "Leave is 15 days",
        "and half a day counts 0.5.",
    ]


def test_what_the_model_leaves_out_at_the_ends_stays_in_the_claims():
    answer = "First, leave is 15 days and sick leave is 3 days, never more."
    assert [text for text, *_ in parts_of(answer, "leave is 15 days", "sick leave is 3 days")] == [
        "First, leave is 15 days",
        "and sick leave is 3 days, never more.",
    ]


def test_the_claim_has_the_words_of_the_answer_and_not_those_of_the_model():
    answer = "Leave is 15 days and sick leave is 3 days."
    found = parts_of(answer, "Leave is 25 days", "and sick leave is 3 days.")
    assert [text for text, *_ in found] == ["Leave is 15 days", "and sick leave is 3 days."]


FIRST, SECOND = "연차는 15일이고", "반차는 0.5일이다."


@pytest.mark.parametrize(
    ("answer", "parts", "cited"),
    [
        ("연차는 15일이고 [노트 1] 반차는 0.5일이다 [노트 2].", (FIRST, SECOND), [(1,), (2,)]),
        ("연차는 15일이고 반차는 0.5일이다 [노트 2].", (FIRST, SECOND), [(2,), (2,)]),
        ("[노트 1] 연차는 15일이고 반차는 0.5일이다.", (FIRST, SECOND), [(1,), (1,)]),
        (
            "[노트 1]에 따르면 연차는 15일이고 반차는 [노트 2]에서 0.5일이다.",
            ("노트 1에 따르면 연차는 15일이고", "반차는 노트 2에서 0.5일이다."),
            [(1,), (2,)],
        ),
    ],
)
def test_a_part_has_the_citation_behind_it_else_the_next_else_the_last(answer, parts, cited):
    assert [found for *_, found in parts_of(answer, *parts)] == cited


@pytest.mark.parametrize(
    "parts",
    [
        ("반차는 0.5일이다.", "연차는 15일이고"),
        ("연차는 15일이고", "정원에는 장미와 튤립이 핀다"),
        ("연차는", "15일이고 반차는 0.5일이다."),
        ("연차는 15일이고 반차는 0.5일", "이다."),
        ("연차는 15일이고 반차는 0", "5일이다."),
        ("연차는 15일이고", ""),
    ],
    ids=["other order", "other words", "one word", "inside a word", "inside a number", "nothing"],
)
def test_a_sentence_stays_whole_where_the_parts_do_not_make_it(parts):
    assert parts_of(TWO, *parts) == [(TWO, "uncut", ())]


@pytest.mark.parametrize("parts", [(), (TWO,), ("연차는 20일이다.",)])
def test_a_sentence_that_the_model_does_not_cut_is_as_our_code_has_it(parts):
    assert parts_of(TWO, *parts) == [(TWO, "sentence", ())]


def test_a_decomposed_sentence_is_cut_as_the_composed_one():
    answer = unicodedata.normalize("NFD", "끝. 연차는 15일이고 [노트 1] 반차는 0.5일이다 [노트 2].")
    cut = refined(answer, pieces_of(answer), {2: (FIRST, SECOND)})
    assert [(one.text, one.cut, one.cited) for one in cut] == [
        ("끝.", "sentence", ()),
        (FIRST, "part", (1,)),
        (SECOND, "part", (2,)),
    ]
    assert [unicodedata.normalize("NFC", one.span.slice(answer)) for one in cut] == [
        "끝.",
        "연차는 15일이고 [노트 1]",
        "반차는 0.5일이다 [노트 2].",
    ]


def test_a_row_of_a_table_is_never_cut():
    answer = "| 종류 | 일수 |\n|---|---|\n| 연차 휴가 | 15일 이상 |"
    (whole,) = [one for one in pieces_of(answer) if one.role == "claim"]
    words = whole.text.split()
    parts = (" ".join(words[:2]), " ".join(words[2:]))
    assert parts_of(answer, *parts) == [(whole.text, "uncut", ())]


WORDS = st.lists(
    st.sampled_from(["연차는", "15일이고", "[노트 1]", "leave", "is", "3.5", "👍,", "반차도"]),
    min_size=4,
    max_size=14,
)


@given(WORDS, st.data())
def test_no_word_of_a_sentence_is_lost_or_said_twice_however_it_is_cut(words, data):
    answer = " ".join(words) + " 끝난다."
    told = data.draw(st.lists(st.sampled_from([*words, " ".join(words[:2]), answer]), max_size=4))
    pieces = pieces_of(answer)
    cut = refined(answer, pieces, dict.fromkeys(range(1, 9), told))
    letters = [char for one in cut for char in one.span.slice(answer) if char.isalnum()]
    assert letters == [char for one in pieces for char in one.span.slice(answer) if char.isalnum()]
    spans = [one.span for one in cut]
    assert all(a.end <= b.start for a, b in pairwise(spans))


def test_each_part_is_judged_by_itself(scripted, reply_of, found, judge_by, judge_file):
    client = scripted(
        cut_reply((1, "연차는 15일이고", "반차는 0.5일이다.")),
        reply_of(found(1, "supported", 1, LEAVE), found(2, "not_found")),
    )
    judged = judge_by(client, TWO, file=judge_file(claims="llm"))
    assert [one.claim.piece.text for one in judged.claims] == [
        "연차는 15일이고",
        "반차는 0.5일이다.",
    ]
    assert judged.correctness == 0.5
    first, second = (request.messages[-1]["content"] for request in client.requests)
    assert json.dumps([{"id": 1, "text": TWO}], ensure_ascii=False) in first
    assert '{"id": 2, "text": "반차는 0.5일이다."}' in second


def test_sentences_too_short_for_two_claims_are_not_asked_about(
    scripted, reply_of, found, judge_by, judge_file
):
    client = scripted(reply_of(found(1, "supported", 1, LEAVE)))
    judged = judge_by(client, "연차는 15일이다.", file=judge_file(claims="llm"))
    assert (len(client.requests), judged.correctness) == (1, 1.0)


def test_a_long_answer_is_cut_in_several_calls(scripted, reply_of, found, judge_by, judge_file):
    answer = "연차는 첫해에 15일을 준다. 반차는 하루에 0.5일로 센다. 병가는 한 해에 3일이다."
    client = scripted(
        cut_reply((1, "연차는 첫해에", "15일을 준다.")),
        cut_reply(),
        reply_of(*(found(number, "not_found") for number in (1, 2))),
        {"claims": [found(3, "not_found"), found(4, "not_found")]},
    )
    judged = judge_by(client, answer, file=judge_file(claims="llm", claims_per_call=2))
    assert [one.claim.piece.cut for one in judged.claims] == [
        "part",
        "part",
        "sentence",
        "sentence",
    ]
    assert len(client.requests) == 4


def test_an_answer_with_too_many_parts_is_not_judged(scripted, judge_by, judge_file):
    client = scripted(cut_reply((1, "연차는 15일이고", "반차는 0.5일이다.")))
    with pytest.raises(LlmError, match="max_claims") as told:
        judge_by(client, TWO, file=judge_file(claims="llm", max_claims=1))
    assert (told.value.code, len(client.requests)) == ("context_too_long", 1)
    assert told.value.message.values == {"n": 2, "limit": 1}


def test_without_a_usable_reply_about_the_claims_the_answer_is_unscored(
    scripted, judge_by, judge_file
):
    with pytest.raises(LlmError) as told:
        judge_by(scripted(None), TWO, file=judge_file(claims="llm"))
    assert told.value.code == "refused"


@pytest.mark.parametrize("language", ["ko", "en"])
def test_who_cuts_the_claims_makes_another_judge(judge_file, language):
    ours = load_search_qa_judge(judge_file(), language)
    theirs = load_search_qa_judge(judge_file(claims="llm"), language)
    assert ours.fingerprint != theirs.fingerprint
    assert (len(ours.prompts), len(theirs.prompts)) == (2, 3)  # one of them for second looks


def test_a_prompt_for_cutting_that_is_not_there_is_told(judge_file):
    file = judge_file(claims="llm", claims_prompt="search_qa_claims/v9")
    with pytest.raises(InputError, match=r"search_qa_claims/v9/ko\.jinja"):
        load_search_qa_judge(file, "ko")
