import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from time_limit import check_linear

from gigamind.metrics.answerability import Confusion, best_f1, sweep

UNANSWERABLE, ANSWERABLE = True, False
ITEMS = [
    (UNANSWERABLE, 0.1), (ANSWERABLE, 0.2), (UNANSWERABLE, 0.3), (ANSWERABLE, 0.6),
    (ANSWERABLE, 0.6),
]  # fmt: skip
scored = st.lists(
    st.tuples(st.booleans(), st.none() | st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5001, 0.9, 1.0])),
    max_size=25,
)


def counts_at(items, min_score):
    """Return the counts of the point whose range contains the threshold."""
    points = sweep(items)
    found = (point.counts for point in points if min_score <= point.min_score)
    return next(found, points[-1].counts.all_refused)


def test_the_counts_change_at_each_score_and_nowhere_else():
    found = [
        (point.above, point.min_score, (point.counts.tp, point.counts.fp)) for point in sweep(ITEMS)
    ]
    assert found == [
        (0.0, 0.0, (0, 0)), (0.0, 0.1, (0, 0)), (0.1, 0.2, (1, 0)), (0.2, 0.3, (1, 1)),
        (0.3, 0.6, (2, 1)), (0.6, 1.0, (2, 3)),
    ]  # fmt: skip


def test_no_items_give_the_two_ends_with_nothing_counted():
    assert [(p.min_score, p.counts) for p in sweep([])] == [
        (0.0, Confusion(0, 0, 0, 0)),
        (1.0, Confusion(0, 0, 0, 0)),
    ]


@given(scored, st.floats(0, 1))
def test_a_point_counts_what_the_judge_would_have_said(items, min_score):
    judged = [(known, score is None or score < min_score) for known, score in items]
    assert counts_at(items, min_score) == Confusion.of(judged)


def test_the_best_setting_lies_midway_between_the_scores_around_it():
    best = best_f1(ITEMS, seed=1)
    # Above 0.3 and up to 0.6 both unanswerable items are caught for one false alarm: F1 = 4 / 5.
    assert best.point.counts.f1 == pytest.approx(0.8)
    assert best.min_score == pytest.approx(0.45)


def test_the_lowest_of_equally_good_settings_is_taken():
    # F1 is 2/3 above 0.1 (1 of 2 caught, no false alarm) and again above 0.4 (2 of 2, two false alarms).
    items = [(UNANSWERABLE, 0.1), (ANSWERABLE, 0.2), (ANSWERABLE, 0.3), (UNANSWERABLE, 0.4)]
    best = best_f1([*items, (ANSWERABLE, 0.9)], seed=1)
    assert (best.point.above, best.point.min_score) == (0.1, 0.2)


def test_the_middle_of_two_neighbouring_floats_still_separates_them():
    low = 0.5
    high = float(np.nextafter(low, 1))
    best = best_f1([(UNANSWERABLE, low), (ANSWERABLE, high)], seed=1)
    assert low < best.min_score <= high


@pytest.mark.parametrize(
    "items", [[], [(UNANSWERABLE, 0.2)], [(ANSWERABLE, 0.2), (ANSWERABLE, None)]]
)
def test_one_class_alone_has_no_best_setting(items):
    assert best_f1(items, seed=1) is None


def test_scores_that_no_setting_reaches_have_no_best_setting():
    assert best_f1([(UNANSWERABLE, 1.0), (ANSWERABLE, 1.0)], seed=1) is None


def test_no_setting_beats_the_best():
    generator = np.random.default_rng(3)
    items = [(bool(u < 0.4), float(score)) for u, score in generator.random((60, 2))]
    best = best_f1(items, seed=1)
    assert best.point.counts.f1 == max(point.counts.f1 for point in sweep(items))


def test_the_interval_is_the_same_again_and_narrows_with_more_items():
    few, many = _overlapping(50), _overlapping(2_000)
    assert best_f1(few, seed=7) == best_f1(few, seed=7)
    wide, narrow = best_f1(few, seed=7), best_f1(many, seed=7)
    assert wide.interval.low <= wide.min_score <= wide.interval.high
    assert narrow.interval.high - narrow.interval.low < wide.interval.high - wide.interval.low


def test_the_interval_does_not_depend_on_the_order_of_distinct_scores():
    items = _overlapping(40)
    assert best_f1(items, seed=7) == best_f1(items[::-1], seed=7)


def test_items_are_swept_in_almost_linear_time():
    def swept(count):
        items = _overlapping(count)
        assert len(sweep(items)) == count + 2
        assert best_f1(items, seed=1) is not None

    check_linear(swept, 4_000)


def _overlapping(count):
    """Half unanswerable around 0.35, half answerable around 0.6: the best setting is near their middle."""
    generator = np.random.default_rng(11)
    return [
        (
            index % 2 == 0,
            float(np.clip(generator.normal(0.35 if index % 2 == 0 else 0.6, 0.1), 0.01, 0.99)),
        )
        for index in range(count)
    ]
