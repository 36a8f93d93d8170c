"""Agreement of verdicts with labels, taken as the truth: shares and kappas, with seeded bootstrap intervals over items.

Items of a cluster (intervals.py) are resampled together.  Intervals of shares near 0 or 1 are widened.  Undefined
figures (a sensitivity without a positive label, a kappa of constant columns) are None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, hypot

import numpy as np
import numpy.typing as npt

from gigamind.stats.estimate import Booleans, Estimate, Figure, estimates, ratio
from gigamind.stats.intervals import (
    Clusters,
    Interval,
    Matrix,
    check_lengths,
    effective_items,
    is_rough,
    numbered,
    wilson_of_mean,
)

_NOTHING = 1e-12  # relative to the sum of squares: rounding error of a constant column


def binary_agreement(
    labels: Booleans, verdicts: Booleans, *, seed: int, label: str, clusters: Clusters | None = None
) -> dict[str, Estimate]:
    """Return accuracy, balanced_accuracy, sensitivity, specificity and cohen_kappa (Cohen 1960); True is positive.

    Raises:
        ValueError: the lengths of labels, verdicts or clusters differ.
    """
    check_lengths("labels and verdicts", labels, verdicts)
    rows = np.stack(
        [labels & verdicts, ~labels & verdicts, labels & ~verdicts, ~labels & ~verdicts], axis=1
    ).astype(np.float64)
    everything = np.ones_like(labels)

    def sensitivity(sums: Matrix) -> Matrix:
        return ratio(sums[:, 0], sums[:, 0] + sums[:, 2])

    def specificity(sums: Matrix) -> Matrix:
        return ratio(sums[:, 3], sums[:, 3] + sums[:, 1])

    figures: dict[str, tuple[Figure, Booleans]] = {
        "accuracy": (lambda sums: (sums[:, 0] + sums[:, 3]) / sums.sum(axis=1), everything),
        "balanced_accuracy": (lambda s: (sensitivity(s) + specificity(s)) / 2, everything),
        "sensitivity": (sensitivity, labels),
        "specificity": (specificity, ~labels),
        "cohen_kappa": (_kappa, everything),
    }
    shares = ("accuracy", "sensitivity", "specificity")
    measured = estimates(rows, figures, seed=seed, label=label, shares=shares, clusters=clusters)
    sizes = [_size(stands, clusters) for stands in (labels, ~labels)]
    share = float(labels.mean()) if labels.size else 0.0
    kappa = _perfect(measured["cohen_kappa"], 2 * share * (1 - share), _size(everything, clusters))
    return measured | {"balanced_accuracy": _balanced(measured, sizes), "cohen_kappa": kappa}


def graded_agreement(
    labels: Matrix, verdicts: Matrix, *, seed: int, label: str, clusters: Clusters | None = None
) -> dict[str, Estimate]:
    """Return quadratic_kappa, mean_absolute_error and mean_error (verdict - label) of graded verdicts.

    kappa = 1 - mean((v - l)^2) / (var v + var l + (mean v - mean l)^2).  It needs no levels, and on levels equals
    Cohen's weighted kappa, Psychological Bulletin 70, 1968.

    Raises:
        ValueError: the lengths of labels, verdicts or clusters differ, or a value is not finite.
    """
    check_lengths("labels and verdicts", labels, verdicts)
    if not (np.isfinite(labels).all() and np.isfinite(verdicts).all()):
        raise ValueError("not a finite number among the graded labels and verdicts")
    middle = float(labels.mean()) if labels.size else 0.0  # cancels; keeps the squares small
    l, v = labels - middle, verdicts - middle  # noqa: E741
    unit = np.ones_like(l)
    rows = np.stack([unit, l, v, l * l, v * v, l * v, np.abs(v - l)], axis=1)
    everything = np.ones(l.size, dtype=np.bool_)
    figures: dict[str, tuple[Figure, Booleans]] = {
        "quadratic_kappa": (_quadratic_kappa, everything),
        "mean_absolute_error": (lambda sums: sums[:, 6] / sums[:, 0], everything),
        "mean_error": (lambda sums: (sums[:, 2] - sums[:, 1]) / sums[:, 0], everything),
    }
    measured = estimates(rows, figures, seed=seed, label=label, clusters=clusters)
    spread = 2 * float(l.var()) if l.size else 0.0
    kappa = _perfect(measured["quadratic_kappa"], spread, _size(everything, clusters))
    return measured | {"quadratic_kappa": kappa}


def _perfect(kappa: Estimate, by_chance: float, size: float) -> Estimate:
    """Return a kappa of 1 with an interval, which resampling of items that all agree cannot give.

    The lower end assumes the highest disagreement that Wilson's interval allows for 0 of `size` effective items, each
    by the whole scale.  `by_chance` is the disagreement expected by chance, above 0 if kappa is defined.
    """
    if kappa.value is None or kappa.value < 1 - _NOTHING or kappa.interval or kappa.clusters <= 1:
        return kappa
    most = 1 - wilson_of_mean(1.0, size).low
    return replace(kappa, interval=Interval(max(-1.0, 1 - most / by_chance), 1.0))


def _kappa(sums: Matrix) -> Matrix:
    """Return (observed - chance) / (1 - chance), scaled by n^2 so that integers stay integers."""
    tp, fp, fn, tn = sums.T
    n = sums.sum(axis=1)
    chance = (tp + fp) * (tp + fn) + (tn + fn) * (tn + fp)
    return ratio((tp + tn) * n - chance, n * n - chance)


def _quadratic_kappa(sums: Matrix) -> Matrix:
    n, l, v, ll, vv, lv = sums.T[:6]  # noqa: E741
    observed = n * (ll + vv - 2 * lv)
    expected = n * (ll + vv) - 2 * l * v
    scale = n * (ll + vv) + l * l + v * v
    return ratio(expected - observed, np.where(expected <= _NOTHING * scale, 0.0, expected))


def _balanced(measured: Mapping[str, Estimate], sizes: Sequence[float]) -> Estimate:
    """Return the mean of two shares with an interval that allows for shares near 0 or 1 or with a single cluster.

    Distances of independent figures add as squares, each side separately: Zou & Donner, "Construction of confidence
    limits about effect measures", Statistics in Medicine 27, 2008.
    """
    balanced, rough, below, above = measured["balanced_accuracy"], False, 0.0, 0.0
    if balanced.value is None:
        return balanced
    for name, size in zip(("sensitivity", "specificity"), sizes, strict=True):
        value, interval = measured[name].value, measured[name].interval
        if value is None or interval is None:
            return replace(balanced, interval=None)
        rough = rough or is_rough(interval, value, size)
        below, above = hypot(below, value - interval.low), hypot(above, interval.high - value)
    if balanced.interval is not None and not rough:
        return balanced
    drawn = balanced.interval or Interval(balanced.value, balanced.value)
    low, high = balanced.value - below / 2, balanced.value + above / 2
    return replace(balanced, interval=Interval(min(drawn.low, low), max(drawn.high, high)))


def _size(stands: Booleans, clusters: Clusters | None) -> float:
    groups = numbered(clusters, stands.size)[stands]
    return effective_items(groups) if groups.size else 0.0


BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Items with a confidence in [low, high), or [low, high] in the last bin."""

    low: float
    high: float
    confidence: float | None  # mean confidence of its items; None without items
    # share of correct items, with its Wilson interval. Bins have few items, often all correct or all wrong, for which
    # a bootstrap interval has no width. Items of a cluster count as equal here.
    outcome: Estimate


@dataclass(frozen=True, slots=True)
class Reliability:
    """Calibration of confidences."""

    brier: Estimate  # mean of (confidence - outcome)^2, 0 best (Monthly Weather Review 78, 1950)
    calibration_error: Estimate  # ECE, weighted by items; biased upwards with few per bin
    bins: tuple[ReliabilityBin, ...]  # all bins from low to high, empty ones included


def reliability(
    confidences: Matrix,
    outcomes: Booleans,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    bins: int = BINS,
) -> Reliability:
    """Return the calibration of confidences on the same items as the outcomes, over bins of equal width.

    Raises:
        ValueError: the lengths of the arguments differ, or a confidence is not in [0, 1].
    """
    check_lengths("confidences and outcomes", confidences, outcomes)
    if not ((confidences >= 0) & (confidences <= 1)).all():
        raise ValueError("a confidence is not in [0, 1]")
    right = outcomes.astype(np.float64)
    inside = (_places(confidences, bins)[:, np.newaxis] == np.arange(bins)).astype(np.float64)
    rows = np.column_stack(
        [
            (confidences - right) ** 2,
            inside,
            inside * confidences[:, np.newaxis],
            inside * right[:, np.newaxis],
        ]
    )
    groups = numbered(clusters, len(rows))
    everything = np.ones_like(outcomes)

    def error(sums: Matrix) -> Matrix:
        confidence, hits = sums[:, 1 + bins : 1 + 2 * bins], sums[:, 1 + 2 * bins :]
        return np.abs(confidence - hits).sum(axis=1) / sums[:, 1 : 1 + bins].sum(axis=1)

    figures: dict[str, tuple[Figure, Booleans]] = {
        "brier": (lambda sums: sums[:, 0] / sums[:, 1 : 1 + bins].sum(axis=1), everything),
        "calibration_error": (error, everything),
    }
    measured = estimates(rows, figures, seed=seed, label=label, shares={"brier"}, clusters=groups)
    by_confidence = reliability_bins(confidences, outcomes, clusters=groups, bins=bins)
    return Reliability(measured["brier"], measured["calibration_error"], by_confidence)


def _places(confidences: Matrix, bins: int) -> npt.NDArray[np.intp]:
    """Return the bin of each confidence; unlike with linspace (0.30000000000000004), 0.3 starts a bin."""
    edges = np.arange(bins + 1) / bins
    return np.clip(np.searchsorted(edges, confidences, side="right") - 1, 0, bins - 1)


def reliability_bins(
    confidences: Matrix, outcomes: Booleans, *, clusters: Clusters | None = None, bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Return bins of equal width, from low to high, with the share of correct items for each confidence."""
    places, groups = _places(confidences, bins), numbered(clusters, len(confidences))
    inside = [places == place for place in range(bins)]
    return tuple(
        ReliabilityBin(
            low=place / bins,
            high=(place + 1) / bins,
            confidence=fsum(confidences[own]) / int(own.sum()) if own.any() else None,
            outcome=Estimate.share(int(outcomes[own].sum()), int(own.sum()), groups[own]),
        )
        for place, own in enumerate(inside)
    )


def expected_calibration_error(bins: Sequence[ReliabilityBin]) -> float | None:
    """Return the mean distance of confidence and share correct, in [0, 1], 0 best (Naeini et al. 2015), if any."""
    gaps = [
        confidence_bin.outcome.n * abs(confidence_bin.confidence - confidence_bin.outcome.value)
        for confidence_bin in bins
        if confidence_bin.confidence is not None and confidence_bin.outcome.value is not None
    ]
    return fsum(gaps) / sum(confidence_bin.outcome.n for confidence_bin in bins) if gaps else None
