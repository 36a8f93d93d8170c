"""How good probabilities are: do they put the true items first, and how far are they from the truth?

Whether what they promise comes true is asked in stats/agreement.py.
Input is, for each item, the probability of being positive, in [0, 1], and whether it is.
"""

from collections.abc import Sequence

import numpy as np


def auc(probabilities: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Chance that a positive item has a higher probability than a negative one, ties counting half, in [0, 1].

    None without both kinds of items.
    """
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
    """Mean squared distance from the truth, in [0, 1], 0 best, of at least one item."""
    distance = np.asarray(probabilities, dtype=float) - np.asarray(positive, dtype=float)
    return float((distance**2).mean())
