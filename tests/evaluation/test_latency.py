import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.evaluation.workers import latency

times = st.lists(st.floats(0, 60_000), min_size=2, max_size=50)


def test_percentiles_interpolate_between_the_two_nearest_times():
    # Ranks of 0, 10, ..., 100: 0.95 * 10 = 9.5 and 0.99 * 10 = 9.9.
    found = latency([float(ms) for ms in range(0, 101, 10)])
    assert found == {"p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0}


def test_one_time_is_every_percentile():
    assert list(latency([3.25]).values()) == [3.25] * 3


def test_no_times_have_no_percentiles():
    assert latency([]) == {}


@given(times)
def test_the_percentiles_are_those_of_the_inclusive_method(given_times):
    cuts = statistics.quantiles(given_times, n=100, method="inclusive")
    found = latency(given_times)
    expected = [cuts[49], cuts[94], cuts[98]]
    assert list(found.values()) == pytest.approx(expected, rel=1e-9)
