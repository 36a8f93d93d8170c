import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gigamind.stats.paired import _detectable_binary, _detectable_graded, _mcnemar, _sign_flip


def test_a_graded_figure_worked_out_by_hand():
    # Student's t with 24 degrees: 2.0639 (97.5 %) and 0.8569 (80 %); 2.9208 * 0.5 / 5.
    found = _detectable_graded(25, 0.5, changed=25, size=0.4)
    assert found == pytest.approx(0.29208, abs=1e-5)


@pytest.mark.parametrize("n", [12, 60])
def test_the_sign_flip_test_finds_that_graded_difference_in_80_of_100_comparisons(n):
    # 1 000 comparisons: binomial deviation 1.3 %.
    difference = _detectable_graded(n, 0.3, changed=n, size=0.3 * (2 / np.pi) ** 0.5)
    runs = np.random.default_rng(n).normal(difference, 0.3, size=(1000, n))
    found = sum(_sign_flip(run, seed=i, label="t", flips=499) <= 0.05 for i, run in enumerate(runs))
    assert 0.76 < found / 1000 < 0.84


def _power(n, share, difference):
    """Of McNemar's exact test, summed over every number of changes and every split of it."""
    power = 0.0
    for changed in range(n + 1):
        minority = np.arange(changed + 1)
        split = stats.binom.pmf(minority, changed, (1 - difference / share) / 2)
        significant = [
            _mcnemar(int(k), changed - int(k)) <= 0.05 and 2 * k < changed for k in minority
        ]
        power += stats.binom.pmf(changed, n, share) * split[significant].sum()
    return power


@pytest.mark.parametrize(("n", "changed"), [(40, 12), (60, 30), (100, 9), (200, 10)])
def test_mcnemar_has_80_percent_power_at_the_binary_figure_and_less_below(n, changed):
    difference = _detectable_binary(n, changed)
    assert _power(n, changed / n, difference) == pytest.approx(0.8, abs=1e-5)
    assert _power(n, changed / n, 0.98 * difference) < 0.8


@pytest.mark.parametrize("changed", [0, 3, 7])
def test_too_few_changes_leave_the_share_of_one_way_changes_that_would_do(changed):
    # Six one-way changes are significant, five are not: P(six or more of 200) = 0.8 at that share.
    difference = _detectable_binary(200, changed)
    assert stats.binom.sf(5, 200, difference) == pytest.approx(0.8, abs=1e-9)


def test_the_figure_does_not_jump_where_changes_become_enough():
    fewest = stats.beta.ppf(0.8, 6, 195) * 200
    below, above = _detectable_binary(200, int(fewest)), _detectable_binary(200, int(fewest) + 1)
    assert below < above < 1.05 * below


@pytest.mark.parametrize("changed", [0, 5])
def test_five_pairs_detect_nothing_and_six_only_what_is_nearly_everything(changed):
    assert _detectable_binary(5, changed) is None
    assert _detectable_binary(6, changed) == pytest.approx(0.8 ** (1 / 6))  # all six must change
    assert _detectable_graded(5, 0.1, changed=5, size=0.1) is None
    assert _detectable_graded(6, 0.1, changed=6, size=0.1) is not None


def test_five_changed_pairs_tell_no_graded_figure_and_six_do():
    assert _detectable_graded(33, 0.01, changed=5, size=0.05) is None
    assert _detectable_graded(33, 0.01, changed=6, size=0.05) is not None


def test_changes_of_a_like_size_have_the_graded_figure_that_makes_six_of_them_likely():
    # t: 2.0369 + 0.8530 with 32 degrees, times 0.01 / 33**0.5: 0.0050, of less than four changes of 0.05.
    share = stats.beta.ppf(0.8, 6, 28)
    assert share > 6 / 33
    found = _detectable_graded(33, 0.01, changed=6, size=0.05)
    assert found == pytest.approx(0.05 * share)


_SIZES = np.array([1 / 2, 2 / 3, 1 / 6, 1 / 12, 1 / 20, 1 / 4])  # of reciprocal ranks that change


@pytest.mark.parametrize(("n", "changed"), [(33, 6), (60, 8), (60, 20), (200, 7), (200, 40)])
def test_where_few_items_change_the_graded_figure_is_found_in_80_of_100_comparisons(n, changed):
    """Changes of the sizes of ranks at so many items or, where those cannot make the figure, at as many as it takes."""
    spread, size = (changed / n * (_SIZES**2).mean()) ** 0.5, _SIZES.mean()
    figure = _detectable_graded(n, spread, changed=changed, size=size)
    share = max(changed / n, figure / size)
    up = (1 + figure / (share * size)) / 2
    rng = np.random.default_rng(n + changed)
    ways = rng.choice([1, -1, 0], p=[share * up, share * (1 - up), 1 - share], size=(500, n))
    runs = ways * rng.choice(_SIZES, size=(500, n))
    found = sum(_sign_flip(run, seed=i, label="t", flips=499) <= 0.05 for i, run in enumerate(runs))
    assert found / 500 > 0.76  # binomial deviation 1.8 %


def test_one_way_at_the_least_share_any_sizes_are_found_in_80_of_100_comparisons():
    rng = np.random.default_rng(1)
    runs = (rng.random((2000, 33)) < stats.beta.ppf(0.8, 6, 28)) * rng.choice(_SIZES, (2000, 33))
    found = np.mean([_sign_flip(run, seed=1, label="t", flips=499) <= 0.05 for run in runs])
    assert found == pytest.approx(0.8, abs=0.03)


def test_equal_graded_differences_say_nothing_about_what_could_be_detected():
    assert _detectable_graded(100, 0.0, changed=100, size=0.1) is None


@given(st.integers(6, 5000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_a_binary_figure_is_a_share_near_its_normal_approximation(case):
    n, changed = case
    difference = _detectable_binary(n, changed)
    assert 0 < difference < 1
    if changed > 300 and changed < n:
        normal = 2.8016 * (changed / n) ** 0.5 / n**0.5
        assert difference == pytest.approx(normal, rel=0.12)
