import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.stats.intervals import Interval
from gigamind.stats.paired import non_inferiority


@pytest.mark.parametrize(
    ("worse", "low", "high", "margin", "decision"),
    [
        # Past the margin: only an interval without 0 fails.
        (0.025, -0.05, -0.005, 0.02, "fail"),
        (0.025, -0.05, 0.0, 0.02, "inconclusive"),
        (0.025, -0.05, 0.01, 0.02, "inconclusive"),
        # Just the margin is not past it.
        (0.02, -0.04, -0.005, 0.02, "inconclusive"),
        (0.02, -0.02, -0.005, 0.02, "pass"),
        (0.01, -0.018, -0.004, 0.02, "pass"),  # certain, but small
        # The lower end decides between pass and inconclusive.
        (0.0, -0.02, 0.03, 0.02, "pass"),
        (0.0, -0.0201, 0.03, 0.02, "inconclusive"),
        (0.0, 0.0, 0.0, 0.02, "pass"),
        # Without a margin any certain drop fails.
        (0.03, -0.05, -0.01, 0.0, "fail"),
        (0.0, 0.0, 0.0, 0.0, "pass"),
    ],
)
def test_the_drop_its_interval_and_the_margin_decide(worse, low, high, margin, decision):
    assert non_inferiority(-worse, Interval(low, high), n=200, margin=margin)[0] == decision


def test_a_margin_met_on_paper_is_not_passed_by_a_rounding_error():
    difference = 0.6 - 0.8
    assert -difference > 0.2
    found = non_inferiority(difference, Interval(difference, difference), n=9, margin=0.2)
    assert found == ("pass", None)


def test_five_pairs_decide_nothing_and_six_do():
    lost, same = Interval(-1.0, -1.0), Interval(0.0, 0.0)
    assert non_inferiority(-1.0, lost, n=5, margin=0.02) == ("inconclusive", 6)
    assert non_inferiority(-1.0, lost, n=6, margin=0.02)[0] == "fail"
    assert non_inferiority(0.0, same, n=5, margin=0.02)[0] == "inconclusive"
    assert non_inferiority(0.0, same, n=6, margin=0.02)[0] == "pass"


@pytest.mark.parametrize(
    ("difference", "low", "high", "margin", "needed"),
    [
        # The lower arm, 0.2, must shrink to the margin, 0.1: half of it takes four times the pairs.
        (0.0, -0.2, 0.3, 0.1, 400),
        # The lower arm, 0.3 - 0.1, must shrink to 0.2 - 0.1.
        (-0.1, -0.3, 0.1, 0.2, 400),
        # The upper arm, 0.1 + 0.05, must shrink to 0.1 to confirm the drop: 1.5**2 times the pairs.
        (-0.1, -0.25, 0.05, 0.05, 225),
        (-0.1, -0.2, 0.0, 0.05, 101),  # it just touches 0
        (-0.02, -0.04, 0.0, 0.02, None),  # no number of pairs tells a drop of just the margin
    ],
)
def test_how_many_of_a_hundred_pairs_more_would_decide(difference, low, high, margin, needed):
    found = non_inferiority(difference, Interval(low, high), n=100, margin=margin)
    assert found == ("inconclusive", needed)


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
