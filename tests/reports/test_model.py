"""What pages and the terminal show of the model that judged: how much it covers, what flipped, what it cost."""

import re

import pytest
from summaries import llm_report

from gigamind.i18n import translator
from gigamind.llm.sender import _PROBE
from gigamind.records.judged import CoverageReport, FlipReport, UsageReport
from gigamind.reports.document import Count, Money, Prose, Table
from gigamind.reports.run import _coverage_banner, _model_blocks, _role_text, terminal_blocks
from gigamind.tasks.answers.judging import _ANSWER_ROLE, _JUDGE_ROLE
from gigamind.tasks.answers.prepared import GATE_ROLE
from gigamind.tasks.search.judging import _ROLE as UNANSWERABLE

FLIPS = FlipReport(judged_again=4, flipped=1, rate=0.25, low=0.046, high=0.699)
SHARE = "25.0%; 95% CI 4.6% – 69.9%"


def checks(scored, flips=None):
    outcomes = {"scored": scored, "skipped_budget": 4 - scored}
    return CoverageReport(outcomes=outcomes, items=4, coverage=scored / 4, flips=flips)


def texts(lang="en", **changes):
    say = translator(lang)
    return [say(b.text) for b in _model_blocks(llm_report(**changes)) if isinstance(b, Prose)]


@pytest.mark.parametrize("role", [_JUDGE_ROLE, _ANSWER_ROLE, GATE_ROLE, UNANSWERABLE, _PROBE])
def test_roles_of_models_are_korean_wherever_costs_are_shown(role):
    used = llm_report().model_dump(include=set(UsageReport.model_fields))
    report, say = llm_report(by_role={f"{role}: openai/a: b": used}), translator("ko")
    costs = next(block for block in _model_blocks(report) if isinstance(block, Table))
    assert costs in terminal_blocks(report)
    (row,) = costs.rows
    assert re.match("[가-힣 ]+: openai/a: b", say(row[0]))
    assert say(row[0]) == say(_role_text(f"{role}: openai/a: b"))
    assert row[1:] == (Count(5), Count(0), Count(0), Count(0), Money(0.0), Money(0.0))
    assert (_role_text("openai/m"), _role_text("other: m")) == ("openai/m", "other: m")


@pytest.mark.parametrize(("lang", "counts"), [("en", ["4", "4"]), ("ko", ["4", "4"])])
def test_without_checks_one_line_has_the_coverage(lang, counts):
    (line,) = texts(lang)
    assert re.findall(r"[\d.]*\d%?", line) == [*counts, "100.0%"]


def test_evaluations_and_checks_have_a_line_each():
    first, second = texts(checks=checks(3))
    assert re.findall(r"[\d.]*\d%?", first) == ["4", "4", "100.0%"]
    assert re.findall(r"[\d.]*\d%?", second) == ["3", "4", "75.0%", "1"]  # one was skipped


def test_flips_of_evaluations_and_checks_are_told_apart_and_what_they_mean_once():
    both = texts(flips=FLIPS, checks=checks(4, FLIPS))[-1]
    assert (both.count(SHARE), both.count("evidence of a change")) == (2, 1)
    alone = texts(flips=FLIPS)[-1]
    assert (alone.count(SHARE), alone.count("evidence of a change")) == (1, 1)
    _costs, *lines = terminal_blocks(llm_report(flips=FLIPS))
    assert SHARE in lines[0].text


@pytest.mark.parametrize(("judged", "is_few"), [(7, True), (8, False)])
def test_a_banner_stands_where_few_items_were_judged_and_has_the_reasons(judged, is_few):
    few = {"outcomes": {"scored": judged, "unscored": 10 - judged}, "items": 10}
    banner = _coverage_banner(llm_report(**few))
    assert re.findall(r"\d+", banner) == (["3", "10", "3"] if is_few else [])
    part = CoverageReport(**few, coverage=None)
    assert bool(_coverage_banner(llm_report(checks=part))) is is_few


@pytest.mark.parametrize(
    ("usd", "reserved", "costs"),
    [(None, None, [None, None]), (0.5, 0.0, [0.5, 0]), (0.5, 0.2, [0.3, 0.2])],
)
def test_the_terminal_has_a_row_with_the_reported_and_the_reserved_cost(usd, reserved, costs):
    used = llm_report(usd=usd, reserved_usd=reserved).model_dump(
        include=set(UsageReport.model_fields)
    )
    (table,) = terminal_blocks(llm_report(by_role={"judge: m": used}))
    (row,) = table.rows
    assert (str(row[0]), row[1]) == ("judge: m", Count(5))
    assert [cell.usd for cell in row[-2:]] == [cost and pytest.approx(cost) for cost in costs]
