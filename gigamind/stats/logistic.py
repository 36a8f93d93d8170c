"""Fit logistic regression with a Gaussian prior on the weights."""

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_MOST_ODDS = 30.0  # log odds; beyond, a probability is 0 or 1 within float precision
_ROUNDS = 50  # about six are needed
_SETTLED = 1e-9


def _sigmoid(odds: _Floats) -> _Floats:
    """Return the probabilities of log odds."""
    return 1 / (1 + np.exp(-np.clip(odds, -_MOST_ODDS, _MOST_ODDS)))


def fit_logistic(
    features: _Floats,
    labels: _Floats,
    *,
    prior_mean: _Floats,
    prior_precision: _Floats,
    label_frequency: _Floats | float = 1.0,
    sample_weight: _Floats | float = 1.0,
    offset: _Floats | float = 0.0,
) -> _Floats:
    """Return MAP logistic regression weights, shape (weights,), by Fisher scoring: Newton's if all labels are known.

    Args:
        features: shape (rows, weights); all other arguments about rows have the shape (rows,).
        prior_precision: of the Gaussian prior, shape (weights,); 0 leaves a weight unregularised.
        label_frequency: probability that a positive row is labelled, in (0, 1]: Elkan & Noto, KDD 2008.
        offset: fixed log odds of a row.
    """
    weights: _Floats = prior_mean.copy()

    def loss(at: _Floats) -> float:
        chance = label_frequency * _sigmoid(features @ at + offset)
        log_likelihood = labels * np.log(chance) + (1 - labels) * np.log1p(-chance)
        penalty = np.sum(prior_precision * (at - prior_mean) ** 2) / 2
        return float(-np.sum(sample_weight * log_likelihood) + penalty)

    for _ in range(_ROUNDS):
        chance = _sigmoid(features @ weights + offset)
        expected = label_frequency * chance
        slopes = expected * (1 - chance)
        spreads = expected * (1 - expected) / sample_weight
        residuals = slopes / spreads * (expected - labels)
        gradient = features.T @ residuals + prior_precision * (weights - prior_mean)
        information = (features * (slopes**2 / spreads)[:, None]).T @ features
        step = np.linalg.solve(information + np.diag(prior_precision), gradient).astype(np.float64)
        most = loss(weights) + _SETTLED
        while loss(weights - step) > most:
            step /= 2  # a whole step may lead too far
        weights = weights - step
        if abs(step).max() < _SETTLED:
            break
    return weights
