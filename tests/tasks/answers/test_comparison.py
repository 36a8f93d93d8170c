"""Runs over the same answers are compared."""

import pytest

from gigamind.tasks import evaluate


def test_a_worse_run_is_seen_by_comparison_and_gate(options, server, replies, reply, found):
    server.script.extend(replies.every)
    first = evaluate(options(save_snapshot=True))
    worse = reply(found(1, "not_found"), utility=0.0)
    server.script.extend([worse, replies.mixed, replies.forged, replies.silent])
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


def test_runs_by_different_models_are_not_compared(options, server, replies):
    server.script.extend(replies.every)
    first = evaluate(options(save_snapshot=True))
    server.script.extend(replies.every)
    second = evaluate(options(compare=first.out, model="openai/writer"))
    assert second.verdict.gate.verdict == "not-comparable"


def test_checks_are_compared_with_those_of_the_baseline(options, server, answers, item, replies):
    both = [answers[0], item("second", answers[0]["answer"], question="연차는 얼마나?")]
    server.script.extend([replies.good, replies.good, replies.passing, replies.passing])
    first = evaluate(options(items=both, checklist=True, save_snapshot=True))
    server.script.extend([replies.good, replies.good, replies.passing, replies.failing])
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


def test_checks_of_another_feature_are_not_compared(options, server, replies, answers, checks):
    server.script.extend([replies.good, replies.passing])
    first = evaluate(options(items=answers[:1], checklist=True))
    server.script.append(checks("beyond", "grounded", "concrete", "separate"))
    how = {"checklist": True, "feature": "insight", "compare": first.out}
    second = evaluate(options(items=answers[:1], **how))
    assert second.verdict.comparison.checks == "other"
    assert second.verdict.gate.verdict != "not-comparable"
