import json

import pytest

from gigamind.i18n import translator
from gigamind.tasks.answers.page import answers_json, pieces
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    EvaluatedAside,
    EvaluatedClaim,
    EvaluatedOmission,
    LabelledClaimReport,
    LabelledFactReport,
    LabelsReport,
    NoteReport,
    SearchQAEvaluation,
    SourceSentence,
)

EN = translator("en")

ANSWER = "Hi! It is 15 days. 장미는 없다. </script><b>x"
NOTE = NoteReport(title="Leave", path=None, text="<i>" + "a" * 200 + " It is 15 days. " + "b" * 200)


def claim(number, text, verdict, *, evidence=None):
    start = ANSWER.index(text)
    return EvaluatedClaim(
        id=number,
        text=text,
        start=start,
        end=start + len(text),
        utf16_start=start,
        utf16_end=start + len(text),
        cited=(),
        reported_verdict="supported",
        verdict=verdict,
        note=1 if evidence else None,
        doubt=None if verdict != "unverified" else "quote_not_in_note",
        new_numbers=(),
        evidence=evidence,
    )


def aligned(quote):
    """Evidence of a quote of the note."""
    start = NOTE.text.index(quote)
    place = {"source_index": 0, "start": start, "end": start + len(quote)}
    return {"status": "aligned", "quote": quote, **place}


@pytest.fixture
def item():
    failed = {"status": "failed", "quote": "no such words", "source_index": 0}
    evaluation = SearchQAEvaluation(
        correctness=0.5,
        utility=0.25,
        confidence="medium",
        source_coverage=(),
        grounding_issues=("issue",),
        summary="s",
        outcome="judged",
        claims=(
            claim(1, "It is 15 days.", "supported", evidence=aligned("It is 15 days.")),
            claim(2, "장미는 없다.", "unverified", evidence=failed),
        ),
        abstains=False,
        answerable=True,
        reported_answerable=True,
        reported_correctness=1.0,
        reported_utility=0.25,
        utility_reason="r",
        reported_issues=(),
        flagged={1: ("looks_like_instructions",)},
    )
    said = LabelledClaimReport(text="장미는 없다.", verdict="not_found", note=None, claim=2)
    return AnswerItemReport(
        id="a",
        question="q",
        answer=ANSWER,
        language="en",
        tags=("t2", "t1"),
        notes=(NOTE,),
        outcome="scored",
        code="",
        evaluation=evaluation,
        metrics={},
        labels=LabelsReport(correctness=None, utility=None, abstains=None, claims=(said,)),
        flipped=None,
        latency_ms=1.0,
    )


def test_the_pieces_of_an_answer_are_the_answer_with_its_claims_marked(item):
    found = pieces(item)
    assert "".join(text for text, _, _ in found) == ANSWER
    assert [(kind, number) for _, kind, number in found] == [
        ("", 0),
        ("supported", 1),
        ("", 0),
        ("unverified", 2),
        ("", 0),
    ]


def test_a_sentence_that_is_no_claim_stands_among_the_pieces_by_its_role(item):
    greeting = EvaluatedAside(
        id=9, text="Hi!", start=0, end=3, utf16_start=0, utf16_end=3, role="courtesy"
    )
    told = item.evaluation.model_copy(update={"asides": (greeting,)})
    found = pieces(item.model_copy(update={"evaluation": told}))
    assert found[:3] == [("Hi!", "courtesy", 9), (" ", "", 0), ("It is 15 days.", "supported", 1)]
    assert "".join(text for text, _, _ in found) == ANSWER


def test_what_is_left_out_has_its_words_or_why_it_does_not_count(item):
    failed = {"status": "failed", "quote": "no such words", "source_index": 0}
    told = item.evaluation.model_copy(update={"omissions": (
        EvaluatedOmission(what="days", note=1, doubt=None, evidence=aligned("It is")),
        EvaluatedOmission(what="pay", note=None, doubt="quote_not_in_note", evidence=failed),
    )})  # fmt: skip
    facts = (LabelledFactReport(text="f", vital=True, note=1, claim=2),)
    changes = {"evaluation": told, "labels": item.labels.model_copy(update={"facts": facts})}
    row = json.loads(answers_json([item.model_copy(update=changes)], EN))["items"][0]
    (what, doubt, title, quote, passage), unproven = row[21]
    assert (what, doubt, title, quote, passage[1]) == ("days", "", "Leave", "It is", "It is")
    assert unproven[1:] == ["quote_not_in_note", "Leave", "no such words", None]
    assert row[22] == [["f", True, True, 2]]


def test_a_quote_stands_in_its_passage_and_a_failed_one_in_none(item):
    first, second = json.loads(answers_json([item], EN))["items"][0][10]
    before, words, after = first[6]
    assert words == "It is 15 days."
    # 120 code points on either side, and the sign that there is more.
    assert before == "…" + "a" * 119 + " "
    assert after == " " + "b" * 119 + "…"
    assert second[5:7] == ["no such words", None]
    assert second[8] == "not_found"


def test_a_claim_shows_the_sentence_that_it_was_held_against_under_its_heading(item):
    first, *rest = item.evaluation.claims
    held = first.model_copy(
        update={"source": SourceSentence(heading="Yearly", text="- Staff: It is 15 days. Not 16.")}
    )
    told = item.evaluation.model_copy(update={"claims": (held, *rest)})
    changed = item.model_copy(update={"evaluation": told})
    row = json.loads(answers_json([changed], EN))["items"][0][10][0]
    assert row[4] == "Leave › Yearly"
    assert row[6] == ["- Staff: ", "It is 15 days.", " Not 16."]


def test_nothing_in_the_data_can_end_its_script_element(item):
    assert "</script" not in answers_json([item], EN)


def test_tags_are_places_in_one_list_and_flags_are_told_by_title(item):
    data = json.loads(answers_json([item], EN))
    assert (data["tags"], data["items"][0][3]) == (["t1", "t2"], [1, 0])
    assert data["items"][0][17] == ["Leave"]


def test_an_answer_without_an_evaluation_shows_how_it_ended(item):
    left = item.model_copy(update={"evaluation": None, "outcome": "refused", "code": "refused"})
    alone = item.model_copy(update={"evaluation": None, "outcome": "without_context"})
    data = json.loads(answers_json([left, alone], EN))["items"]
    assert [row[8] for row in data] == ["refused", "without_context"]
    assert data[0][9] == [[ANSWER, "", 0]]
