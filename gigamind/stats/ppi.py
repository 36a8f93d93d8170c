"""The mean of a judged metric, corrected by the human labels that some of its items have, with an honest interval.

Prediction-powered inference with a tuned weight (PPI++): Angelopoulos, Duchi & Zrnic, "PPI++: Efficient
Prediction-Powered Inference", arXiv 2311.01453, 2023.  The mean of the verdicts alone is off by the judge's bias, and
an interval around it covers the truth far too seldom; labels alone are right but few.  The labelled items must be a
random sample of all.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from gigamind.stats.intervals import CONFIDENCE, Interval, Matrix

_LEAST = 2  # labels: a variance needs two


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """What a judged metric would be, had people labelled every item.

    Attributes:
        value: the corrected mean.
        interval: normal, cut to [0, 1].
        judged: mean of all verdicts, uncorrected.
        labelled: mean of the labels.
        labelled_interval: normal interval of the labels alone, cut to [0, 1].
        weight: how far the verdicts count, in [0, 1]: 0 is labels alone.
        labels: number of labels.
        items: number of verdicts, those of labelled items among them.
    """

    value: float
    interval: Interval
    judged: float
    labelled: float
    labelled_interval: Interval
    weight: float
    labels: int
    items: int


def corrected_mean(
    labels: Matrix, verdicts: Matrix, unlabelled: Matrix, *, confidence: float = CONFIDENCE
) -> CorrectedMean | None:
    """The mean over labelled and unlabelled items together; None with fewer than two labels.

    Args:
        labels: of n items, each in [0, 1].
        verdicts: of the same items, in the same order, each in [0, 1].
        unlabelled: verdicts of the other items; may be empty.
        confidence: of the intervals, in (0, 1).

    Raises:
        ValueError: labels and verdicts differ in length, or a value is not in [0, 1].
    """
    if labels.ndim != 1 or labels.shape != verdicts.shape:
        shapes = f"{labels.shape} and {verdicts.shape}"
        raise ValueError(f"labels and verdicts are two equally long vectors, not {shapes}")
    if not all(((values >= 0) & (values <= 1)).all() for values in (labels, verdicts, unlabelled)):
        raise ValueError("a label or verdict is not in [0, 1]")
    if labels.size < _LEAST:
        return None
    weight = _weight(labels, verdicts, unlabelled)
    rest = labels - weight * verdicts
    value, variance = float(rest.mean()), float(rest.var(ddof=1)) / labels.size
    if weight:
        value += weight * float(unlabelled.mean())
        variance += weight**2 * _variance(unlabelled) / unlabelled.size
    alone = float(labels.mean()), float(labels.var(ddof=1)) / labels.size
    return CorrectedMean(
        value=min(max(value, 0.0), 1.0),
        interval=_normal(value, variance, confidence),
        judged=float(np.concatenate([verdicts, unlabelled]).mean()),
        labelled=alone[0],
        labelled_interval=_normal(*alone, confidence),
        weight=weight,
        labels=labels.size,
        items=labels.size + unlabelled.size,
    )


def _weight(labels: Matrix, verdicts: Matrix, unlabelled: Matrix) -> float:
    """The weight with the smallest variance, cut to [0, 1] as in the paper."""
    spread = _variance(np.concatenate([verdicts, unlabelled]))
    if not unlabelled.size or not spread:
        return 0.0
    together = float(np.cov(labels, verdicts, ddof=1)[0, 1])
    best = together / ((1 + labels.size / unlabelled.size) * spread)
    return min(max(best, 0.0), 1.0)


def _variance(values: Matrix) -> float:
    """Sample variance; exactly 0 for equal values, and for one value, which says nothing of a spread."""
    if values.size < _LEAST or values.min() == values.max():
        return 0.0
    return float(values.var(ddof=1))


def _normal(value: float, variance: float, confidence: float) -> Interval:
    arm = NormalDist().inv_cdf((1 + confidence) / 2) * variance**0.5
    low, high = max(0.0, value - arm), min(1.0, value + arm)
    return Interval(min(low, 1.0), max(high, 0.0), confidence)
