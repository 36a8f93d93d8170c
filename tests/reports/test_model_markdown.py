"""What people read of the model that judged: how much of the run it covers, and what flipped."""

import pytest

from gigamind.records.judged import CoverageReport, FlipReport, LlmReport
from gigamind.reports.text import cost_lines, coverage, flip_lines, model_section

FLIPS = FlipReport(judged_again=4, flipped=1, rate=0.25, low=0.046, high=0.699)
SHARE = "(0.250, 95 % interval 0.046 – 0.699)"


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
    llm = report({"scored": 3, "refused": 1}, 4, flips=FLIPS)
    assert coverage(llm) == "3 of 4 have a verdict (refused: 1)"
    assert flip_lines(llm) == [f"Judged a second time: 1 of 4 verdicts changed {SHARE}."]


def test_evaluations_and_checks_are_told_apart():
    checks = part({"scored": 2, "skipped_budget": 2}, 4, FLIPS)
    llm = report({"scored": 4}, 4, flips=FLIPS, checks=checks)
    assert coverage(llm) == (
        "4 of 4 evaluations have a verdict, and 2 of 4 checks by the checklist (left by the budget: 2)"
    )
    assert flip_lines(llm) == [
        f"Evaluated a second time: 1 of 4 verdicts changed {SHARE}.",
        f"Checked a second time: 1 of 4 answers changed between passing the checklist and not {SHARE}.",
    ]
    section = model_section(llm)
    assert coverage(llm) in section
    assert all(line in section for line in flip_lines(llm))


@pytest.mark.parametrize(
    ("judged", "checked", "told"), [(4, 4, False), (3, 4, True), (4, 3, True), (4, None, False)]
)
def test_the_shell_is_told_what_has_no_verdict_be_it_a_check(judged, checked, told):
    checks = None if checked is None else part({"scored": checked}, 4)
    llm = report({"scored": judged}, 4, checks=checks)
    assert (coverage(llm) in cost_lines(llm)) is told


def test_the_shell_is_told_what_flipped():
    assert cost_lines(report({"scored": 4}, 4, flips=FLIPS)) == [
        "judge: m: 0 requests, 0 from the store, cost unknown",
        f"Judged a second time: 1 of 4 verdicts changed {SHARE}",
    ]
