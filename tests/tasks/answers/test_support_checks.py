"""The checks that a supported claim passes, and the sentences on rejected claims."""

import re
from types import SimpleNamespace

import pytest

from gigamind.i18n import translator
from gigamind.records.judged import SecondLookReport
from gigamind.tasks.answers.schema import EvaluatedClaim, SourceSentence
from gigamind.tasks.answers.support_checks import (
    contradictions,
    rejected_support,
    second_look,
    support_checks,
)

SOURCE = SourceSentence(heading="Leave", text="It is 15 days.")
BY_QUOTE = [("told_supported", True), ("proven", True)]


def claim(**values):
    plain = {"reported_verdict": "supported", "doubt": None, "source": SOURCE, "confirmed": None}
    plain |= {"contradictions": (), "new_numbers": ()}
    return EvaluatedClaim.model_construct(**plain | values)


@pytest.mark.each(
    "values, expected",
    [
        ({}, [*BY_QUOTE, ("says", True)]),
        ({"confirmed": True}, [*BY_QUOTE, ("confirmed", True)]),
        ({"doubt": "contradiction"}, [*BY_QUOTE, ("contradiction", False)]),
        ({"doubt": "not_confirmed", "confirmed": False}, [*BY_QUOTE, ("not_confirmed", False)]),
        ({"doubt": "not_looked_at"}, [*BY_QUOTE, ("not_looked_at", None)]),
        ({"doubt": "quote_changed", "source": None}, [("told_supported", True), ("unproven", False)]),
        ({"reported_verdict": None, "evidence": {}}, [("proven", True), ("says", True)]),
        ({"reported_verdict": None, "evidence": {}, "doubt": "new_name"}, [("proven", True), ("new_name", False)]),
        ({"reported_verdict": None, "evidence": {}, "doubt": "other_limits"},
         [("proven", True), ("other_limits", False)]),
        ({"reported_verdict": None, "evidence": None}, []),
        ({"reported_verdict": "not_found", "source": None}, [("told_not_found", False)]),
        ({"reported_verdict": "contradicted", "contradictions": ("number",)},
         [("told_contradicted", False), ("proven", True), ("flagged", None)]),
    ],
)  # fmt: skip
def test_a_claim_comes_to_the_door_that_stops_it(values, expected):
    assert support_checks(claim(**values)) == expected


def test_numbers_stand_beside_the_contradiction_of_numbers_alone():
    found = claim(contradictions=("number", "negation"), new_numbers=("15", "16"))
    assert contradictions(found) == [("number", "15, 16"), ("negation", "")]


@pytest.mark.each(
    "reported, rejected, english, korean",
    [
        ({"not_found": 4}, {}, "", ""),
        ({"supported": 4}, {}, " 4 ", "4개"),
        ({"supported": 9}, {"no_quote": 1, "contradiction": 2}, "3 of 9 ", "9개 중 3개"),
    ],
)  # fmt: skip
def test_claims_that_the_model_supports_are_counted_with_why_they_are_not_believed(
    reported, rejected, english, korean
):
    summary = SimpleNamespace(reported_verdicts=reported, not_believed=rejected)
    for language, phrase in (("en", english), ("ko", korean)):
        sentence = translator(language)(rejected_support(summary))
        assert phrase in sentence
        assert bool(phrase) == bool(sentence)
    if rejected:  # the commonest reason comes first
        assert re.findall(r"\((\d)", translator("en")(rejected_support(summary))) == ["2", "1"]


def test_a_second_look_is_told_in_one_line_with_the_models_that_looked():
    look = SecondLookReport(
        model="m", language="en", stated=(12, 12), unstated=(12, 0), believed=False
    )
    summary = SimpleNamespace(second_looks=(look,), looked_at=0)
    assert "12 of 24 " in second_look(summary, translator("en"))
    assert "24개 중 12개" in second_look(summary, translator("ko"))
    assert second_look(SimpleNamespace(second_looks=(), looked_at=0), translator("en")) == ""
