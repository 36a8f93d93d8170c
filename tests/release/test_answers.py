"""Runs of answers in comparisons."""

import pytest

from gigamind.tasks.answers.compare import AnswerComparison, AnswerItem


def answer(correctness, utility, *unsupported, item_id="a"):
    return AnswerItem(
        id=item_id,
        question="q",
        evaluated=correctness is not None or utility is not None,
        metrics={"correctness": correctness, "utility": utility},
        unsupported=unsupported,
    )


@pytest.mark.parametrize(
    ("before", "after", "gain", "what"),
    [
        (
            answer(1.0, 0.5),
            answer(0.5, 1.0, "It is 20."),
            -0.5,
            "correctness 1.00 -> 0.50; utility 0.50 -> 1.00; no longer supported: It is 20.",
        ),
        (answer(0.5, 0.5), answer(0.5, 0.75), 0.25, "utility 0.50 -> 0.75"),
        (answer(0.5, 0.5, "x"), answer(0.25, 0.5, "x"), -0.25, "correctness 0.50 -> 0.25"),
        (answer(None, 1.0), answer(0.5, 0.0), -1.0, "utility 1.00 -> 0.00"),
    ],
)
def test_correctness_decides_then_utility(before, after, gain, what):
    found = AnswerComparison().change(before, after)
    assert (found.gain, found.what) == (gain, what)


@pytest.mark.parametrize(
    ("before", "after"),
    [(answer(0.5, 0.5), answer(0.5, 0.5)), (answer(None, None), answer(1.0, 1.0))],
)
def test_equal_answers_and_those_that_one_run_could_not_judge_changed_in_nothing(before, after):
    assert AnswerComparison().change(before, after) is None


def test_figures_are_over_the_answers_that_both_runs_have():
    pairs = [(answer(1.0, 0.5), answer(0.5, 0.5)), (answer(None, 1.0), answer(0.0, 1.0))]
    assert AnswerComparison().values(pairs) == {
        "answers.correctness": [(1.0, 0.5)],
        "answers.utility": [(0.5, 0.5), (1.0, 1.0)],
    }
