"""What an answer leaves out, and the roles that its sentences count as, by the judge as a whole."""

import pytest
from answer_reply import aside, finding
from scripted_model import Scripted, judge_by, reply_of

from gigamind.prompting.fences import Source

NOTES = (
    Source(
        "Fee",
        "The fee is 30 euros. Pay by 3 May at the desk in Porto. It is refundable until April.",
    ),
    Source("Other", "Bring a passport. The desk opens at nine."),
)
FEE, DEADLINE, PLACE = "The fee is 30 euros.", "Pay by 3 May", "at the desk in Porto"
ASKED = "What is the fee, and when and where is it paid?"


def omission(quote, note=1, what="something"):
    return {"what": what, "note": note, "quote": quote}


def judged(answer, *claims, **changes):
    client = Scripted(reply_of(*claims, **({"answerable": True} | changes)))
    return judge_by(client, answer, question=ASKED, notes=NOTES, language="en")


def test_one_of_three_facts_asked_for_true_and_quoted_is_correct_and_incomplete():
    told = [omission("Pay by 3 May at the desk"), omission("in Porto. It is refundable")]
    seen = judged("The fee is 30 euros [Note 1].", finding(1, "supported", 1, FEE), omissions=told)
    assert (seen.correctness, seen.completeness) == (1.0, 1 / 3)
    assert [(one.note, one.doubt) for one in seen.omissions] == [(1, None), (1, None)]


@pytest.mark.parametrize(
    ("quote", "note", "doubt"),
    [
        ("Pay by 3 May at the desk", 1, None),
        ("Pay by 4 May at the desk", 1, "quote_changed"),
        ("Pay in cash on any Monday", 1, "quote_not_in_note"),
        ("Pay by 3 May at the desk", 2, "quote_of_another_note"),
        ("Pay by 3 May at the desk", 7, "no_such_note"),
        ("Pay by 3 May at the desk", None, "no_such_note"),
        ("", 1, "no_quote"),
        ("euros", 1, "quote_too_short"),
        ("The fee is 30 euros.", 1, "given"),  # in the answer, word by word
    ],
)
def test_an_omission_counts_only_with_words_of_a_note_that_the_answer_does_not_have(
    quote, note, doubt
):
    claim = finding(1, "supported", 1, FEE)
    seen = judged("The fee is 30 euros.", claim, omissions=[omission(quote, note)])
    assert [one.doubt for one in seen.omissions] == [doubt]
    assert seen.completeness == (1 / 2 if doubt is None else 1.0)


def test_the_same_place_is_left_out_once():
    told = [omission("Pay by 3 May at the desk"), omission("by 3 May at the desk in Porto")]
    seen = judged("The fee is 30 euros.", finding(1, "supported", 1, FEE), omissions=told)
    assert [one.doubt for one in seen.omissions] == [None, "repeated"]
    assert seen.completeness == 1 / 2


def test_an_abstention_on_an_answerable_question_is_wholly_incomplete():
    text = "The notes do not say what the fee is."
    seen = judged(text, aside("abstention", "The notes do not say"))
    assert (seen.outcome, seen.correctness, seen.completeness) == ("abstained", None, 0.0)
    unanswerable = judged(text, aside("abstention", "The notes do not say"), answerable=False)
    assert (unanswerable.completeness, unanswerable.utility) == (None, 1.0)


def test_a_true_answer_is_not_halved_by_a_courtesy():
    answer = "Of course! The fee is 30 euros [Note 1]. Let me know if you'd like the full list."
    claim = finding(2, "supported", 1, FEE)
    seen = judged(answer, aside("courtesy"), claim, aside("courtesy", number=3))
    assert [(one.id, one.role) for one in seen.asides] == [(1, "courtesy"), (3, "courtesy")]
    assert (seen.correctness, [one.id for one in seen.claims]) == (1.0, [2])


def test_a_sentence_without_a_role_is_a_claim():
    bare = {"id": 1, "verdict": "not_found", "note": None, "quote": ""}
    assert judged("Of course!", bare).correctness == 0.0


def test_a_partial_abstention_is_both():
    answer = "The notes do not say when; the fee is 30 euros."
    told = finding(1, "supported", 1, FEE) | {
        "role": "claim",
        "abstention_quote": "The notes do not say when",
    }
    seen = judged(answer, told)
    assert (seen.outcome, seen.correctness, seen.abstains) == ("judged", 1.0, True)
    unsaid = judged(answer, told | {"abstention_quote": "the fee is 30 euros"})
    assert not unsaid.abstains


def test_a_sentence_taken_back_is_judged_as_the_model_judged_it():
    seen = judged("Sure, the fee is 30 euros.", aside("courtesy"))
    (claim,) = seen.claims
    assert (claim.veto, claim.reported_role, claim.verdict) == ("number", "courtesy", "not_found")
    proven = aside("courtesy") | {"verdict": "supported", "note": 1, "quote": FEE}
    (claim,) = judged("Sure, the fee is 30 euros.", proven).claims
    assert (claim.veto, claim.verdict) == ("proven", "supported")


def test_an_abstention_beside_the_claim_that_answers_is_a_claim():
    answer = "The fee is 30 euros [Note 1]. The notes do not say what the fee is."
    silent = aside("abstention", "The notes do not say", 2)
    claim, told = finding(1, "supported", 1, FEE), {"answer_note": 1, "answer_quote": FEE}
    contradicting = judged(answer, claim, silent, **told)
    assert [one.veto for one in contradicting.claims] == [None, "answered"]
    assert (contradicting.correctness, contradicting.abstains) == (1 / 2, False)
    elsewhere = judged(
        answer, claim, silent, answer_note=1, answer_quote="Pay by 3 May at the desk"
    )
    assert (elsewhere.correctness, elsewhere.abstains) == (1.0, True)
    other = answer.replace("what the fee is", "when it is paid")
    assert judged(other, claim, silent, **told).abstains


def test_an_answer_or_a_note_in_a_third_language_is_judged_and_says_so():
    german = "Die Gebühr beträgt dreißig Euro und muss bis zum dritten Mai am Schalter in Porto bezahlt werden, sonst"
    notes = (Source("Gebühr", f"{german} verfällt die Anmeldung ohne Anspruch auf Erstattung."),)
    client = Scripted(reply_of(finding(1, "not_found")))
    assert judge_by(client, "The fee is 30 euros.", notes=notes).notices == ("other_language",)
    assert judge_by(client, "The fee is 30 euros.", notes=NOTES).notices == ()
