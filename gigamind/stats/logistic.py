"""The likeliest weights of a logistic function, each held to what is known of it before."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_MOST_ODDS = 30.0  # log odds: beyond, a chance is 0 or 1 to the last digit but three
_ROUNDS = 50  # of which about six are needed
_SETTLED = 1e-9


def sigmoid(odds: Floats) -> Floats:
    """Chances of log odds."""
    return 1 / (1 + np.exp(-np.clip(odds, -_MOST_ODDS, _MOST_ODDS)))


def likeliest_weights(
    columns: Floats,
    positive: Floats,
    prior: Floats,
    held: Floats,
    *,
    seen: Floats | float = 1.0,
    counts: Floats | float = 1.0,
    offset: Floats | float = 0.0,
) -> Floats:
    """The weights under which the rows are likeliest, by Fisher scoring: Newton's method where all is seen.

    Args:
        columns: shape (rows, weights).
        positive: 1 or 0, shape (rows,).
        prior: shape (weights,), with the precision `held`; 0 lets a weight go free.
        seen: the chance that a positive row is known to be one, in (0, 1]; shape (rows,).
        counts: how much a row counts; shape (rows,).
        offset: log odds that a row has already; shape (rows,).

    Returns:
        Shape (weights,).
    """
    weights: Floats = prior.copy()

    def loss(at: Floats) -> float:
        chance = seen * sigmoid(columns @ at + offset)
        nats = positive * np.log(chance) + (1 - positive) * np.log1p(-chance)
        return float(-np.sum(counts * nats) + np.sum(held * (at - prior) ** 2) / 2)

    for _ in range(_ROUNDS):
        chance = sigmoid(columns @ weights + offset)
        expected = seen * chance
        slopes = expected * (1 - chance)
        spreads = expected * (1 - expected) / counts
        gradient = columns.T @ (slopes / spreads * (expected - positive)) + held * (weights - prior)
        curved = (columns * (slopes**2 / spreads)[:, None]).T @ columns
        step = np.linalg.solve(curved + np.diag(held), gradient).astype(np.float64)
        most = loss(weights) + _SETTLED
        while loss(weights - step) > most:
            step /= 2  # a whole step may lead too far
        weights = weights - step
        if abs(step).max() < _SETTLED:
            break
    return weights
