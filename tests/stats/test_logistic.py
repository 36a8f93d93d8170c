"""Weights of a logistic function are those that an optimiser of SciPy finds, too."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gigamind.stats.logistic import _sigmoid, fit_logistic


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_are_the_likeliest(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    columns = np.column_stack([drawn.normal(size=(300, 3)), np.ones(300)])
    seen, counts = drawn.uniform(0.3, 1, 300), drawn.uniform(0.5, 3, 300)
    offset, prior = drawn.normal(size=300), drawn.normal(size=4)
    held = np.array([2.0, 0.5, 9.0, 0.0])  # the last one goes free
    chances = seen * _sigmoid(columns @ [1.0, -2.0, 0.5, 0.3] + offset)
    positive = (drawn.uniform(size=300) < chances).astype(np.float64)

    def loss(weights):
        chance = seen * _sigmoid(columns @ weights + offset)
        nats = positive * np.log(chance) + (1 - positive) * np.log(1 - chance)
        return -np.sum(counts * nats) + np.sum(held * (weights - prior) ** 2) / 2

    found = fit_logistic(
        columns,
        positive,
        prior_mean=prior,
        prior_precision=held,
        label_frequency=seen,
        sample_weight=counts,
        offset=offset,
    )

    expected = minimize(loss, prior, method="BFGS", options={"gtol": 1e-9}).x
    assert found == pytest.approx(expected, abs=1e-4)
    assert loss(found) <= loss(expected) + 1e-9


def test_rows_that_can_be_told_apart_leave_finite_weights() -> None:
    columns = np.array([[-1.0], [-2.0], [1.0], [2.0]])

    found = fit_logistic(
        columns,
        np.array([0.0, 0.0, 1.0, 1.0]),
        prior_mean=np.zeros(1),
        prior_precision=np.array([1e-6]),
    )

    assert np.isfinite(found).all()
    assert found[0] > 5
