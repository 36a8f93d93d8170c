import numpy as np
import pytest
from scipy.optimize import brentq

from gigamind.judges.fit import fit_logistic


def test_the_optimum_is_where_the_slope_is_zero():
    # One feature of mean 0 and deviation 1, by symmetry no intercept, and 3 of 4 rows right on each side:
    # the weight w solves 8 * (3/4 - sigmoid(w)) = ridge * w.
    features = np.array([[1.0]] * 4 + [[-1.0]] * 4)
    positive = np.array([1.0, 1, 1, 0, 0, 0, 0, 1])
    fitted = fit_logistic(features, positive, ridge=0.5)
    expected = brentq(lambda w: 8 * (0.75 - 1 / (1 + np.exp(-w))) - 0.5 * w, 0, 5)
    assert fitted.weights[0] == pytest.approx(expected, abs=1e-5)
    assert fitted.intercept == pytest.approx(0.0, abs=1e-5)
    assert fitted.probabilities(features)[0] == pytest.approx(1 / (1 + np.exp(-expected)), abs=1e-5)


def test_features_are_standardised_so_that_units_do_not_matter():
    features = np.random.default_rng(1).normal(size=(60, 2))
    positive = (features[:, 0] + 0.3 * features[:, 1] > 0).astype(float)
    one = fit_logistic(features, positive, ridge=1.0)
    other = fit_logistic(features * [1.0, 1000.0] + [0.0, 7.0], positive, ridge=1.0)
    assert other.weights == pytest.approx(one.weights, abs=1e-4)


def test_a_constant_feature_has_no_weight_and_breaks_nothing():
    features = np.array([[3.0, 0.0], [3.0, 1.0], [3.0, 0.2], [3.0, 0.9]])
    fitted = fit_logistic(features, np.array([0.0, 1, 0, 1]), ridge=1.0)
    assert (fitted.scale[0], fitted.weights[0]) == (1.0, 0.0)
    assert fitted.weights[1] > 0


def test_perfectly_separable_rows_still_have_finite_coefficients():
    fitted = fit_logistic(np.array([[-1.0], [1.0]] * 30), np.array([0.0, 1.0] * 30), ridge=1.0)
    assert 2 < fitted.weights[0] < 10
