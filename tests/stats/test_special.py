import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from gigamind.stats import special as own
from gigamind.stats.special import beta_quantile, binomial_cdf, binomial_pmf, student_quantile

CLOSE = 1e-10  # relative
NOTHING = 1e-290  # where the oracle says less than this, any figure as small is right

SHAPES = (0.01, 0.3, 0.5, 1.0, 1.5, 3.0, 15.9, 16.0, 100.0, 1234.5, 1e5, 1e6)
SHARES = (1e-100, 1e-20, 1e-6, 0.025, 0.3, 0.49, 0.5, 0.51, 0.8, 0.975, 1 - 1e-6, 1 - 1e-15)
DEVIATIONS = (-30, -8, -3, -1, -0.1, 0, 0.1, 1, 3, 8, 30)
shapes = st.floats(1e-3, 1e6)
shares = st.floats(1e-12, 1 - 1e-12)


def incomplete_beta(a, b, x):
    """The share of Beta(a, b) below x."""
    own._check(a, b, x)
    return own._share_below(a, b, x, 1 - x)


def approx(expected: float):
    return pytest.approx(expected, rel=CLOSE, abs=NOTHING)


def test_the_share_of_a_beta_distribution_is_that_of_scipy():
    compared = 0
    for a, b in itertools.product(SHAPES, SHAPES):
        mean = a / (a + b)
        deviation = math.sqrt(mean * (1 - mean) / (a + b + 1))
        near = [mean + times * deviation for times in DEVIATIONS]
        for x in (1e-300, 1e-10, 0.001, 0.3, 0.5, 0.7, 0.999, 1 - 1e-10, *near):
            if 0 < x < 1:
                assert incomplete_beta(a, b, x) == approx(special.betainc(a, b, x)), (a, b, x)
                compared += 1
    assert compared > 2000


# With mpmath, 40 digits: SciPy rounds 1 - x to a float, whose power of 1e8 keeps 8 digits.
@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        (3.0, 100000000.0, 3.2e-08, 0.6200962762856737),
        (16.0, 100000000.0, 1.64e-07, 0.5723903617614873),
        (100000000.0, 16.0, 0.9999998, 0.15651295383911168),
    ],
)
def test_a_small_x_of_a_narrow_distribution_keeps_its_digits(a, b, x, expected):
    assert incomplete_beta(a, b, x) == approx(expected)


def test_binomial_probabilities_are_those_of_scipy():
    for n in (1, 2, 10, 60, 1000, 50_000, 1_000_000):
        for chance in (1e-20, 1e-6, 0.05, 0.3, 0.5, 0.8, 0.999, 1 - 1e-9):
            mean, deviation = n * chance, math.sqrt(n * chance * (1 - chance))
            near = {int(min(n, max(0, mean + times * deviation))) for times in DEVIATIONS}
            for k in near | {0, n // 3, n // 2, n - 1, n}:
                assert binomial_cdf(k, n, chance) == approx(stats.binom.cdf(k, n, chance))
                assert binomial_pmf(k, n, chance) == approx(stats.binom.pmf(k, n, chance))


def test_binomial_probabilities_worked_out_by_hand():
    assert binomial_cdf(1, 4, 0.5) == approx(5 / 16)
    assert binomial_pmf(2, 4, 0.25) == approx(6 * 9 / 256)
    assert (binomial_cdf(-1, 4, 0.5), binomial_cdf(4, 4, 0.5)) == (0.0, 1.0)
    assert [binomial_cdf(k, 3, 1.0) for k in (2, 3)] == [0.0, 1.0]
    assert binomial_cdf(0, 3, 0.0) == 1.0
    assert [binomial_pmf(k, 3, 1.0) for k in (2, 3)] == [0.0, 1.0]
    assert [binomial_pmf(k, 3, 0.0) for k in (0, 1)] == [1.0, 0.0]


def test_quantiles_of_beta_distributions_are_those_of_scipy():
    for a, b, share in itertools.product(SHAPES, SHAPES, SHARES):
        expected = special.betaincinv(a, b, share)
        assert beta_quantile(share, a, b) == approx(expected), (a, b, share)


def test_quantiles_of_students_t_are_those_of_scipy():
    for degrees, share in itertools.product((1, 2, 3, 4.5, 10, 99, 1e4, 1e8), SHARES):
        expected = special.stdtrit(degrees, share)
        assert student_quantile(share, degrees) == approx(expected), (degrees, share)


def test_the_last_shares_have_the_quantiles_of_their_closed_forms():
    # SciPy has none here.  t of 1 degree is a tangent, of 2 degrees a root; Beta(a, 1) has x^a below x.
    assert student_quantile(1e-300, 1) == approx(-1e300 / math.pi)
    assert student_quantile(1e-300, 2) == approx(-1e150 / math.sqrt(2))
    assert beta_quantile(1e-300, 2.5, 1) == approx(1e-120)


def test_the_ends_have_the_quantiles_of_the_ends():
    assert (beta_quantile(0.0, 2, 3), beta_quantile(1.0, 2, 3)) == (0.0, 1.0)
    assert (student_quantile(0.0, 3), student_quantile(1.0, 3)) == (-math.inf, math.inf)
    assert student_quantile(0.5, 3) == 0.0
    # sin^2(pi share / 2) is the quantile of the arcsine distribution, 1.6e-601 here: less than any float.
    assert beta_quantile(1e-301, 0.5, 0.5) == 0.0


@given(shares, shapes, shapes)
def test_a_quantile_has_its_share_below(share, a, b):
    x = beta_quantile(share, a, b)
    if 1e-290 < x < 0.5:  # nearer to 1, the float beside x has another share
        below = incomplete_beta(a, b, x)
        assert below == pytest.approx(share, rel=1e-8)


@given(shapes, shapes, st.floats(0, 1), st.floats(0, 1))
def test_a_share_grows_with_x(a, b, one, other):
    low, high = sorted((one, other))
    below, above = incomplete_beta(a, b, low), incomplete_beta(a, b, high)
    assert 0 <= below <= above * (1 + 1e-11) <= 1 + 1e-11


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.floats(0.5, 1))
def test_both_sides_together_are_all(a, b, x):
    assert incomplete_beta(a, b, x) + incomplete_beta(b, a, 1 - x) == pytest.approx(1, abs=1e-11)


@given(st.integers(1, 1_000_000), shares, st.data())
def test_at_most_k_grows_by_the_probability_of_k(n, chance, data):
    k = data.draw(st.integers(0, n))
    grown = binomial_cdf(k, n, chance) - binomial_cdf(k - 1, n, chance)
    assert grown == pytest.approx(binomial_pmf(k, n, chance), abs=1e-11)


@given(shares, st.floats(1, 1e6))
def test_students_t_is_symmetric(share, degrees):
    assert student_quantile(1 - share, degrees) == -student_quantile(1 - (1 - share), degrees)


@given(st.floats(0.01, 0.98), st.floats(0.001, 0.01), st.floats(1, 1e6))
def test_more_lies_below_a_larger_quantile(share, more, degrees):
    assert student_quantile(share, degrees) < student_quantile(share + more, degrees)
    assert beta_quantile(share, degrees, 2) < beta_quantile(share + more, degrees, 2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: binomial_cdf(1, 2, 1.5),
        lambda: binomial_cdf(1, -1, 0.5),
        lambda: binomial_pmf(3, 2, 0.5),
        lambda: binomial_pmf(1, 2, math.nan),
        lambda: incomplete_beta(0, 1, 0.5),
        lambda: incomplete_beta(1, 2e9, 0.5),
        lambda: incomplete_beta(1, 1, np.nan),
        lambda: beta_quantile(1.1, 1, 1),
        lambda: student_quantile(0.5, 0),
        lambda: student_quantile(-0.1, 1),
    ],
)
def test_what_is_no_distribution_or_share_is_refused(ask):
    with pytest.raises(ValueError, match="no "):
        ask()
