"""Quality of probabilities of being positive, in [0, 1]: ranking (AUC) and squared error (Brier)."""

from collections.abc import Sequence

import numpy as np


def auc(probabilities: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return the probability, ties counting half, that a positive item scores above a negative; None without both."""
    truth = np.asarray(positive, dtype=bool)
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not (positives and negatives):
        return None
    _, value_of, times = np.unique(probabilities, return_inverse=True, return_counts=True)
    # From 1; equal values share the mean of their ranks.
    ranks = np.cumsum(times) - (times - 1) / 2
    above = ranks[value_of][truth].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def brier(probabilities: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the mean squared error, in [0, 1], 0 best, of at least one item."""
    distance = np.asarray(probabilities, dtype=float) - np.asarray(positive, dtype=float)
    return float((distance**2).mean())
