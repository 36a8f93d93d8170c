import numpy as np
import pytest
from fit_calibration import Logistic, Matrix, fit_logistic
from scipy.optimize import brentq


def fit(features: Matrix, positive: Matrix, *, ridge: float) -> Logistic:
    """Rows that count alike and have no log-odds before."""
    rows = len(positive)
    return fit_logistic(features, positive, np.zeros(rows), np.ones(rows), ridge)


def test_the_optimum_is_where_the_slope_is_zero():
    # One feature of mean 0 and deviation 1, by symmetry no intercept, and 3 of 4 rows right on each side:
    # the weight w solves 8 * (3/4 - sigmoid(w)) = ridge * w.
    features = np.array([[1.0]] * 4 + [[-1.0]] * 4)
    positive = np.array([1.0, 1, 1, 0, 0, 0, 0, 1])
    fitted = fit(features, positive, ridge=0.5)
    expected = brentq(lambda w: 8 * (0.75 - 1 / (1 + np.exp(-w))) - 0.5 * w, 0, 5)
    assert fitted.weights[0] == pytest.approx(expected, abs=1e-5)
    assert fitted.intercept == pytest.approx(0.0, abs=1e-5)
    assert fitted.odds(features, np.zeros(8))[0] == pytest.approx(expected, abs=1e-5)


def test_features_are_standardised_so_that_units_do_not_matter():
    features = np.random.default_rng(1).normal(size=(60, 2))
    positive = (features[:, 0] + 0.3 * features[:, 1] > 0).astype(float)
    one = fit(features, positive, ridge=1.0)
    other = fit(features * [1.0, 1000.0] + [0.0, 7.0], positive, ridge=1.0)
    assert other.weights == pytest.approx(one.weights, abs=1e-4)


def test_a_constant_feature_has_no_weight_and_breaks_nothing():
    features = np.array([[3.0, 0.0], [3.0, 1.0], [3.0, 0.2], [3.0, 0.9]])
    fitted = fit(features, np.array([0.0, 1, 0, 1]), ridge=1.0)
    assert (fitted.scale[0], fitted.weights[0]) == (1.0, 0.0)
    assert fitted.weights[1] > 0


def test_an_offset_stands_in_the_log_odds_and_a_share_counts_like_repeated_rows():
    features = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    positive = np.array([1.0, 0, 0, 1])
    shifted = fit_logistic(features, positive, np.full(4, 2.0), np.ones(4), 1.0)
    assert shifted.intercept == pytest.approx(-2.0, abs=1e-5)  # what the offset has is taken back
    assert shifted.odds(features, np.full(4, 2.0)) == pytest.approx(np.zeros(4), abs=1e-5)
    share = np.array([3.0, 3, 1, 1])
    weighed = fit_logistic(features, positive, np.zeros(4), share, 0.5)
    # The first test's rows: three of four are right on each side.
    repeated = fit(features.repeat([3, 3, 1, 1], axis=0), positive.repeat([3, 3, 1, 1]), ridge=0.5)
    assert weighed.weights == pytest.approx(repeated.weights, abs=1e-5)
