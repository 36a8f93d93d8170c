"""The checks that a supported claim passes, and why others are rejected."""

import re
from types import SimpleNamespace

import pytest

from gigamind.i18n import translator
from gigamind.records.judged import EvaluatedClaim, SecondLookReport, SourceSentence
from gigamind.reports.labels import LABELS
from gigamind.tasks.answers.page import _support_checks, reasons
from gigamind.tasks.answers.view import _rejected_support, _second_look

EN = translator("en")

SOURCE = SourceSentence(heading="Leave", text="It is 15 days.")
BY_QUOTE = [("told_supported", True), ("proven", True)]


def claim(**values):
    plain = {"told": "supported", "doubt": None, "source": SOURCE, "said": None}
    plain |= {"contradictions": (), "new_numbers": ()}
    return EvaluatedClaim.model_construct(**plain | values)


@pytest.mark.each(
    "values, expected",
    [
        ({}, [*BY_QUOTE, ("says", True)]),
        ({"said": True}, [*BY_QUOTE, ("confirmed", True)]),
        ({"doubt": "contradiction"}, [*BY_QUOTE, ("contradiction", False)]),
        ({"doubt": "not_confirmed", "said": False}, [*BY_QUOTE, ("not_confirmed", False)]),
        ({"doubt": "not_looked_at"}, [*BY_QUOTE, ("not_looked_at", None)]),
        ({"doubt": "quote_changed", "source": None}, [("told_supported", True), ("unproven", False)]),
        ({"told": None, "evidence": {}}, [("proven", True), ("says", True)]),
        ({"told": None, "evidence": {}, "doubt": "new_name"}, [("proven", True), ("new_name", False)]),
        ({"told": None, "evidence": {}, "doubt": "other_limits"}, [("proven", True), ("other_limits", False)]),
        ({"told": None, "evidence": None}, []),
        ({"told": "not_found", "source": None}, [("told_not_found", False)]),
        ({"told": "contradicted", "contradictions": ("number",)},
         [("told_contradicted", False), ("proven", True), ("flagged", None)]),
    ],
)  # fmt: skip
def test_a_claim_comes_to_the_door_that_stops_it(values, expected):
    assert _support_checks(claim(**values)) == expected


@pytest.mark.each(
    "values, keys",
    [
        ({"verdict": "supported"}, []),
        ({"verdict": "not_found", "told": "not_found"}, ["not_found"]),
        ({"verdict": "not_found", "doubt": "little_in_common"}, ["little_in_common"]),
        ({"verdict": "contradicted", "told": "contradicted", "contradictions": ("negation",)},
         ["contradicted", "differs_negation"]),
    ],
)  # fmt: skip
def test_an_unsupported_claim_has_reasons_the_main_one_first(values, keys):
    assert list(reasons(claim(**values))) == [LABELS[key] for key in keys]


def test_numbers_stand_beside_the_contradiction_of_numbers_alone():
    found = claim(
        verdict="contradicted", contradictions=("number", "negation"), new_numbers=("15", "16")
    )
    _verdict, number, negation = reasons(found)
    assert number.endswith(": 15, 16")
    assert not re.search(r"\d", negation)


def test_a_claim_of_no_sentence_has_a_reason_of_its_own():
    (reason,) = reasons(claim(verdict="not_found", told=None, evidence=None))
    assert reason not in LABELS.values()


@pytest.mark.each(
    "told, rejected, phrase",
    [
        ({"not_found": 4}, {}, ""),
        ({"supported": 4}, {}, " 4 "),
        ({"supported": 9}, {"no_quote": 1, "contradiction": 2}, "3 of 9 "),
    ],
)
def test_claims_that_the_model_supports_are_counted_with_why_they_are_not_believed(
    told, rejected, phrase
):
    sentence = _rejected_support(
        SimpleNamespace(reported_verdicts=told, not_believed=rejected, loose=0)
    )
    assert phrase in sentence
    assert bool(phrase) == bool(sentence)
    if rejected:  # the commonest reason comes first
        assert re.findall(r"\((\d)", sentence) == ["2", "1"]


def test_a_second_look_has_the_models_that_looked():
    look = SecondLookReport(model="m", language="en", canaries=(24, 12), believed=False)
    summary = SimpleNamespace(second_looks=(look,), looked_at=0)
    assert "12 of 24 " in _second_look(summary)
    assert _second_look(SimpleNamespace(second_looks=(), looked_at=0)) == ""
