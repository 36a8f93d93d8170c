"""Runs over the same answers are compared."""

import pytest
from answer_reply import finding
from five_answers import EVERY, FAILING, GOOD, ITEMS, PASSING, checks, item, reply

from gigamind.tasks import evaluate


def test_a_worse_run_is_seen_by_comparison_and_gate(options, server):
    server.script.extend(EVERY)
    first = evaluate(options(save_snapshot=True))
    worse = reply(finding(1, "not_found"), utility=0.0)
    server.script.extend([worse, *EVERY[1:]])
    second = evaluate(options(compare=first.out, store_mode="refresh"))
    comparison = second.verdict.comparison
    change = comparison.metric("answers.correctness")
    assert change.difference == pytest.approx(-1 / 3)
    assert [(one.id, one.change) for one in comparison.changes] == [("good", "worse")]
    assert "연차는 15일이다." in comparison.changes[0].what
    rules = {rule.metric: rule.status for rule in second.verdict.gate.rules}
    # Three answers can never tell a drop from chance.
    assert rules["answers.correctness"] == "inconclusive"
    assert "search.mrr" not in rules


def test_checks_are_compared_with_those_of_the_baseline(options, server):
    both = [ITEMS[0], item("second", ITEMS[0]["answer"], question="연차는 얼마나?")]
    server.script.extend([GOOD, GOOD, PASSING, PASSING])
    first = evaluate(options(items=both, checklist=True, save_snapshot=True))
    server.script.extend([GOOD, GOOD, PASSING, FAILING])
    how = {"items": both, "checklist": True, "store_mode": "refresh"}
    second = evaluate(options(**how, compare=first.out / "snapshot.json"))
    comparison = second.verdict.comparison
    change = comparison.metric("quality.pass_rate")
    assert (change.baseline, change.current, change.worse) == (1.0, 0.5, 1)
    assert [(one.id, one.change) for one in comparison.changes] == [("second", "worse")]
    # Two answers can never tell a drop from chance.
    found_ = {rule.metric: rule.status for rule in second.verdict.gate.rules}
    assert (found_["quality.pass_rate"], found_["checks"]) == ("inconclusive", "passed")
    page = (second.out / "report.html").read_text("utf-8")
    assert "checklist passed" in page
    unchecked = evaluate(options(items=both, compare=first.out))
    (mismatch,) = unchecked.verdict.comparison.mismatches
    assert mismatch.what == "checklist"
    assert unchecked.verdict.comparison.metric("answers.correctness").n == 2


def test_checks_of_another_feature_are_not_compared(options, server):
    server.script.extend([GOOD, PASSING])
    first = evaluate(options(items=ITEMS[:1], checklist=True))
    server.script.append(checks("beyond", "grounded", "concrete", "separate"))
    how = {"checklist": True, "feature": "insight", "compare": first.out}
    second = evaluate(options(items=ITEMS[:1], **how))
    assert second.verdict.comparison.checks == "other"
    assert second.verdict.gate.verdict != "not-comparable"
