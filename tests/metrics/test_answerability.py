import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.metrics.answerability import Confusion, near_misses


def test_pairs_are_counted_with_unanswerable_as_the_positive_class():
    judged = [(True, True)] * 4 + [(False, True)] * 3 + [(True, False)] * 2 + [(False, False)]
    assert Confusion.of(judged) == Confusion(tp=4, fp=3, fn=2, tn=1)


def test_figures_of_a_worked_example():
    # 10 unanswerable, 6 of them caught, 2 answerable ones caught with them.
    judged = Confusion(tp=6, fp=2, fn=4, tn=8)
    assert judged.precision == 0.75
    assert judged.recall == 0.6
    assert judged.f1 == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert judged.far == 0.4
    assert judged.false_refusals == 0.2


@pytest.mark.parametrize(
    ("judged", "precision", "recall", "f1", "far", "false_refusals"),
    [
        (Confusion(tp=0, fp=0, fn=5, tn=5), None, 0.0, 0.0, 1.0, 0.0),  # never says unanswerable
        (Confusion(tp=0, fp=2, fn=0, tn=6), 0.0, None, 0.0, None, 0.25),
        (Confusion(tp=0, fp=0, fn=0, tn=0), None, None, None, None, None),
        (Confusion(tp=0, fp=0, fn=0, tn=9), None, None, None, None, 0.0),
        (Confusion(tp=5, fp=5, fn=0, tn=0), 0.5, 1.0, 2 / 3, 0.0, 1.0),  # refuses all
        (Confusion(tp=5, fp=0, fn=0, tn=0), 1.0, 1.0, 1.0, 0.0, None),
    ],
)
def test_a_figure_over_nothing_is_undefined(judged, precision, recall, f1, far, false_refusals):
    assert (judged.precision, judged.recall, judged.f1) == (precision, recall, f1)
    assert (judged.far, judged.false_refusals) == (far, false_refusals)


@pytest.mark.parametrize(
    ("unanswerable", "answerable", "found"),
    [
        ([0.1, 0.5, 0.9], [0.2, 0.5, 0.8], 2),  # the median is 0.5
        ([0.1, 0.49], [0.2, 0.5, 0.8], 0),
        ([0.9], [], None),  # nothing to compare with
        ([], [0.5], 0),
    ],
)
def test_a_near_miss_scores_no_lower_than_half_of_the_answerable_items(
    unanswerable, answerable, found
):
    assert near_misses(unanswerable, answerable) == found


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_far_is_what_recall_leaves_and_f1_lies_between(judged):
    counts = Confusion.of(judged)
    assert counts.tp + counts.fp + counts.fn + counts.tn == len(judged)
    if counts.recall is not None and counts.far is not None:
        assert counts.recall + counts.far == pytest.approx(1)
    if counts.precision is not None and counts.recall is not None and counts.f1 is not None:
        low, high = sorted((counts.precision, counts.recall))
        assert low - 1e-12 <= counts.f1 <= high + 1e-12


def test_the_n_of_f1_counts_what_is_or_was_judged_unanswerable():
    pairs = [(is_so, judged_so) for is_so in (True, False) for judged_so in (True, False)]
    terms = {pair: Confusion.of([pair]).measure()["f1"] for pair in pairs}
    assert {pair for pair, (_, whole) in terms.items() if whole} == {*pairs[:3]}
