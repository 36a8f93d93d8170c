import hashlib
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gigamind.stats import intervals
from gigamind.stats.intervals import Interval, summable
from gigamind.stats.paired import _bca_intervals


def _column(values):
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def _interval(values, seed=42, label="t", resamples=2_000, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_RESAMPLES", resamples)
        (found,) = _bca_intervals(_column(values), seed=seed, label=label, **options)
    return found


@pytest.mark.parametrize("confidence", [0.95, 0.8])
@pytest.mark.parametrize(
    "draw",
    [
        lambda generator: generator.normal(size=60),
        lambda generator: generator.exponential(size=60),
        lambda generator: generator.normal(size=200) ** 3 * (generator.random(200) < 0.1),
        lambda generator: generator.integers(-1, 2, size=150).astype(np.float64),
    ],
    ids=["normal", "skewed", "mostly-zero", "differences-of-binary"],
)
def test_an_interval_is_scipys_on_the_same_draws(draw, confidence):
    sample = draw(np.random.default_rng(3))
    digest = hashlib.sha256(b"42\0t").digest()
    oracle = stats.bootstrap(
        (sample,),
        np.mean,
        n_resamples=2000,
        method="BCa",
        confidence_level=confidence,
        rng=np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big"))),
    ).confidence_interval
    found = _interval(sample, confidence=confidence)
    error = statistics.stdev(sample) / len(sample) ** 0.5
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=1e-9 * error)


@pytest.mark.parametrize("values", [[0.3], [0.1] * 3, [-0.7] * 50, [1e-300] * 4, [0.0] * 5])
def test_one_item_or_equal_items_give_an_interval_of_no_width(values):
    assert _interval(values) == Interval(values[0], values[0])


def test_a_difference_a_rounding_error_away_from_the_others_is_no_crash():
    found = _interval([0.1 + 0.2, 0.3, 0.3, 0.3])
    assert 0.3 <= found.low <= found.high <= 0.1 + 0.2


def test_very_small_values_keep_their_skew():
    large, small = _interval([0.0] * 30 + [1.0, 2.0]), _interval([0.0] * 30 + [1e-200, 2e-200])
    assert small.low == pytest.approx(large.low * 1e-200)
    assert small.high == pytest.approx(large.high * 1e-200)


@pytest.mark.parametrize("resamples", [1, 2])
def test_a_handful_of_resamples_still_gives_ends(resamples):
    for seed in range(20):  # in some, every resample lies on one side of the mean
        found = _interval([0.0, 0.0, 0.0, 1.0], seed=seed, resamples=resamples)
        assert 0.0 <= found.low <= found.high <= 1.0


WHOLE = st.lists(st.integers(-64, 64), min_size=1, max_size=25)


@given(WHOLE, st.integers())
def test_an_interval_lies_within_the_values(values, seed):
    found = _interval(values, seed=seed, resamples=200)
    assert min(values) <= found.low <= found.high <= max(values)


@given(WHOLE, st.integers())
def test_swapping_the_runs_mirrors_the_interval(values, seed):
    found = _interval(values, seed=seed, resamples=200)
    mirrored = _interval([-value for value in values], seed=seed, resamples=200)
    assert mirrored.low == pytest.approx(-found.high, abs=1e-9)
    assert mirrored.high == pytest.approx(-found.low, abs=1e-9)


@given(WHOLE, st.integers(-9, 9), st.sampled_from([0.25, 2.0, 8.0]))
def test_shifted_and_scaled_values_have_a_shifted_and_scaled_interval(values, shift, scale):
    found = _interval(values, resamples=200)
    moved = _interval([shift + scale * value for value in values], resamples=200)
    assert moved.low == pytest.approx(shift + scale * found.low, abs=1e-9)
    assert moved.high == pytest.approx(shift + scale * found.high, abs=1e-9)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50), st.randoms())
def test_summable_values_have_one_sum_in_any_order_and_are_hardly_moved(values, random):
    exact = summable(_column(values)).ravel().tolist()
    shuffled = exact.copy()
    random.shuffle(shuffled)
    assert sum(exact) == sum(shuffled)
    largest = max(abs(value) for value in values)
    assert exact == pytest.approx(values, rel=0, abs=max(2**-52 * len(values) * largest, 2**-1023))
