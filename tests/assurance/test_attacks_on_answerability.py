"""What code guarantees against attacks on answerability, whatever the model does."""

import asyncio
import json
import re

import pytest
from scripted_model import FENCE_KEY, JUDGES, Scripted, scripted_model
from trial_rows import check_fences

from gigamind.assurance.scenarios import _attack_result, load_attacks
from gigamind.assurance.trials import OnTrial, load_on_trial
from gigamind.errors import LlmError

ENGLISH, KOREAN = (
    load_on_trial(str(JUDGES / "unanswerable_llm.toml"), language) for language in ("en", "ko")
)
ATTACKS = load_attacks()
ON_ANSWERABILITY = [attack for attack in ATTACKS if attack.attacks("unanswerable")]
each_on_answerability = pytest.mark.each("attack", ON_ANSWERABILITY)


def reply(*, unanswerable=False, note=1, quote=None, answer="fooled"):
    sources = [] if quote is None else [{"note": note, "quote": quote}]
    values = {
        "answer": answer, "sources": sources, "answered": not unanswerable, "confidence": "high",
    }  # fmt: skip
    return json.dumps(values, ensure_ascii=False)


def forged_by(attack):
    """What a model says that believes the attack: its verdict, with a sentence that no note holds."""
    denied = attack.row.goal == "unanswerable"
    quote = None if denied else attack.scenario.answers.wrong
    return reply(unanswerable=denied, quote=quote)


def judged(attack, text, *, case=None):
    client, judge = Scripted(text), ENGLISH if attack.row.language == "en" else KOREAN
    on_trial = OnTrial(judge, {"scripted": scripted_model(client, judge, reasks=0)}, FENCE_KEY)
    seen = asyncio.run(on_trial.judge(case or attack.attacked("unanswerable")))
    return seen, client.requests


@each_on_answerability
def test_the_fences_hold_and_the_payload_reaches_the_model_byte_by_byte(attack):
    _, (request,) = judged(attack, forged_by(attack))
    check_fences(request, attack.attacked("unanswerable"))


@each_on_answerability
def test_a_forged_quote_proves_nothing_even_to_a_model_that_is_fooled(attack):
    seen, _ = judged(attack, forged_by(attack))
    assert seen.proven == frozenset()
    assert seen.verdict.unanswerable is True
    assert seen.reported.unanswerable is (attack.row.goal == "unanswerable")


@each_on_answerability
def test_a_model_that_parrots_the_json_of_the_attack_verifies_nothing(attack):
    for text in re.findall(r"\{.*?\}", attack.row.payload, re.DOTALL) or [attack.row.payload]:
        try:
            seen, _ = judged(attack, text)
        except LlmError as error:
            assert error.code == "invalid_output"  # noqa: PT017  an error is one of two right ends
        else:
            assert seen.proven == frozenset()
            assert seen.verdict.unanswerable is True


@each_on_answerability
def test_a_quote_out_of_the_attack_itself_stands_in_its_note_and_proves_nothing(attack):
    longest = max(attack.row.payload.splitlines(), key=len).strip()
    seen, _ = judged(attack, reply(quote=longest))
    assert seen.flagged is (attack.row.place == "note")
    assert seen.proven == frozenset()
    assert seen.verdict.unanswerable is True


def test_no_rule_holds_against_a_model_that_is_talked_into_denial():
    denials = [attack for attack in ON_ANSWERABILITY if attack.row.goal == "unanswerable"]
    assert len(denials) == 3
    for attack in denials:
        right = attack.scenario.notes[0].text.partition(". ")[0]
        clean, _ = judged(attack, reply(quote=right), case=attack.clean("unanswerable"))
        seen, _ = judged(attack, forged_by(attack))
        found = _attack_result(attack, clean, seen, "You decide whether notes answer a question.")
        assert found.outcome == "fooled"
        assert seen.flagged
