"""What people read of the model that judged: how much of the run it covers, and what flipped."""

import pytest

from gigamind.i18n import translator
from gigamind.records.judged import CoverageReport, FlipReport, LlmReport
from gigamind.reports.page.model_costs import cost_lines, few_judged, model_section

FLIPS = FlipReport(judged_again=4, flipped=1, rate=0.25, low=0.046, high=0.699)
EN = translator("en")
SHARE = "(25.0%; 95% CI 4.6% – 69.9%)"


def part(outcomes, items, flips=None):
    return CoverageReport(outcomes=outcomes, items=items, coverage=None, flips=flips)


def report(outcomes, items, *, flips=None, checks=None):
    nothing = {
        "calls": 0,
        "cache_hits": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cached_tokens": 0,
        "usd": None,
        "usd_source": "unpriced",
    }
    return LlmReport.model_validate(
        nothing
        | {
            "by_role": {"judge: m": nothing},
            "outcomes": outcomes,
            "items": items,
            "coverage": None,
            "flips": flips,
            "checks": checks,
        }
    )


def test_a_run_without_checks_speaks_of_its_items():
    section = model_section(report({"scored": 3, "refused": 1}, 4, flips=FLIPS), EN)
    assert "3 of 4 items (–). (judged: 3, refused: 1)" in section
    assert f"1 of 4 verdicts changed {SHARE}." in section


def test_evaluations_and_checks_are_told_apart():
    checks = part({"scored": 2, "skipped_budget": 2}, 4, FLIPS)
    section = model_section(report({"scored": 4}, 4, flips=FLIPS, checks=checks), EN)
    for told in (
        "4 of 4 (–).",
        "2 of 4 (–). (judged: 2, skipped (budget): 2)",
        f"1 of 4 verdicts changed {SHARE}.",
        f"1 of 4 answers changed between pass and fail on the checklist {SHARE}.",
    ):
        assert told in section


@pytest.mark.parametrize(
    ("judged", "checked", "told"), [(4, 4, False), (3, 4, True), (4, 3, True), (4, None, False)]
)
def test_the_shell_is_told_what_has_no_verdict_be_it_a_check(judged, checked, told):
    checks = None if checked is None else part({"scored": checked}, 4)
    asked = report({"scored": judged}, 4, checks=checks)
    lines = [*few_judged(asked, EN), *cost_lines(asked, EN)]
    kinds = 2 if told else 0  # both, for one alone would be read as all
    assert sum("(–)" in line for line in lines) == kinds


@pytest.mark.parametrize(("judged", "is_few"), [(7, True), (8, False)])
def test_where_few_have_a_verdict_that_and_why_stands_first(judged, is_few):
    asked = report({"scored": judged, "unscored": 10 - judged}, 10)
    told = f"Verdicts: {judged} of 10 items (–)."
    assert few_judged(asked, EN) == ([f"{told} no usable reply: {10 - judged}."] if is_few else [])
    assert (told in cost_lines(asked, EN)) is not is_few
    assert few_judged(None, EN) == []


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", ("judge: m: 0 requests, 0 cached, cost unknown", "Judged again")),
        ("ko", ("판정기: m: 요청 0건, 캐시 적중 0건, 비용 모름", "다시 판정한 4개")),
    ],
)
def test_the_shell_is_told_what_it_cost_and_what_flipped(lang, told):
    cost, flipped, *_ = cost_lines(report({"scored": 4}, 4, flips=FLIPS), translator(lang))
    assert (cost, flipped[: len(told[1])]) == told
