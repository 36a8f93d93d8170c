"""Which items to label, and the mean that labels of a stratified sample estimate.

Strata and clusters are arrays of integers, one entry per item.  A cluster (an answer with its claims) is drawn as a
whole and belongs to one stratum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import CONFIDENCE, Clusters, Interval, Matrix, count, summed
from gigamind.stats.special import student_quantile

PILOT = 0.4  # share of the budget that is drawn in proportion to the strata
_LEAST = 2  # clusters per stratum, as a variance needs two
_SHRINKING = 4  # items with the pooled error rate that each stratum's rate is shrunk by
_CLIP = 0.5, 2.0  # bounds of an allocation, relative to the proportional one
_ADDED = 1.0  # pairs that are added to each stratum
_DISAGREEING = 0.35  # share of them in which label and verdict differ


@dataclass(frozen=True, slots=True)
class StratifiedMean:
    """The estimated mean if people had labelled every item."""

    value: float
    run: Interval  # of the mean over the items of this run
    interval: Interval  # of the mean over all items of this kind; never narrower
    weight: float  # weight of the verdicts, in [0, 1]


def proportional(sizes: Sequence[int], budget: int) -> list[int]:
    """Return how many clusters to draw per stratum: in proportion to its size, at least two, at most all."""
    return _rounded(sizes, sizes, budget)


def neyman(
    sizes: Sequence[int], drawn: Sequence[int], errors: Sequence[float], budget: int
) -> list[int]:
    """Return how many clusters to draw per stratum in total, given the pilot.

    The number is proportional to size * sqrt(e * (1 - e)) with the stratum's shrunk error rate e (Neyman 1934), and
    within 0.5 to 2 times the proportional one.

    Args:
        drawn: Labelled clusters of the pilot per stratum.
        errors: Sum of |label - verdict| over them, each in [0, 1].
        budget: Clusters to label in total, the pilot included.
    """
    pooled = sum(errors) / max(1, sum(drawn))
    rates = [
        (wrong + _SHRINKING * pooled) / (n + _SHRINKING)
        for wrong, n in zip(errors, drawn, strict=True)
    ]
    wanted = [size * (rate * (1 - rate)) ** 0.5 for size, rate in zip(sizes, rates, strict=True)]
    if not sum(wanted):
        return proportional(sizes, budget)
    fair = [budget * size / sum(sizes) for size in sizes]
    low, high = _CLIP
    scaled = [
        min(high * even, max(low * even, budget * one / sum(wanted)))
        for even, one in zip(fair, wanted, strict=True)
    ]
    chosen = _rounded(scaled, sizes, budget)
    return [max(n, done) for n, done in zip(chosen, drawn, strict=True)]


def _rounded(wanted: Sequence[float], sizes: Sequence[int], budget: int) -> list[int]:
    """Return whole numbers that add up to the budget if the bounds allow it: largest remainders first."""
    most, least = min(budget, sum(sizes)), _LEAST
    while least * len(sizes) > most and least:
        least -= 1
    chosen = [min(size, least) for size in sizes]
    shares = [most * one / (sum(wanted) or 1.0) for one in wanted]
    while sum(chosen) < most:
        gaps = [
            share - n if n < size else float("-inf")
            for share, n, size in zip(shares, chosen, sizes, strict=True)
        ]
        chosen[int(np.argmax(gaps))] += 1
    return chosen


def stratified_mean(
    labels: Matrix,
    verdicts: Matrix,
    labelled: npt.NDArray[np.intp],
    strata: Clusters,
    clusters: Clusters,
    *,
    confidence: float = CONFIDENCE,
    lowest: float = 0.0,
) -> StratifiedMean | None:
    """Return the mean over all items from labels of a stratified random sample of clusters, and from all verdicts.

    Stratified prediction-powered inference (Fisch et al., arXiv 2406.04291, 2024) with one tuned weight w (PPI++,
    arXiv 2311.01453): w * mean(verdict) + sum over strata of W * mean(label - w * verdict), with W the stratum's
    share of the items.  None if a stratum with items has no label, or none has labels in two clusters.

    One pair of label and verdict is added to each stratum, a third of it a disagreement.  So a stratum without an
    observed error has a width.  benchmarks/labels.py chose both numbers.

    Args:
        labels: Of the n labelled items, in [`lowest`, 1].
        verdicts: Of all N items.
        labelled: Indices of the labelled items in `verdicts`.
        strata: Of all items.
        clusters: Of all items.
        lowest: -1 for differences of two runs.
    """
    own, groups = strata[labelled], clusters[labelled]
    names = np.unique(strata)
    if not np.isin(names, own).all():
        return None
    shares = np.array([(strata == name).mean() for name in names])
    weight = _weight(labels, verdicts[labelled], own, names, shares)
    rest = labels - weight * verdicts[labelled]
    fitted, parts = weight * verdicts, list[tuple[float, float, int]]()
    for name, share in zip(names, shares, strict=True):
        here, all_here = own == name, strata == name
        spread, drawn = _spread(rest[here], groups[here], weight, verdicts[all_here])
        fitted = fitted + np.where(all_here, rest[here].mean(), 0.0)
        of = count(_dense(clusters[all_here]))
        parts.append((share**2 * spread * (1 - drawn / of), share**2 * spread, drawn - 1))
    if not any(degrees for _finite, _whole, degrees in parts):
        return None
    value = float(fitted.mean())
    middle = min(max(value, lowest), 1.0)
    sums = summed(fitted - value, _dense(clusters))
    between = float((sums * sums).sum()) / fitted.size**2

    def interval(variances: Sequence[float], more: float = 0.0) -> Interval:
        # Satterthwaite's degrees of freedom: a stratum with few labels and many errors decides the width.
        squares = sum(
            v * v / max(1, degrees) for v, (_f, _w, degrees) in zip(variances, parts, strict=True)
        )
        degrees = max(1, int(sum(variances) ** 2 / squares)) if squares else 1
        arm = student_quantile((1 + confidence) / 2, degrees) * (sum(variances) + more) ** 0.5
        return Interval(max(lowest, middle - arm), min(1.0, middle + arm), confidence)

    run = interval([finite for finite, _whole, _degrees in parts])
    kind = interval([whole for _finite, whole, _degrees in parts], between)
    return StratifiedMean(middle, run, kind, weight)


def _dense(clusters: Clusters) -> Clusters:
    return np.unique(clusters, return_inverse=True)[1]


def _weight(
    labels: Matrix, verdicts: Matrix, own: Clusters, names: Clusters, shares: Matrix
) -> float:
    """Return the weight of the verdicts with the smallest variance within the strata, cut to [0, 1]."""
    together = spread = 0.0
    for name, share in zip(names, shares, strict=True):
        here = own == name
        n = int(here.sum())
        if n > 1:
            v = verdicts[here] - verdicts[here].mean()
            together += share**2 * float((v * labels[here]).sum()) / (n * (n - 1))
            spread += share**2 * float((v * v).sum()) / (n * (n - 1))
    return min(max(together / spread, 0.0), 1.0) if spread > 0 else 1.0


def _spread(rest: Matrix, groups: Clusters, weight: float, verdicts: Matrix) -> tuple[float, int]:
    """Return the variance of the mean of a stratum's residuals, with the added pairs, and the number of clusters."""
    dense = _dense(groups)
    drawn = count(dense)
    each = rest.size / drawn  # a pair weighs as much as one cluster
    yes = float(verdicts.mean())
    pairs = np.array([1 - weight, 0.0, -weight, 1.0])
    right, wrong = _ADDED * (1 - _DISAGREEING), _ADDED * _DISAGREEING
    counts = np.array([right * yes, right * (1 - yes), wrong * yes, wrong * (1 - yes)])
    size = rest.size + each * _ADDED
    mean = float(rest.sum() + each * (counts * pairs).sum()) / size
    sums, g = summed(rest - mean, dense), drawn + _ADDED
    squares = float((sums * sums).sum()) + each**2 * float((counts * (pairs - mean) ** 2).sum())
    return squares / size**2 * g / (g - 1), drawn
