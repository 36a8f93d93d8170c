import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gigamind.stats.intervals import (
    Interval,
    _bounded_ratios,
    _mean_intervals,
    _ratio_intervals,
    bounded_means,
)

Z2 = 1.959963984540054**2


def column(values):
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def mean_of(values, seed=42, clusters=None):
    groups = None if clusters is None else np.array(clusters)
    return bounded_means(column(values), seed=seed, label="t", clusters=groups)[0]


def bootstrap(values, clusters=None):
    groups = None if clusters is None else np.array(clusters)
    return _mean_intervals(column(values), seed=42, label="t", clusters=groups)[0]


def ratio_of(over, under):
    return _bounded_ratios(column(over), column(under), seed=42, label="t")[0]


@pytest.mark.parametrize("n", [1, 2, 4, 50])
def test_hits_alone_and_misses_alone_by_wilson(n):
    # of n in n, Wilson's lower end is n / (n + z^2): 0.51 of 4 in 4
    hits, misses = mean_of([1] * n), mean_of([0] * n)
    assert (hits.low, hits.high) == (pytest.approx(n / (n + Z2)), 1.0)
    assert (misses.low, misses.high) == (0.0, pytest.approx(Z2 / (n + Z2)))


def test_equal_graded_values_are_as_uncertain_as_a_share():
    # By Wilson's formula, with z^2 = 3.8415: (0.7 + 3.8415 / 6 -+ 1.96 sqrt(0.07 + 3.8415 / 36)) / (1 + 3.8415 / 3)
    found = mean_of([0.7] * 3)
    assert (found.low, found.high) == pytest.approx((0.2264, 0.9490), abs=1e-4)


@pytest.mark.parametrize("flipped", [False, True])
def test_five_misses_or_hits_are_enough_for_the_bootstrap_and_four_are_not(flipped):
    five, four = ([float((i < k) is flipped) for i in range(100)] for k in (5, 4))
    assert mean_of(five) == bootstrap(five)
    drawn, found = bootstrap(four), mean_of(four)
    # Wilson's of 4 in 100: 1.57 to 9.84; the bootstrap's: 1 to 8
    low, high = (0.01, 0.0984) if flipped else (1 - 0.0984, 0.99)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
    assert found.low <= drawn.low
    assert found.high >= drawn.high


def test_misses_of_graded_values_add_up():
    # 40 items that each miss 1/8 are five misses' worth, 39 of them are not.
    tail = [0.75, 1.0] * 20
    assert mean_of([*tail, *[1.0] * 5]) == bootstrap([*tail, *[1.0] * 5])
    fewer = [*tail[:-2], *[1.0] * 5]
    assert mean_of(fewer).low < bootstrap(fewer).low


@given(st.lists(st.floats(0.2, 0.8), min_size=30, max_size=60))
@settings(max_examples=30, deadline=None)
def test_thirty_values_away_from_the_edges_have_the_bootstraps_interval_to_the_bit(values):
    values[0], values[1] = 0.2, 0.8
    assert mean_of(values) == bootstrap(values)


def test_alike_items_of_a_cluster_count_as_one():
    # Ten hits of two answers, five each: two independent items.  Of eight and two: 100 / 68.
    found = mean_of([1] * 10, clusters=[0, 1] * 5)
    assert (found.low, found.high) == pytest.approx((2 / (2 + Z2), 1.0))
    size = 100 / 68
    assert mean_of([1] * 10, clusters=[0] * 8 + [1] * 2).low == pytest.approx(size / (size + Z2))
    assert mean_of([1] * 10, clusters=[0] * 10) is None
    # five misses' worth in twice as many items, but those of a cluster are alike
    values = [0.0] * 6 + [1.0] * 54
    assert mean_of(values) == bootstrap(values)
    pairs = [i // 2 for i in range(60)]
    assert mean_of(values, clusters=pairs).low < bootstrap(values, pairs).low


def test_only_the_measured_items_of_a_column_count():
    table = np.array([[1, np.nan], [np.nan, np.nan], [1, 1], [1, np.nan]], dtype=np.float64)
    first, second = bounded_means(table, seed=42, label="t")
    assert first == mean_of([1, 1, 1])
    assert second == mean_of([1])
    clusters = np.array([0, 0, 1, 2])
    assert bounded_means(table, seed=42, label="t", clusters=clusters) == [first, second]
    assert bounded_means(table[1:2], seed=42, label="t") == [None, None]


def test_a_ratio_of_nothing_but_hits_by_wilson():
    # An item of two and one of one: 9 / 5 independent ones.  An item without a denominator does not count.
    size = 9 / 5
    found = ratio_of([2, 1, 0], [2, 1, 0])
    assert (found.low, found.high) == (pytest.approx(size / (size + Z2)), 1.0)
    assert ratio_of([0, 0], [0, 0]) is None
    assert ratio_of([0, 0], [3, 3]) == Interval(0.0, pytest.approx(Z2 / (2 + Z2)))


def test_a_ratio_away_from_the_edges_has_the_bootstraps_interval():
    over, under = [1, 0, 1] * 10, [2, 1, 1] * 10
    (drawn,) = _ratio_intervals(column(over), column(under), seed=42, label="t")
    assert ratio_of(over, under) == drawn


@pytest.mark.parametrize("value", [-0.01, 1.01])
def test_values_outside_0_to_1_are_refused(value):
    with pytest.raises(ValueError, match=rf"not in \[0, 1\]: {value}"):
        mean_of([0.5, value])
    with pytest.raises(ValueError, match="not between 0 and its denominator"):
        ratio_of([1, value * 2], [1, 2])


def test_a_rounding_error_past_1_is_none():
    assert mean_of([1.0000000000000002] * 4) == mean_of([1.0] * 4)


@given(
    st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=15),
    st.integers(0, 99),
    st.randoms(),
)
def test_an_interval_holds_the_mean_lies_in_0_to_1_and_has_a_width(values, seed, random):
    found = mean_of(values, seed)
    assert 0 <= found.low <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= found.high <= 1
    assert found.high - found.low > 1e-9
    clusters = random.sample(range(50), len(values))
    assert mean_of(values, seed, clusters) == found


@given(st.floats(0, 1), st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_more_equal_values_leave_less_room(value, n):
    fewer, more = mean_of([value] * n), mean_of([value] * (n + 1))
    assert more.high - more.low < fewer.high - fewer.low


@pytest.mark.parametrize("n", [4, 10, 20, 50])
def test_intervals_of_shares_hold_the_truth_where_the_bootstraps_do_not(n):
    """Exactly: the chance of each number of hits, summed over those whose interval holds the chance of a hit."""
    samples = (np.arange(n)[:, np.newaxis] < np.arange(n + 1)).astype(np.float64)
    chances = np.array([0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
    weights = stats.binom.pmf(np.arange(n + 1)[:, np.newaxis], n, chances)

    def held(intervals):
        holds = [(one.low <= chances) & (chances <= one.high) for one in intervals]
        return (weights * np.array(holds)).sum(axis=0)

    assert held(bounded_means(samples, seed=42, label="t")).min() > 0.925
    drawn = held(_mean_intervals(samples, seed=42, label="t"))
    assert drawn[-1] < 0.45  # a share of 0.99: most samples are hits throughout


def test_intervals_of_mostly_equal_graded_values_hold_the_truth():
    # Reciprocal ranks: 1 in 95 of 100, else 1/2, 1/3, 1/4 or 0.  Of 600 samples 95 % deviate by 0.9 %.
    generator = np.random.default_rng(7)
    truth = 0.95 + 0.05 * (1 / 2 + 1 / 3 + 1 / 4) / 4
    for n in (4, 20, 50):
        others = generator.choice([1 / 2, 1 / 3, 1 / 4, 0], size=(n, 600))
        samples = np.where(generator.random((n, 600)) < 0.95, 1.0, others)
        shares = [
            np.mean([one.low <= truth <= one.high for one in made(samples, seed=42, label="t")])
            for made in (bounded_means, _mean_intervals)
        ]
        assert shares[0] > 0.95
        assert shares[1] < 0.92
