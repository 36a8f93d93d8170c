import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gigamind.stats.paired import _mcnemar, _sign_flip


def _p(values, seed=42, label="t", **options):
    return _sign_flip(np.array(values, dtype=np.float64), seed=seed, label=label, **options)


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_mcnemar_is_the_binomial_test_on_the_changes(improved, worse):
    changed = improved + worse
    oracle = stats.binomtest(improved, changed).pvalue if changed else 1.0
    assert _mcnemar(improved, worse) == pytest.approx(oracle, rel=1e-9)


@pytest.mark.each(
    "values, expected",
    [
        ([1, 2, 3], 2 / 8),  # only +++ and --- are 6 away from 0
        ([1, 2, -3], 8 / 8),  # the mean is 0: every pattern is as far
        ([0.1, 0.2, -0.3], 8 / 8),  # 0.1 + 0.2 - 0.3 is 5.6e-17 in float64
        ([0.1, 0.1, 0.2, -0.3], 16 / 16),  # of odd tenths no pattern sums to less than 0.1
        ([-1, 3, 3], 4 / 8),  # |sums| are 7, 5, 1, 1, twice each; 5 is observed
        ([0.5, 0, 0, 0], 2 / 2),  # one change can never be told from its mirror image
        ([0, 0], 1.0),
        ([], 1.0),
    ],
)
def test_sign_flips_worked_out_by_hand(values, expected):
    assert _p(values) == expected


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=12))
def test_few_changes_are_enumerated_as_scipy_does(values):
    sample = np.array(values, dtype=np.float64)
    oracle = stats.permutation_test(
        (sample,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert _p(values) == pytest.approx(min(1.0, oracle.pvalue), rel=1e-12)


def _exact(values):
    """Of whole numbers, by convolution: how many sign patterns give each sum."""
    ways = np.array([1.0])
    for value in np.abs(values):
        shifted = np.zeros(ways.size + 2 * value)
        shifted[: ways.size] += ways / 2
        shifted[2 * value :] += ways / 2
        ways = shifted
    sums = np.arange(ways.size) - ways.size // 2
    return float(ways[np.abs(sums) >= abs(sum(values))].sum())


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_many_changes_are_sampled_around_the_exact_figure(shift):
    values = np.random.default_rng(shift).integers(-7 + shift, 8 + shift, size=60)
    exact = _exact(values)
    error = (exact * (1 - exact) / 9999) ** 0.5
    assert _p(values) == pytest.approx(exact, abs=4 * error + 1e-4)


def test_twelve_changes_are_enumerated_and_thirteen_sampled():
    assert _p([1] * 12 + [0] * 9) == 2 / 4096
    sampled = _p([1] * 13)
    assert sampled * 10_000 == pytest.approx(round(sampled * 10_000), abs=1e-6)
    assert sampled == pytest.approx(2 / 8192, abs=6e-4)


def test_a_sampled_p_value_is_never_zero():
    assert _p([1] * 500) == 1 / 10_000
    assert _p([1] * 500, flips=99) == 1 / 100


def test_seed_and_label_both_choose_the_signs():
    values = np.random.default_rng(5).normal(size=40)
    assert _p(values) == _p(values)
    assert len({_p(values), _p(values, seed=43), _p(values, label="u")}) == 3


@given(st.lists(st.integers(-50, 50), max_size=30), st.integers(0, 20))
def test_unchanged_items_and_swapped_runs_do_not_matter(values, zeros):
    assert _p(values + [0] * zeros) == _p(values) == _p([-value for value in values])


def test_noise_is_significant_in_five_of_a_hundred_comparisons():
    # 2 000 comparisons of 30 skewed differences around 0 (symmetric).  Binomial deviation 0.5 %.
    noise = np.random.default_rng(6).standard_t(3, size=(2000, 30))
    hits = sum(_p(row, seed=i, flips=999) <= 0.05 for i, row in enumerate(noise))
    assert 0.035 < hits / 2000 < 0.065
