import pytest
from answer_reply import aside, finding
from scripted_model import Scripted, judge_by, reply_of

from gigamind.judges.search_qa.judgement import _confidence, _utility


@pytest.mark.parametrize(
    ("answerable", "note", "quote", "expected"),
    [
        # The notes do answer: to say that they do not is no use.
        (True, 1, "연차는 입사 첫해에 15일을 준다.", 0.0),
        # Told, not proven: nor is the abstention.
        (True, 1, "꾸며 낸 문장으로 답이 있다고 한다.", 0.0),
        (False, None, "", 1.0),
    ],
)
def test_an_abstention_is_useful_iff_nobody_says_that_the_notes_answer(
    answerable, note, quote, expected
):
    reply = reply_of(
        aside("abstention", "관련 정보가 없습니다"),
        answerable=answerable,
        answer_note=note,
        answer_quote=quote,
        utility=0.3,
    )
    judged = judge_by(Scripted(reply), "노트에는 관련 정보가 없습니다.")
    assert (judged.outcome, judged.correctness, judged.confidence) == ("abstained", None, None)
    assert (judged.utility, judged.reported_utility) == (expected, 0.3)
    assert judged.completeness == (0.0 if answerable else None)


def test_a_blank_answer_is_useless_and_costs_nothing():
    client = Scripted(reply_of())
    judged = judge_by(client, " \n")
    assert (judged.outcome, judged.correctness, judged.utility) == ("no_claims", None, 0.0)
    assert client.requests == []


def test_a_word_of_the_model_turns_no_claim_into_an_abstention():
    reply = reply_of(aside("abstention", "연차는 99일이다."))
    judged = judge_by(Scripted(reply), "연차는 99일이다.")
    assert (judged.outcome, judged.correctness) == ("judged", 0.0)


@pytest.mark.parametrize(
    ("correct", "useful", "answers_question", "expected"),
    [
        (0.8, 0.7, 1.0, "high"), (0.8, 0.69, 1.0, "medium"), (0.79, 1.0, 1.0, "medium"),
        (0.5, 0.0, 1.0, "medium"), (0.49, 1.0, 1.0, "low"), (None, 1.0, 1.0, None),
        (1.0, 1.0, None, "high"), (1.0, 1.0, 0.5, "high"), (1.0, 1.0, 0.49, "medium"),
    ],
)  # fmt: skip
def test_confidence_boundaries(correct, useful, answers_question, expected):
    assert _confidence(correct, useful, answers_question) == expected


def test_an_answer_without_a_proven_claim_is_hardly_useful_whatever_the_model_says():
    assert _utility("judged", 1.0, answerable=True, correct=0.0, answers=True) == 0.4
    assert _utility("judged", 0.1, answerable=True, correct=0.0, answers=True) == 0.1


@pytest.mark.parametrize(
    ("quote", "expected"),
    [("반차는 0.5일로 계산한다.", 0.4), ("연차는 입사 첫해에 15일을 준다.", 0.75)],
)
def test_a_proven_answer_to_another_question_is_hardly_useful(quote, expected):
    """Its words are about leave, so only the model's own quote can say that it answers the question."""
    sentence = "연차는 입사 첫해에 15일을 준다."
    reply = reply_of(
        finding(1, "supported", 1, sentence), answerable=True, answer_note=1, answer_quote=quote
    )
    judged = judge_by(Scripted(reply), sentence, question="반차는 며칠로 계산하나요?")
    assert (judged.correctness, judged.answers_question, judged.utility) == (1.0, 0.0, expected)
