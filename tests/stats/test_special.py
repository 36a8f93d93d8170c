import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from gigamind.stats.special import beta_quantile, binomial_cdf, binomial_pmf, student_quantile

NOTHING = 1e-290  # where the oracle says less than this, any figure as small is right
DEVIATIONS = (-8, -3, -1, -0.1, 0, 0.1, 1, 3, 8)
CHANCES = (1e-20, 1e-6, 0.05, 0.3, 0.5, 0.8, 0.999, 1 - 1e-9)
SHARES = (0.025, 0.3, 0.5, 0.8, 0.95, 0.975)


def approx(expected: float, close: float = 1e-10):
    return pytest.approx(expected, rel=close, abs=NOTHING)


@pytest.mark.parametrize(
    ("n", "close"),
    [
        (1, 1e-12), (2, 1e-12), (60, 1e-12), (200, 1e-12), (201, 1e-11), (50_000, 1e-9),
        (10**6, 1e-8),
    ],
)  # fmt: skip
def test_binomial_probabilities_are_those_of_scipy(n, close):
    for chance in CHANCES:
        mean, deviation = n * chance, math.sqrt(n * chance * (1 - chance))
        near = {int(min(n, max(0, mean + times * deviation))) for times in DEVIATIONS}
        for k in near | {0, n // 3, n // 2, n}:
            assert binomial_pmf(k, n, chance) == approx(stats.binom.pmf(k, n, chance), close)
            below = stats.binom.cdf(k, n, chance)
            # Above the mean it is 1 minus the rest.
            assert binomial_cdf(k, n, chance) == pytest.approx(below, rel=close, abs=1e-15)


def test_binomial_probabilities_worked_out_by_hand():
    assert binomial_cdf(1, 4, 0.5) == approx(5 / 16)
    assert binomial_pmf(2, 4, 0.25) == approx(6 * 9 / 256)
    assert (binomial_cdf(-1, 4, 0.5), binomial_cdf(4, 4, 0.5)) == (0.0, 1.0)
    assert [binomial_cdf(k, 3, 1.0) for k in (2, 3)] == [0.0, 1.0]
    assert binomial_cdf(0, 3, 0.0) == 1.0
    assert [binomial_pmf(k, 3, 1.0) for k in (2, 3)] == [0.0, 1.0]
    assert [binomial_pmf(k, 3, 0.0) for k in (0, 1)] == [1.0, 0.0]
    assert binomial_pmf(5, 3_000, 0.0) == 0.0


def test_quantiles_of_beta_distributions_are_those_of_scipy():
    for a, b, share in itertools.product((1, 2, 6, 40, 20_000), (1, 3, 1_000, 50_000), SHARES):
        assert beta_quantile(share, a, b) == approx(special.betaincinv(a, b, share), 1e-9)
    assert beta_quantile(0.0, 2, 3) == pytest.approx(0, abs=1e-15)
    assert beta_quantile(1.0, 2, 3) == 1.0


@pytest.mark.parametrize(
    ("degrees", "close"),
    [(1, 1e-9), (1.3, 1e-6), (2, 1e-9), (4.5, 1e-9), (99, 1e-9), (1e4, 1e-8), (1e6, 1e-7)],
)
def test_quantiles_of_students_t_are_those_of_scipy(degrees, close):
    assert student_quantile(0.5, degrees) == pytest.approx(0, abs=1e-12)
    for share in (0.6, 0.8, 0.975, 0.995, 0.9995):
        assert student_quantile(share, degrees) == approx(special.stdtrit(degrees, share), close)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: binomial_pmf(3, 2, 0.5), lambda: binomial_pmf(1, 2, 1.5),
        lambda: binomial_cdf(1, 3, -0.5), lambda: beta_quantile(0.5, 0, 1),
        lambda: beta_quantile(1.5, 1, 1), lambda: student_quantile(0.4, 3),
        lambda: student_quantile(0.9, 0.5),
    ],
)  # fmt: skip
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="no "):
        wrong()


@given(st.integers(1, 100_000), st.floats(1e-12, 1 - 1e-12), st.data())
def test_at_most_k_grows_by_the_probability_of_k(n, chance, data):
    k = data.draw(st.integers(0, n))
    grown = binomial_cdf(k, n, chance) - binomial_cdf(k - 1, n, chance)
    assert grown == pytest.approx(binomial_pmf(k, n, chance), abs=1e-9)


@given(st.floats(0.5, 0.98), st.floats(0.001, 0.01), st.floats(1, 1e6))
def test_more_lies_below_a_larger_quantile(share, more, degrees):
    assert student_quantile(share, degrees) < student_quantile(share + more, degrees)
