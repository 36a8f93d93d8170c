import pytest

from gigamind.stats.intervals import Interval


def test_the_interval_is_that_of_scipy():
    from scipy.stats import binomtest

    for successes, n in [(0, 10), (3, 10), (10, 10), (81, 263)]:
        expected = binomtest(successes, n).proportion_ci(method="wilson")
        found = Interval.wilson(successes, n)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_items_that_count_as_fewer_have_the_interval_of_fewer():
    assert Interval.wilson(6, 20, effective=10) == Interval.wilson(3, 10)
    assert Interval.wilson(3, 10, effective=10.0) == Interval.wilson(3, 10)


def test_a_mean_is_a_share_of_hits_that_may_be_broken():
    assert Interval.wilson_of_mean(0.3, 10) == Interval.wilson(3, 10)
    between = Interval.wilson_of_mean(0.35, 10)
    assert Interval.wilson(3, 10).high < between.high < Interval.wilson(4, 10).high


@pytest.mark.parametrize("mean", [0.0, 0.1, 1 / 3, 1.0])
@pytest.mark.parametrize("size", [0.5, 1, 7, 1e6])
def test_an_interval_holds_its_mean(mean, size):
    for confidence in (0.01, 0.95, 0.999):
        found = Interval.wilson_of_mean(mean, size, confidence)
        assert 0 <= found.low <= mean <= found.high <= 1


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_what_is_no_share_has_no_interval(successes, n):
    with pytest.raises(ValueError, match="no share"):
        Interval.wilson(successes, n)
