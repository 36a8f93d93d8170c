"""How far verdicts agree with labels: shares and kappas, each with a seeded bootstrap interval over items.

Shares near 0 or 1 have wider ones (bounded.py), and so has the mean of two of them.  Items of a cluster (clusters.py)
are drawn together.  The label is taken for the truth.  A figure that the items do not define (a sensitivity without a
positive label, a kappa of two columns of one value) is None, never 0 or 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot

import numpy as np
import numpy.typing as npt

from gigamind.stats.bounded import is_rough
from gigamind.stats.clusters import Clusters, effective_items, numbered
from gigamind.stats.estimate import Booleans, Estimate, Figure, estimates, ratio
from gigamind.stats.intervals import Interval, Matrix
from gigamind.stats.proportion import wilson_of_mean

_NOTHING = 1e-12  # relative to the squares summed: a spread of equal values, up to rounding


def binary_agreement(
    labels: Booleans,
    verdicts: Booleans,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
) -> dict[str, Estimate]:
    """accuracy, balanced_accuracy, sensitivity, specificity and cohen_kappa of verdicts on the same items.

    True is the positive class.  Cohen's kappa is agreement beyond that of two raters who answer as often in the
    positive, but at random: Cohen, Educational and Psychological Measurement 20, 1960.

    Raises:
        ValueError: the two, or the clusters of the items, differ in length.
    """
    _check_pairs(labels, verdicts)
    rows = np.stack(
        [labels & verdicts, ~labels & verdicts, labels & ~verdicts, ~labels & ~verdicts], axis=1
    ).astype(np.float64)
    everything = np.ones_like(labels)
    figures: dict[str, tuple[Figure, Booleans]] = {
        "accuracy": (_accuracy, everything),
        "balanced_accuracy": (_balanced_accuracy, everything),
        "sensitivity": (_sensitivity, labels),
        "specificity": (_specificity, ~labels),
        "cohen_kappa": (_kappa, everything),
    }
    shares = ("accuracy", "sensitivity", "specificity")
    found = estimates(rows, figures, seed=seed, label=label, shares=shares, clusters=clusters)
    sizes = [_size(stands, clusters) for stands in (labels, ~labels)]
    share = float(labels.mean()) if labels.size else 0.0
    kappa = _perfect(found["cohen_kappa"], 2 * share * (1 - share), _size(everything, clusters))
    return found | {"balanced_accuracy": _balanced(found, sizes), "cohen_kappa": kappa}


def graded_agreement(
    labels: Matrix,
    verdicts: Matrix,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
) -> dict[str, Estimate]:
    """quadratic_kappa, mean_absolute_error and mean_error (verdict - label) of graded verdicts on the same items.

    With quadratic weights, expected disagreement is that of independent draws from the two columns, so kappa is
    1 - mean((v - l)^2) / (var v + var l + (mean v - mean l)^2): defined without levels, and on levels equal to Cohen's
    weighted kappa, Psychological Bulletin 70, 1968.

    Raises:
        ValueError: the two, or the clusters of the items, differ in length, or a value is not finite.
    """
    _check_pairs(labels, verdicts)
    if not (np.isfinite(labels).all() and np.isfinite(verdicts).all()):
        raise ValueError("not a finite number among the graded labels and verdicts")
    middle = float(labels.mean()) if labels.size else 0.0  # cancels; keeps the squares small
    l, v = labels - middle, verdicts - middle  # noqa: E741
    ones = np.ones_like(l)
    rows = np.stack([ones, l, v, l * l, v * v, l * v, np.abs(v - l)], axis=1)
    everything = np.ones(l.size, dtype=np.bool_)
    figures: dict[str, tuple[Figure, Booleans]] = {
        "quadratic_kappa": (_quadratic_kappa, everything),
        "mean_absolute_error": (lambda sums: sums[:, 6] / sums[:, 0], everything),
        "mean_error": (lambda sums: (sums[:, 2] - sums[:, 1]) / sums[:, 0], everything),
    }
    found = estimates(rows, figures, seed=seed, label=label, clusters=clusters)
    spread = 2 * float(l.var()) if l.size else 0.0
    kappa = _perfect(found["quadratic_kappa"], spread, _size(everything, clusters))
    return found | {"quadratic_kappa": kappa}


def _perfect(kappa: Estimate, by_chance: float, size: float) -> Estimate:
    """A kappa of 1 with an interval, for draws of items that all agree know nothing of those that do not.

    At worst, the disagreement is the highest that Wilson allows for none of so many items, each by all of the scale.

    Args:
        by_chance: disagreement that is expected by chance, more than 0 where kappa is defined.
        size: as how many independent items they count.
    """
    if kappa.value is None or kappa.value < 1 - _NOTHING or kappa.interval or kappa.clusters <= 1:
        return kappa
    most = 1 - wilson_of_mean(1.0, size).low
    return replace(kappa, interval=Interval(max(-1.0, 1 - most / by_chance), 1.0))


def _accuracy(sums: Matrix) -> Matrix:
    tp, _, _, tn = sums.T
    return (tp + tn) / sums.sum(axis=1)


def _sensitivity(sums: Matrix) -> Matrix:
    tp, _, fn, _ = sums.T
    return ratio(tp, tp + fn)


def _specificity(sums: Matrix) -> Matrix:
    _, fp, _, tn = sums.T
    return ratio(tn, tn + fp)


def _balanced_accuracy(sums: Matrix) -> Matrix:
    return (_sensitivity(sums) + _specificity(sums)) / 2


def _kappa(sums: Matrix) -> Matrix:
    """(observed - chance) / (1 - chance), times n^2 so that whole numbers stay whole."""
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


def _balanced(found: Mapping[str, Estimate], sizes: Sequence[float]) -> Estimate:
    """With an interval that also knows that one of the two shares may be near 0 or 1, or stand on one cluster.

    Arms of independent figures add by their squares, each side by itself: Zou & Donner, "Construction of confidence
    limits about effect measures", Statistics in Medicine 27, 2008.
    """
    balanced, rough, below, above = found["balanced_accuracy"], False, 0.0, 0.0
    if balanced.value is None:
        return balanced
    for name, size in zip(("sensitivity", "specificity"), sizes, strict=True):
        value, interval = found[name].value, found[name].interval
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


def _check_pairs(labels: npt.NDArray[np.generic], verdicts: npt.NDArray[np.generic]) -> None:
    if labels.ndim != 1 or labels.shape != verdicts.shape:
        shapes = f"{labels.shape} and {verdicts.shape}"
        raise ValueError(f"labels and verdicts are two equally long vectors, not {shapes}")
