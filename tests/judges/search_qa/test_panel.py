"""Several judgements of one answer become one that does not contradict itself."""

import asyncio

import pytest
from answer_reply import aside

from gigamind.judges.asking import Asking
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.judge import judge_answer_by_panel, load_search_qa_judge
from gigamind.llm.ask import LanguageModel
from gigamind.llm.settings import ModelSettings

LEAVE = "연차는 입사 첫해에 15일을 준다."
TWO = "연차는 15일이다. 반차는 0.5일이다."
ABSTAINS = "노트에서 관련 내용을 찾을 수 없습니다."


@pytest.fixture
def panel_of(scripted, judge_file, notes):
    """The judgement of one model that is asked once for each of these replies, and how often it was."""

    def judged(answer, *replies, **fields):
        client = scripted(*replies)
        path = judge_file(**({"repeats": len(replies)} | fields))
        judge = load_search_qa_judge(path, "ko")
        settings = judge.settings(ModelSettings("m"))
        model = LanguageModel(settings, client=client, parameters={"max_tokens": 768})
        case = AnswerCase("연차는 며칠?", answer, notes)
        asking = Asking({"m": model}, item_id="q", fence_key=b"k" * 32)
        asked = judge_answer_by_panel(judge, case, asking)
        return asyncio.run(asked).judgement, len(client.requests)

    return judged


def test_a_note_is_cited_only_by_claims_that_the_panel_supports(panel_of, reply_of, found):
    judged, _ = panel_of(
        TWO,
        reply_of(found(1, "supported", 1, LEAVE), found(2, "not_found")),
        reply_of(found(1, "not_found"), found(2, "supported", 1, "반차는 0.5일로 계산한다.")),
    )
    assert [one.verdict for one in judged.claims] == ["not_found", "not_found"]
    assert judged.correctness == 0.0
    assert [(one.cited, one.relevant_claim) for one in judged.coverage] == [
        (False, ""),
        (False, ""),
    ]


HELLO = "안녕하세요! 연차는 15일이다."


@pytest.mark.parametrize(
    ("courteous", "claims"),
    [((True, True, False), [2]), ((True, False, False), [1, 2]), ((True, False), [1, 2])],
)
def test_a_sentence_is_let_off_only_by_more_than_half_of_the_seats(
    panel_of, reply_of, found, courteous, claims
):
    backed = found(2, "supported", 1, LEAVE)
    seats = [aside("courtesy") if one else found(1, "not_found") for one in courteous]
    judged, _ = panel_of(HELLO, *(reply_of(seat, backed) for seat in seats))
    assert [one.claim.id for one in judged.claims] == claims
    assert judged.correctness == 1 / len(claims)


@pytest.mark.parametrize(("seats", "expected"), [((1, 1, 0), 1 / 2), ((1, 0, 0), 1.0)])
def test_an_omission_counts_where_more_than_half_of_the_seats_prove_one_there(
    panel_of, reply_of, found, seats, expected
):
    told = [{"what": "반차", "note": 1, "quote": "반차는 0.5일로 계산한다."}]
    claim = found(1, "supported", 1, LEAVE)
    replies = (reply_of(claim, omissions=told if one else []) for one in seats)
    judged, _ = panel_of("연차는 15일이다.", *replies)
    assert judged.completeness == expected


def use(number, *, relevant, quote="", words=""):
    return {
        "note_index": number,
        "relevant": relevant,
        "cited": bool(words),
        "relevant_claim": words,
        "quote": quote,
    }


def test_use_that_the_model_shows_counts_when_most_seats_show_it(panel_of, reply_of, found):
    shown = [use(1, relevant=True, quote=LEAVE, words="연차는 15일이다.")]
    unseen = [use(1, relevant=False)]
    nothing = (found(1, "not_found"), found(2, "not_found"))

    def coverage(*uses):
        judged, _ = panel_of(TWO, *(reply_of(*nothing, source_coverage=one) for one in uses))
        return judged.coverage[0].cited, judged.coverage[0].relevant

    assert coverage(shown, shown, unseen) == (True, True)
    assert coverage(shown, unseen, unseen) == (False, False)
    assert coverage([], [], shown) == (False, True)  # two seats say nothing of the note


SILENT = aside("abstention", "관련 내용을 찾을 수 없습니다")


def proven(reply_of, *, answerable):
    return reply_of(
        SILENT,
        answerable=answerable,
        **({"answer_note": 1, "answer_quote": LEAVE} if answerable else {}),
    )


@pytest.mark.parametrize(
    ("seats", "utility"),
    [
        ((True, False), 0.0),
        ((True, False, False), 1.0),
        ((True, True, False), 0.0),
        ((False, False), 1.0),
    ],
)
def test_an_abstention_is_useful_only_where_more_than_half_find_no_answer(
    panel_of, reply_of, seats, utility
):
    judged, _ = panel_of(ABSTAINS, *(proven(reply_of, answerable=seat) for seat in seats))
    assert (judged.outcome, judged.utility, judged.answerable) == (
        "abstained",
        utility,
        not utility,
    )


@pytest.mark.parametrize(("utility", "asked"), [(0.59, 1), (0.6, 3), (0.8, 3), (0.81, 1)])
def test_a_utility_is_near_its_threshold_on_both_sides_alike(
    panel_of, reply_of, found, utility, asked
):
    reply = reply_of(found(1, "supported", 1, LEAVE), utility=utility)
    _, calls = panel_of("연차는 15일이다.", reply, repeats=3, adaptive=True, near=0.1)
    assert calls == asked


def test_an_abstention_has_no_use_where_most_seats_tell_an_answer_that_none_proves(
    panel_of, reply_of
):
    told = reply_of(SILENT, answerable=True, answer_note=1, answer_quote="없는 말이다.")
    judged, _ = panel_of(ABSTAINS, told, told, proven(reply_of, answerable=False))
    assert (judged.utility, judged.answerable, judged.reported_answerable) == (0.0, False, True)


def test_an_adaptive_panel_asks_the_others_where_the_proof_of_an_answer_failed(panel_of, reply_of):
    unproven = reply_of(SILENT, answerable=True, answer_note=1, answer_quote="없는 말이다.")
    _, calls = panel_of(ABSTAINS, unproven, repeats=3, adaptive=True)
    assert calls == 3
    _, calls = panel_of(ABSTAINS, proven(reply_of, answerable=False), repeats=3, adaptive=True)
    assert calls == 1
