"""How good probabilities are: do they put the true items first, and does what they promise come true?

Input is, for each item, the probability of being positive, in [0, 1], and whether it is.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata  # pyright: ignore[reportUnknownVariableType]

BINS = 10


def auc(probabilities: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Chance that a positive item has a higher probability than a negative one, ties counting half, in [0, 1].

    None without both kinds of items.
    """
    truth = np.asarray(positive, dtype=bool)
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not (positives and negatives):
        return None
    ranks = np.asarray(rankdata(probabilities), dtype=np.float64)[truth].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))


def brier(probabilities: Sequence[float], positive: Sequence[bool]) -> float:
    """Mean squared distance from the truth, in [0, 1], 0 best, of at least one item."""
    distance = np.asarray(probabilities, dtype=float) - np.asarray(positive, dtype=float)
    return float((distance**2).mean())


def expected_calibration_error(probabilities: Sequence[float], positive: Sequence[bool]) -> float:
    """Mean distance between promised and true share over ten bins of equal width, by items, in [0, 1], 0 best.

    Of at least one item; after Naeini et al., AAAI 2015.
    """
    promised = np.asarray(probabilities, dtype=float)
    truth = np.asarray(positive, dtype=float)
    bins = np.minimum((promised * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=truth - promised, minlength=BINS)
    return float(np.abs(gaps).sum() / len(truth))
