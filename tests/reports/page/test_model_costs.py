"""The block of a page about the model that judged."""

import re

import pytest
from llm_reports import llm_report

from gigamind.i18n import translator
from gigamind.llm.speed import PROBE
from gigamind.records.judged import CoverageReport, FlipReport, UsageReport
from gigamind.reports.page.model_costs import cost_lines, model_block, role_text
from gigamind.tasks.answers.checklist import GATE_ROLE
from gigamind.tasks.answers.judging import ANSWER_ROLE, JUDGE_ROLE
from gigamind.tasks.search.judging import ROLE as UNANSWERABLE

FLIPS = FlipReport(judged_again=4, flipped=1, rate=0.25, low=0.046, high=0.699)


def checks(scored, flips=None):
    outcomes = {"scored": scored, "skipped_budget": 4 - scored}
    return CoverageReport(outcomes=outcomes, items=4, coverage=scored / 4, flips=flips)


@pytest.mark.parametrize("role", [JUDGE_ROLE, ANSWER_ROLE, GATE_ROLE, UNANSWERABLE, PROBE])
def test_what_a_model_was_asked_for_is_korean_wherever_costs_are_told(role):
    used = llm_report().model_dump(include=set(UsageReport.model_fields))
    report = llm_report(by_role={f"{role}: openai/a: b": used})
    say = translator("ko")
    (line,), (row,) = cost_lines(report, say), model_block(report, say)["usage"]
    assert re.match("[가-힣 ]+: openai/a: b: ", line)
    assert row[0] == role_text(f"{role}: openai/a: b", say)
    assert (role_text("openai/m", say), role_text("other: m", say)) == ("openai/m", "other: m")


def test_without_checks_one_line_tells_what_has_a_verdict():
    block = model_block(llm_report(), translator("en"))
    assert block["parts"] == [
        {
            "coverage": "Verdicts: 4 of 4 items (100.0%).",
            "incomplete": False,
            "few": False,
            "lost": "",
            "outcomes": [("judged", 4)],
        }
    ]
    assert block["flips"] == ""


@pytest.mark.parametrize(
    ("lang", "evaluated", "checked"),
    [
        ("en", ["4", "4", "100.0%"], ["3", "4", "75.0%"]),
        ("ko", ["4", "4", "100.0%"], ["4", "3", "75.0%"]),
    ],
)
def test_evaluations_and_checks_have_a_line_each(lang, evaluated, checked):
    first, second = model_block(llm_report(checks=checks(3)), translator(lang))["parts"]
    assert (re.findall(r"[\d.]*\d%?", first["coverage"]), first["incomplete"]) == (evaluated, False)
    assert (re.findall(r"[\d.]*\d%?", second["coverage"]), second["incomplete"]) == (checked, True)
    assert second["outcomes"][1][1] == 1


def test_flips_of_evaluations_and_checks_are_told_apart_and_what_they_mean_once():
    both = model_block(llm_report(flips=FLIPS, checks=checks(4, FLIPS)), translator("en"))["flips"]
    assert both.count("(25.0%; 95% CI 4.6% – 69.9%)") == 2
    assert both.count("evidence of a change") == 1
    alone = model_block(llm_report(flips=FLIPS), translator("en"))["flips"]
    assert alone.startswith("Judged again: 1 of 4 verdicts changed")
    assert alone.count("evidence of a change") == 1


def test_a_run_that_asked_no_model_has_no_block():
    assert model_block(None, translator("en")) is None
