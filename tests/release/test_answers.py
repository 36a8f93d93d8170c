"""Runs of answers in comparisons."""

import pytest
from message_values import values_of
from snapshots import answers

from gigamind.records.judged import LlmReport, UsageReport
from gigamind.release.compare import compare
from gigamind.tasks.answers.schema import AnswerComparison, AnswerItem


def answer(correctness, utility, *unsupported, item_id="a", evaluated=None, unanswerable=False):
    return AnswerItem(
        id=item_id,
        question="q",
        evaluated=correctness is not None or utility is not None
        if evaluated is None
        else evaluated,
        unanswerable=unanswerable,
        metrics={"correctness": correctness, "utility": utility},
        unsupported=unsupported,
    )


def unanswerable(correctness):
    return answer(correctness, None, evaluated=True, unanswerable=True)


@pytest.mark.parametrize(
    ("before", "after", "gain", "what"),
    [
        (
            answer(1.0, 0.5), answer(0.5, 1.0, "It is 20."), -0.5,
            [None, 1.0, 0.5, None, 0.5, 1.0, "It is 20."],
        ),
        (answer(0.5, 0.5), answer(0.5, 0.75), 0.25, [None, 0.5, 0.75]),
        (answer(0.5, 0.5, "x"), answer(0.25, 0.5, "x"), -0.25, [None, 0.5, 0.25]),
        (answer(None, 1.0), answer(0.5, 0.0), -1.0, [None, None, 1.0, 0.0]),
        (answer(0.5, None), answer(None, None, evaluated=True), -0.5, [None]),
        (answer(None, None, evaluated=True), answer(0.5, None), 0.5, [None]),
        (unanswerable(0.5), unanswerable(None), 1.0, [None]),
    ],
)  # fmt: skip
def test_correctness_decides_then_utility(before, after, gain, what):
    found = AnswerComparison().change(before, after)
    assert (found.gain, values_of(found.what)) == (gain, what)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (answer(0.5, 0.5), answer(0.5, 0.5)),
        (answer(None, None), answer(1.0, 1.0)),
        (answer(0.0, None), answer(None, None, evaluated=True)),  # nothing true is lost
    ],
)
def test_equal_answers_and_those_that_one_run_could_not_judge_changed_in_nothing(before, after):
    assert AnswerComparison().change(before, after) is None


def test_figures_are_over_the_answers_that_both_runs_have():
    pairs = [(answer(1.0, 0.5), answer(0.5, 0.5)), (answer(None, 1.0), answer(0.0, 1.0))]
    assert AnswerComparison().values(pairs) == {
        "answers.correctness": [(1.0, 0.5)],
        "answers.utility": [(0.5, 0.5), (1.0, 1.0)],
        "answers.answered": [(1.0, 1.0), (0.0, 1.0)],
    }


def test_a_refusal_where_nothing_can_be_answered_is_in_no_share_of_answers():
    pairs = [(unanswerable(1.0), unanswerable(None)), (answer(1.0, None), answer(1.0, None))]
    assert AnswerComparison().values(pairs)["answers.answered"] == [(1.0, 1.0)]


def served(run, *names):
    """The run, its answers given by models of these names."""
    part = UsageReport.model_validate(USAGE | {"answered_by": names})
    fields = {**USAGE, "by_role": {"answer: m": part}, "outcomes": {}, "items": 1, "coverage": None}
    metrics = run.metrics.model_copy(update={"llm": LlmReport.model_validate(fields)})
    return run.model_copy(update={"metrics": metrics})


USAGE = dict.fromkeys(UsageReport.model_fields, 0) | {"usd": None, "usd_source": "unpriced"}
USAGE |= {"answered_by": ()}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["m-05"], ["m-05"], []),
        (["m-05"], ["m-08"], [("model version", "no-verdict", "answer: m m-05 → m-08")]),
        (["m-05"], [], []),  # all from the store, which names none
    ],
)
def test_answers_of_another_version_of_the_model_get_no_verdict(before, after, expected):
    run = answers({"a": "dgs"})
    found = compare(served(run, *before), served(run, *after)).mismatches
    assert [(one.what, one.severity, one.detail) for one in found] == expected
