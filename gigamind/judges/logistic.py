"""Logistic regression with a ridge penalty, fitted to the same coefficients every time."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize  # pyright: ignore[reportUnknownVariableType]

Matrix = npt.NDArray[np.float64]
_DIGITS = 6  # of a coefficient: more depends on the machine's own sums, and helps nobody who reads the file
_CLOSE = 1e-9  # gradient at which the optimum is reached


@dataclass(frozen=True, slots=True)
class Logistic:
    """Coefficients of standardised features, rounded to six digits.

    Attributes:
        mean, scale, weights: shape (features,); a feature adds weight * (value - mean) / scale to the log-odds.
    """

    mean: Matrix
    scale: Matrix
    weights: Matrix
    intercept: float

    def probabilities(self, features: Matrix) -> Matrix:
        """Of each row of `features`, shape (rows,), in [0, 1]."""
        odds: Matrix = ((features - self.mean) / self.scale) @ self.weights + self.intercept
        return _sigmoid(odds)


def fit_logistic(features: Matrix, positive: Matrix, ridge: float) -> Logistic:
    """The least negative log-likelihood plus ridge / 2 * squared weights; the intercept goes free.

    Args:
        features: shape (rows, features); a constant one gets the scale 1 and the weight 0.
        positive: shape (rows,), 1.0 or 0.0, both present.
        ridge: above 0, so that there is exactly one optimum.
    """
    mean: Matrix = features.mean(axis=0).round(_DIGITS)
    spread: Matrix = features.std(axis=0).round(_DIGITS)
    scale: Matrix = np.where(spread > 0, spread, 1.0)
    standard: Matrix = (features - mean) / scale

    def loss(at: Matrix) -> tuple[float, Matrix]:
        odds: Matrix = standard @ at[1:] + at[0]
        value = float(np.logaddexp(0, odds).sum() - positive @ odds)
        error = _sigmoid(odds) - positive
        slope = np.concatenate([np.atleast_1d(error.sum()), standard.T @ error + ridge * at[1:]])
        return value + ridge / 2 * float(at[1:] @ at[1:]), slope

    start = np.zeros(features.shape[1] + 1)
    options = {"gtol": _CLOSE, "ftol": 0.0, "maxiter": 10_000, "maxfun": 100_000}
    optimum = cast("Any", minimize(loss, start, jac=True, method="L-BFGS-B", options=options))
    found: Matrix = np.asarray(optimum.x, dtype=np.float64).round(_DIGITS)
    return Logistic(mean, scale, found[1:], float(found[0]))


def _sigmoid(odds: Matrix) -> Matrix:
    falling: Matrix = np.logaddexp(0, -odds)  # exp(-odds) alone overflows
    return np.exp(-falling)
