"""A panel over unanswerable questions; the client is scripted, one reply for each seat."""

import asyncio
import json

import pytest

from gigamind.errors import LlmError
from gigamind.judges.asking import Asking, PanelMember
from gigamind.judges.panel import why_no_verdict
from gigamind.judges.protocol import QuestionCase
from gigamind.judges.unanswerable_llm import load_model_judge
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Answer
from gigamind.llm.settings import ModelSettings
from gigamind.prompting.fences import Source


def why_of(found):
    return why_no_verdict(found.panel, found.errors)


NOTES = [Source(title="deploy", text="The deploy runs every Friday.")]
PROVEN = ("The deploy runs every Friday.", False)
FORGED = ("It runs on Monday, says the admin of all admins.", False)
NO = ("", True)


class Says:
    """A client that gives the same reply each time; None for one that is no reply."""

    def __init__(self, said):
        self.said = said
        self.asked = 0

    async def send(self, _request):
        self.asked += 1
        if self.said is None:
            return Answer("no JSON")
        quote, unanswerable = self.said
        sources = [] if unanswerable else [{"note": 1, "quote": quote}]
        return Answer(
            json.dumps(
                {
                    "answer": quote,
                    "sources": sources,
                    "answered": not unanswerable,
                    "confidence": "high",
                }
            )
        )

    async def close(self):
        pass


@pytest.fixture
def judged(tmp_path):
    """What a panel of models a, b, ... with these replies decides, and its clients."""

    def judge(*said, more="", notes=NOTES):
        names = [chr(ord("a") + n) for n in range(len(said))]
        file = tmp_path / "judge.toml"
        text = 'kind = "llm"\nprompt = "unanswerable/v1"\n'
        panel = f"panel = {json.dumps(names)}\n" if len(names) > 1 else ""
        file.write_text(text + panel + more, encoding="utf-8")
        clients = {name: Says(one) for name, one in zip(names, said, strict=True)}
        models = {
            name: LanguageModel(ModelSettings(name), client=client, parameters={"max_tokens": 99})
            for name, client in clients.items()
        }
        loaded = load_model_judge(file, "en")
        case = QuestionCase("When is the deploy?", notes)
        found = loaded.judge(case, Asking(models, item_id="q", fence_key=b"k" * 32))
        return asyncio.run(found).detail, clients

    return judge


def test_the_panel_speaks_with_the_words_of_the_first_proven_seat_that_won(judged):
    found, _ = judged(NO, FORGED, PROVEN, PROVEN, PROVEN)
    assert (
        found.judgement.unanswerable,
        found.judgement.reported_unanswerable,
        found.judgement.verified,
    ) == (False, False, True)
    assert found.judgement.answer == PROVEN[0]
    assert found.judgement.confidence is None
    assert found.panel.disagreement == pytest.approx(6 / 10)
    assert why_of(found) == ""


def test_the_rule_of_quotes_holds_for_each_seat_before_the_votes_are_counted(judged):
    found, _ = judged(FORGED, FORGED, PROVEN)
    assert (found.judgement.unanswerable, found.judgement.reported_unanswerable) == (True, False)
    assert found.judgement.verified is False
    believed, _ = judged(FORGED, FORGED, PROVEN, more='unverified = "as_told"\n')
    assert believed.judgement.unanswerable is False
    assert believed.judgement.answer == PROVEN[0]  # of those that won, the one that is proven


@pytest.mark.parametrize(("other", "verified"), [(PROVEN, True), (NO, False)])
def test_a_panel_is_proven_by_more_than_half_of_its_seats(judged, other, verified):
    found, _ = judged(PROVEN, other, more='tie = "negative"\n')
    assert (found.judgement.unanswerable, found.judgement.verified) == (False, verified)


def test_a_lost_member_is_told_with_its_reason(judged):
    found, _ = judged(PROVEN, None, PROVEN)
    assert found.judgement is None
    assert found.panel.code == "panel_incomplete"
    values = why_of(found).values
    assert (values["failed"], values["n"]) == (1, 3)
    assert "b: " in values["votes"]
    assert "(invalid_output)" in values["votes"]
    assert list(found.by_member) == [PanelMember("a"), PanelMember("c")]


def test_a_tie_is_told(judged):
    found, _ = judged(PROVEN, NO)
    assert found.judgement is None
    assert "tie" in why_of(found)


def test_without_notes_nobody_is_asked(judged):
    found, clients = judged(PROVEN, PROVEN, notes=[])
    assert (found.judgement.unanswerable, found.judgement.reported_unanswerable, found.panel) == (
        True,
        None,
        None,
    )
    assert [client.asked for client in clients.values()] == [0, 0]


def test_one_model_without_a_panel_judges_as_ever(judged):
    found, _ = judged(PROVEN)
    assert (found.judgement.unanswerable, found.judgement.confidence) == (False, "high")
    assert (found.panel, found.by_member) == (None, {})
    with pytest.raises(LlmError) as caught:
        judged(None)
    assert caught.value.code == "invalid_output"


@pytest.mark.parametrize(("first", "asked"), [(PROVEN, 0), (NO, 0), (FORGED, 1)])
def test_an_adaptive_panel_asks_on_where_an_answer_is_not_proven(judged, first, asked):
    _, clients = judged(first, PROVEN, PROVEN, more="adaptive = true\n")
    assert [client.asked for client in clients.values()] == [1, asked, asked]
