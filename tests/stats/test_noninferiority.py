import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.stats.intervals import Interval
from gigamind.stats.paired import non_inferiority


def _decide(n, worse, low, high, margin=0.02):
    return non_inferiority(-worse / n, Interval(low, high), n=n, margin=margin)[0]


def test_a_drop_past_the_margin_fails_only_when_the_interval_excludes_zero():
    assert _decide(200, 5, -0.05, -0.005) == "fail"  # 0.025
    assert _decide(200, 5, -0.05, 0.0) == "inconclusive"
    assert _decide(200, 5, -0.05, 0.01) == "inconclusive"


def test_a_drop_of_just_the_margin_does_not_pass_it():
    assert _decide(200, 4, -0.04, -0.005) == "inconclusive"  # 0.02
    assert _decide(200, 4, -0.02, -0.005) == "pass"


def test_a_certain_but_small_drop_passes():
    assert _decide(1000, 10, -0.018, -0.004) == "pass"


def test_the_lower_end_decides_between_pass_and_inconclusive():
    assert _decide(200, 0, -0.02, 0.03) == "pass"
    assert _decide(200, 0, -0.0201, 0.03) == "inconclusive"
    assert _decide(200, 0, 0.0, 0.0) == "pass"


def test_a_margin_met_on_paper_is_not_passed_by_a_rounding_error():
    difference = 0.6 - 0.8
    assert -difference > 0.2
    found = non_inferiority(difference, Interval(difference, difference), n=9, margin=0.2)
    assert found[0] == "pass"


def test_five_pairs_decide_nothing_and_six_do():
    lost, same = Interval(-1.0, -1.0), Interval(0.0, 0.0)
    assert non_inferiority(-1.0, lost, n=5, margin=0.02) == ("inconclusive", 6)
    assert non_inferiority(-1.0, lost, n=6, margin=0.02)[0] == "fail"
    assert non_inferiority(0.0, same, n=5, margin=0.02)[0] == "inconclusive"
    assert non_inferiority(0.0, same, n=6, margin=0.02)[0] == "pass"


def _needed(difference, low, high, margin, n=100):
    found = non_inferiority(difference, Interval(low, high), n=n, margin=margin)
    assert found[0] == "inconclusive"
    return found[1]


def test_how_many_pairs_would_clear_a_difference_of_nothing():
    # The lower arm, 0.2, must shrink to the margin, 0.1: half of it takes four times the pairs.
    assert _needed(0.0, -0.2, 0.3, 0.1) == 400


def test_how_many_pairs_would_clear_a_drop_within_the_margin():
    # The lower arm, 0.3 - 0.1, must shrink to 0.2 - 0.1.
    assert _needed(-0.1, -0.3, 0.1, 0.2) == 400


def test_how_many_pairs_would_confirm_a_drop_past_the_margin():
    # The upper arm, 0.1 + 0.05, must shrink to 0.1: 1.5**2 times the pairs.
    assert _needed(-0.1, -0.25, 0.05, 0.05) == 225


def test_a_drop_whose_interval_just_touches_zero_needs_one_pair_more():
    assert _needed(-0.1, -0.2, 0.0, 0.05) == 101


def test_no_number_of_pairs_tells_a_drop_of_just_the_margin():
    assert _needed(-0.02, -0.04, 0.0, 0.02) is None


def test_a_decision_needs_no_more_pairs():
    assert non_inferiority(0.0, Interval(0.0, 0.0), n=9, margin=0.02)[1] is None


def test_without_a_margin_any_certain_drop_fails():
    assert _decide(200, 6, -0.05, -0.01, margin=0.0) == "fail"
    assert _decide(200, 0, 0.0, 0.0, margin=0.0) == "pass"


@pytest.mark.parametrize("margin", [-0.01, float("nan"), float("inf")])
def test_a_margin_that_is_none_is_refused(margin):
    with pytest.raises(ValueError, match="margin"):
        non_inferiority(0.0, Interval(0.0, 0.0), n=9, margin=margin)


LEVELS = ["fail", "inconclusive", "pass"]
NARROW = st.floats(0, 0.5)


@given(st.integers(6, 400), st.floats(-1, 1), NARROW, NARROW, NARROW, NARROW)
def test_a_wider_margin_is_never_harder_on_a_clear_decision(n, difference, below, above, a, b):
    interval = Interval(difference - below, difference + above)
    narrow, wide = (
        non_inferiority(difference, interval, n=n, margin=margin) for margin in sorted((a, b))
    )
    assert LEVELS.index(wide[0]) >= LEVELS.index(narrow[0])


@given(st.integers(6, 400), st.floats(-1, 1), NARROW, NARROW, NARROW)
def test_with_the_pairs_that_it_needs_a_comparison_tells(n, difference, below, above, margin):
    interval = Interval(difference - below, difference + above)
    _decision, needed = non_inferiority(difference, interval, n=n, margin=margin)
    assert (needed is None) or needed > n
    if needed is None or needed > 10**9:
        return
    shrunk = ((n / (needed + 1)) ** 0.5) * (1 - 1e-6)
    interval = Interval(difference - shrunk * below, difference + shrunk * above)
    again, _needed = non_inferiority(difference, interval, n=needed, margin=margin)
    assert again == ("fail" if -difference > margin + 1e-9 else "pass")
