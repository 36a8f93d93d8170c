"""A stopped run is continued, and what is stored is not asked for again."""

import json

import pytest
from five_answers import EVERY, FAILING, GOOD, ITEMS, MIXED, PASSING
from out_files import items_of, rows_of

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.shards import unfinished_folder
from gigamind.tasks import evaluate


def test_checks_that_the_budget_left_are_made_by_a_resumed_run_and_no_others(options, server):
    server.script.extend([GOOD, MIXED, PASSING, FAILING])
    stopped = options(items=ITEMS[:2], checklist=True, max_calls=3)
    with pytest.raises(EvaluationError, match="1 of 2 "):
        evaluate(stopped)
    assert items_of(stopped.out)["mixed"]["quality_code"] == "budget_exceeded"
    done = evaluate(options(items=ITEMS[:2], checklist=True, resume=stopped.out, out=None))
    assert len(server.seen.bodies) == 4
    assert [line["quality"]["ratio"] for line in items_of(done.out).values()] == [0.75, 0.25]
    assert not unfinished_folder(done.out).exists()


def test_the_budget_stops_a_run_which_is_resumed_without_asking_twice(options, server):
    server.script.extend(EVERY)
    stopped = options(max_calls=2)
    with pytest.raises(EvaluationError, match="2 of 4 "):
        evaluate(stopped)
    assert len(server.seen.bodies) == 2
    again = options(resume=stopped.out, out=None)
    done = evaluate(again)
    assert len(server.seen.bodies) == 4
    assert done.out == stopped.out
    assert done.summary.overall.answers["correctness"] == pytest.approx(0.5)
    assert done.summary.llm.calls == 4


def test_what_the_budget_left_is_told_of_evaluations_and_of_checks(options, server):
    server.script.extend([GOOD])
    stopped = options(items=ITEMS[:2], checklist=True, max_calls=1)
    with pytest.raises(EvaluationError, match=r"1 of 2 .*2 of 2 "):
        evaluate(stopped)
    llm = json.loads((stopped.out / "summary.json").read_text("utf-8"))["llm"]
    assert (llm["items"], llm["outcomes"]) == (2, {"scored": 1, "skipped_budget": 1})
    assert (llm["checks"]["items"], llm["checks"]["outcomes"]) == (2, {"skipped_budget": 2})
    text = (stopped.out / "summary.md").read_text("utf-8")
    assert "1 of 2 " in text
    assert "0 of 2 " in text
    kinds = [(row["kind"], row["id"]) for row in rows_of(stopped.out, "errors.jsonl")]
    assert kinds == [("verdict", "mixed"), ("check", "good"), ("check", "mixed")]


def test_a_second_check_that_the_budget_left_is_made_by_a_resumed_run(options, server):
    server.script.extend([GOOD, GOOD, PASSING, FAILING])
    how = {"items": ITEMS[:1], "checklist": True, "fresh_fraction": 1.0}
    stopped = options(**how, max_calls=3)
    with pytest.raises(EvaluationError, match="1 of 1 "):
        evaluate(stopped)
    done = evaluate(options(**how, resume=stopped.out, out=None))
    assert len(server.seen.bodies) == 4  # the first check comes from the store
    assert done.summary.llm.checks.flips.flipped == 1


@pytest.mark.parametrize(
    ("items", "checklist", "named"), [(1, False, "dataset"), (2, True, "checklist")]
)
def test_a_run_of_another_dataset_or_without_the_checklist_is_not_resumed(
    options, server, items, checklist, named
):
    server.script.extend([GOOD])
    stopped = options(items=ITEMS[:2], max_calls=1, allow_partial=True)
    evaluate(stopped)
    other = options(items=ITEMS[:items], checklist=checklist, resume=stopped.out, out=None)
    with pytest.raises(InputError, match=named):
        evaluate(other)
