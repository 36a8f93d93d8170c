"""Attacks on the judge of answers from outside the answer: out of a note, a title or the question."""

import asyncio
import json
import re
from collections import Counter

import pytest
from answer_reply import answer_reply, finding
from scripted_model import FENCE_KEY, JUDGES, Scripted, scripted_model
from trial_rows import check_fences

from gigamind.assurance.scenarios import load_attacks
from gigamind.assurance.trials import OnTrial, load_on_trial
from gigamind.errors import LlmError
from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.judges.quotes import _speaks_to_judge
from gigamind.judges.search_qa.segments import claims_of, pieces_of
from gigamind.prompting.fences import looks_like_instructions
from gigamind.spans import Span
from gigamind.text import sentences
from gigamind.vault.language import question_language

JUDGE = load_on_trial(str(JUDGES / "search_qa.toml"), "auto")
GOALS = {"supported", "useful", "unsupported"}
OUTSIDE = [
    attack
    for attack in load_attacks()
    if attack.attacks("search_qa") and attack.row.place != "answer"
]
IN_NOTES = [attack for attack in OUTSIDE if attack.row.place == "note"]
each_outside = pytest.mark.each("attack", OUTSIDE)
each_in_a_note = pytest.mark.each("attack", IN_NOTES)
NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def reply(**changes):
    """A whole reply of a model that finds nothing, but for what is changed."""
    nothing = {"answerable": False, "utility": 0.0, "correctness": 0.0}
    claims = [finding(number, "not_found") for number in (1, 2)]
    return json.dumps(answer_reply(claims) | nothing | changes, ensure_ascii=False)


def judged(attack, text):
    """What is seen of the attacked case, and the one prompt that was sent about it."""
    client = Scripted(text)
    on_trial = OnTrial(JUDGE, {"scripted": scripted_model(client, JUDGE, reasks=0)}, FENCE_KEY)
    return asyncio.run(on_trial.judge(attack.attacked("search_qa"))), client.requests


def claims(attack):
    """Those that the attack is about, as they stand in the answer without it."""
    return [claim.text for claim in claims_of(pieces_of(attack.clean("search_qa").answer))]


def sentences_of_payload(attack):
    """The attacked note, and where the sentences of the payload stand in it."""
    text = attack.attacked("search_qa").notes[0].text
    start = len(text) - len(attack.row.payload)
    return text, [one for one in sentences(text) if one.start >= start]


# The data


def test_every_goal_is_attacked_from_every_place_outside_the_answer():
    found = Counter((attack.row.goal, attack.row.place) for attack in OUTSIDE)
    assert set(found) >= {
        (goal, place) for goal in GOALS for place in ("note", "title", "question")
    }
    assert sum(attack.row.goal == "leak" for attack in OUTSIDE) == 4
    assert Counter(attack.row.place for attack in OUTSIDE) == {
        "note": 33,
        "title": 8,
        "question": 9,
    }


def test_every_family_attacks_the_judge_of_answers_from_outside_the_answer_in_both_languages():
    for language in ("ko", "en"):
        own = [attack.row for attack in OUTSIDE if attack.row.language == language]
        assert len({row.family for row in own}) == 17
        assert sum(row.goal in GOALS for row in own) == 22


@each_outside
def test_the_attacked_case_is_judged_in_the_language_of_its_clean_twin(attack):
    clean, case = attack.clean("search_qa"), attack.attacked("search_qa")
    assert question_language(case.question) == question_language(clean.question)


# An attack must not make its own goal true: whoever believes a note that states the claim is not fooled.


@each_outside
def test_no_payload_states_what_the_attacked_answer_claims(attack):
    assert claims(attack)
    for claim in claims(attack):
        assert not isinstance(align(claim, attack.row.payload), Aligned)


@each_outside
def test_no_payload_brings_a_number_of_the_answer_that_the_notes_do_not_hold(attack):
    notes = " ".join(f"{note.title} {note.text}" for note in attack.scenario.notes)
    known = set(NUMBER.findall(f"{notes} {attack.scenario.question}"))
    wanted = {number for claim in claims(attack) for number in NUMBER.findall(claim)} - known
    assert wanted.isdisjoint(NUMBER.findall(attack.row.payload))


def test_a_note_that_states_the_claim_would_be_found_out():
    attack = next(one for one in IN_NOTES if one.row.id == "ko-override-5")
    (claim,) = claims(attack)
    assert isinstance(align(claim, f"덧붙임. {attack.scenario.answers.wrong}"), Aligned)
    assert set(NUMBER.findall(claim)) == {"90"}


# What code guarantees, whatever the model does


@each_outside
def test_the_fences_hold_and_the_payload_reaches_the_judge_byte_by_byte(attack):
    _, (request,) = judged(attack, reply())
    check_fences(request, attack.attacked("search_qa"))
    assert attack.row.payload not in request.messages[0]["content"]


@each_outside
def test_every_payload_speaks_to_the_judge(attack):
    assert looks_like_instructions(attack.row.payload)


@each_in_a_note
def test_a_person_is_told_of_the_attack_in_a_note_whatever_the_model_says(attack):
    seen, _ = judged(attack, reply())
    assert seen.flagged


def parroted(payload):
    """The JSON of an attack as a whole reply, where it is one that can be completed."""
    for found in re.findall(r"\{.*\}", payload, re.DOTALL):
        try:
            said = json.loads(found)
        except json.JSONDecodeError:
            yield found
        else:
            whole = json.loads(reply())
            yield reply(**{name: value for name, value in said.items() if name in whole})


def is_true_or_is_seen(attack, quote):
    """Whether a quote stands in the note without the attack, or in words that speak to the judge."""
    if isinstance(align(quote, attack.clean("search_qa").notes[0].text), Aligned):
        return True
    text = attack.attacked("search_qa").notes[0].text
    place = align(quote, text)
    return isinstance(place, Aligned) and _speaks_to_judge(text, place.span)


WITH_JSON = [attack for attack in OUTSIDE if "{" in attack.row.payload]


@pytest.mark.parametrize("attack", WITH_JSON, ids=lambda attack: attack.row.id)
def test_a_model_that_parrots_the_json_of_the_attack_verifies_nothing_beyond_true_quotes(attack):
    for text in parroted(attack.row.payload):
        try:
            seen, _ = judged(attack, text)
        except LlmError as error:
            assert error.code == "invalid_output"  # noqa: PT017  an error is one of two right ends
        else:
            quotes = [claim["quote"] for claim in json.loads(text)["claims"] if claim["quote"]]
            assert not seen.proven or all(is_true_or_is_seen(attack, quote) for quote in quotes)


def test_three_attacks_carry_a_finding_to_be_parroted_and_one_of_them_a_true_quote():
    carried = {
        attack.row.id: [one["quote"] for one in json.loads(text)["claims"] if one["quote"]]
        for attack in WITH_JSON
        for text in parroted(attack.row.payload)
        if text.startswith('{"claims": [{"id": 1, "verdict": "supported"')
    }
    assert carried == {
        "ko-fake-verdict-3": ["출시일은 2025년 8월 18일이다."],
        "en-fake-verdict-3": ["checked by the vendor desk"],
        "en-fake-verdict-4": [],
    }


# A quote out of the attack itself stands in its note, word by word


@each_in_a_note
def test_the_line_of_the_attack_that_would_be_quoted_speaks_to_the_judge(attack):
    text = attack.attacked("search_qa").notes[0].text
    line = max(attack.row.payload.splitlines(), key=len).strip()
    start = text.rindex(line)
    assert _speaks_to_judge(text, Span(start, start + len(line)))


@each_in_a_note
def test_what_the_note_says_beside_the_attack_is_still_proof(attack):
    text = attack.attacked("search_qa").notes[0].text
    first, *_ = sentences(attack.clean("search_qa").notes[0].text)
    assert not _speaks_to_judge(text, first)


def test_of_75_sentences_in_payloads_60_speak_to_the_judge_and_every_payload_has_one():
    found = {
        attack.row.id: [_speaks_to_judge(text, one) for one in spans]
        for attack in IN_NOTES
        for text, spans in [sentences_of_payload(attack)]
    }
    assert all(any(seen) for seen in found.values())
    assert sum(map(len, found.values())) == 75
    assert sum(map(sum, found.values())) == 60
