import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.metrics.aggregate import Latency, latency

times = st.lists(st.floats(0, 60_000), min_size=2, max_size=50)


def test_percentiles_interpolate_between_the_two_nearest_times():
    # Ranks of 0, 10, ..., 100: 0.95 * 10 = 9.5 and 0.99 * 10 = 9.9.
    assert latency([float(ms) for ms in range(0, 101, 10)]) == Latency(50.0, 95.0, 99.0, n=11)


def test_two_times_are_interpolated():
    found = latency([0.0, 100.0])
    assert found is not None
    assert (found.p50_ms, found.p95_ms, found.p99_ms) == pytest.approx((50.0, 95.0, 99.0))


def test_one_time_is_every_percentile():
    assert latency([3.25]) == Latency(3.25, 3.25, 3.25, n=1)


def test_no_times_have_no_percentiles():
    assert latency([]) is None


@given(times)
def test_the_percentiles_are_those_of_the_inclusive_method(given_times):
    cuts = statistics.quantiles(given_times, n=100, method="inclusive")
    found = latency(given_times)
    assert found is not None
    measured = (found.p50_ms, found.p95_ms, found.p99_ms)
    assert measured == pytest.approx((cuts[49], cuts[94], cuts[98]), rel=1e-9)


@given(times, st.randoms(use_true_random=False))
def test_the_order_of_the_times_does_not_matter(given_times, generator):
    assert latency(generator.sample(given_times, len(given_times))) == latency(given_times)
