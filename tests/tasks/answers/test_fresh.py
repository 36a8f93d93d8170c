"""A share of the answers is judged and checked again."""

import pytest
from answer_reply import finding
from five_answers import FAILING, GOOD, ITEMS, MIXED, PASSING, checks, item, reply
from out_files import items_of, rows_of

from gigamind.evaluation.progress import Quiet
from gigamind.tasks import evaluate
from gigamind.tasks.answers.judging import AnswerEvaluation
from gigamind.tasks.answers.prepare import prepare_answers


def test_the_share_that_is_judged_again_is_checked_again_and_flips_are_told_apart(options, server):
    """Of "good" the evaluation stays and the check falls; of "mixed" it is the other way round."""
    again = reply(finding(1, "not_found"), finding(2, "not_found"), utility=0.75)
    server.script.extend(
        [
            GOOD,
            GOOD,
            MIXED,
            again,
            PASSING,
            FAILING,
            FAILING,
            FAILING,
        ]
    )
    done = evaluate(options(items=ITEMS[:2], checklist=True, fresh_fraction=1.0))
    assert not server.script
    assert [line["flipped"] for line in items_of(done.out).values()] == [False, True]
    checked = [line["quality"] for line in items_of(done.out).values()]
    assert [(one["passed"], one["flipped"]) for one in checked] == [(True, True), (False, False)]
    told = {one["id"]: one["flipped"] for one in checked[0]["items"]}
    assert told == {"direct": False, "grounded": True, "sources": True, "uncertainty": False}
    llm = done.summary.llm
    assert (llm.flips.judged_again, llm.flips.flipped) == (2, 1)
    assert (llm.checks.flips.judged_again, llm.checks.flips.flipped) == (2, 1)
    assert done.summary.quality.overall.pass_rate == 0.5  # the first check counts
    text = (done.out / "summary.md").read_text("utf-8")
    assert text.count("1 of 2 ") >= 2
    assert (done.out / "report.html").read_text("utf-8").count("1 of 2 ") >= 2


def test_the_same_answers_are_judged_and_checked_again(options, server):
    alike = [item(f"q{i}", ITEMS[0]["answer"], question=f"{i}년 차는 며칠?") for i in range(5)]
    server.script.extend([*[GOOD] * 7, *[PASSING] * 7])
    done = evaluate(options(items=alike, checklist=True, fresh_fraction=0.4))
    items = items_of(done.out).values()
    judged = [line["id"] for line in items if line["flipped"] is not None]
    checked = [line["id"] for line in items if line["quality"]["flipped"] is not None]
    assert len(judged) == 2
    assert checked == judged


def test_a_second_verdict_that_cannot_be_had_is_no_flip_and_the_first_counts(options, server):
    short = checks("direct")
    server.script.extend([GOOD, reply(), {"claims": []}])
    server.script.extend([PASSING, short, short])
    done = evaluate(options(items=ITEMS[:1], checklist=True, fresh_fraction=1.0))
    line = items_of(done.out)["good"]
    assert (line["evaluation"]["correctness"], line["flipped"]) == (1.0, None)
    assert (line["quality"]["passed"], line["quality"]["flipped"]) == (True, None)
    assert rows_of(done.out, "errors.jsonl") == []


def test_a_blank_answer_is_not_asked_about_again(options, server):
    server.script.extend([GOOD])
    blank = item("blank", " ")
    done = evaluate(options(items=[blank], checklist=True, fresh_fraction=1.0))
    assert items_of(done.out)["blank"]["quality"]["flipped"] is None
    assert done.summary.llm.checks.flips is None


@pytest.mark.parametrize(("calls", "whole"), [(3, 1), (4, 2), (5, 2)])
def test_a_small_budget_judges_as_many_answers_twice_as_it_can(options, server, calls, whole):
    rows = [item(f"q{n}", ITEMS[0]["answer"], question=f"{n}년 차는?") for n in range(4)]
    server.script.extend([GOOD] * 8)
    given = {"fresh_fraction": 1.0, "max_calls": calls, "max_in_flight": 4, "allow_partial": True}
    done = evaluate(options(items=rows, **given))
    assert done.summary.llm.outcomes == {"scored": whole, "skipped_budget": 4 - whole}


def test_the_smallest_budget_counts_the_second_judging_of_the_first_answer(options):
    def least(**changes):
        prepared = prepare_answers(options(items=ITEMS[:1], **changes), Quiet())
        return AnswerEvaluation(prepared).least_calls()

    assert (least(), least(fresh_fraction=1.0)) == (2, 4)  # each with a second check
