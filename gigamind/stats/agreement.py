"""Agreement of verdicts with labels, taken as the truth: shares and kappas, with seeded bootstrap intervals over items.

Items of a cluster (intervals.py) are resampled together.  Intervals of shares near 0 or 1 are widened.  Undefined
figures (a sensitivity without a positive label, a kappa of constant columns) are None.
`krippendorff_alpha` compares raters, `corrected_mean` corrects the mean of all verdicts by the labels of some, and
`variance_components` splits the variance of scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, hypot

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import (
    CONFIDENCE,
    Booleans,
    Clusters,
    Estimate,
    Figure,
    Interval,
    Matrix,
    count,
    effective_items,
    is_single,
    numbered,
    ratio,
    summed,
)
from gigamind.stats.special import student_quantile

_NOTHING = 1e-12  # relative to the sum of squares: rounding error of a constant column


def _check_lengths(
    what: str, left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]
) -> None:
    """Check that two vectors belong to the same items.

    Raises:
        ValueError: they differ in length or are no vectors; `what` names both.
    """
    if left.ndim != 1 or left.shape != right.shape:
        shapes = f"{left.shape} and {right.shape}"
        raise ValueError(f"{what} are two equally long vectors, not {shapes}")


def binary_agreement(
    labels: Booleans,
    verdicts: Booleans,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    weights: Matrix | None = None,
) -> dict[str, Estimate]:
    """Return accuracy, balanced_accuracy, sensitivity, specificity and cohen_kappa (Cohen 1960); True is positive.

    `weights` are inverse chances of being labelled; None if all items had the same chance.

    Raises:
        ValueError: the lengths of labels, verdicts or clusters differ.
    """
    _check_lengths("labels and verdicts", labels, verdicts)
    rows = np.stack(
        [labels & verdicts, ~labels & verdicts, labels & ~verdicts, ~labels & ~verdicts], axis=1
    ).astype(np.float64)
    rows = rows if weights is None else rows * weights[:, np.newaxis]
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
    measured = Estimate.of_figures(
        rows, figures, seed=seed, label=label, shares=shares, clusters=clusters
    )
    sizes = [_size(stands, clusters) for stands in (labels, ~labels)]
    share = float(labels.mean()) if labels.size else 0.0
    kappa = _perfect(measured["cohen_kappa"], 2 * share * (1 - share), _size(everything, clusters))
    return measured | {"balanced_accuracy": _balanced(measured, sizes), "cohen_kappa": kappa}


def graded_agreement(
    labels: Matrix,
    verdicts: Matrix,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    weights: Matrix | None = None,
) -> dict[str, Estimate]:
    """Return quadratic_kappa, mean_absolute_error and mean_error (verdict - label) of graded verdicts.

    kappa = 1 - mean((v - l)^2) / (var v + var l + (mean v - mean l)^2).  It needs no levels, and on levels equals
    Cohen's weighted kappa, Psychological Bulletin 70, 1968.  `weights` as for `binary_agreement`.

    Raises:
        ValueError: the lengths of labels, verdicts or clusters differ, or a value is not finite.
    """
    _check_lengths("labels and verdicts", labels, verdicts)
    if not (np.isfinite(labels).all() and np.isfinite(verdicts).all()):
        raise ValueError("not a finite number among the graded labels and verdicts")
    middle = float(labels.mean()) if labels.size else 0.0  # cancels; keeps the squares small
    l, v = labels - middle, verdicts - middle  # noqa: E741
    unit = np.ones_like(l)
    rows = np.stack([unit, l, v, l * l, v * v, l * v, np.abs(v - l)], axis=1)
    rows = rows if weights is None else rows * weights[:, np.newaxis]
    everything = np.ones(l.size, dtype=np.bool_)
    figures: dict[str, tuple[Figure, Booleans]] = {
        "quadratic_kappa": (_quadratic_kappa, everything),
        "mean_absolute_error": (lambda sums: sums[:, 6] / sums[:, 0], everything),
        "mean_error": (lambda sums: (sums[:, 2] - sums[:, 1]) / sums[:, 0], everything),
    }
    measured = Estimate.of_figures(rows, figures, seed=seed, label=label, clusters=clusters)
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
    most = 1 - Interval.wilson_of_mean(1.0, size).low
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
        rough = rough or interval.is_rough(value, size)
        below, above = hypot(below, value - interval.low), hypot(above, interval.high - value)
    if balanced.interval is not None and not rough:
        return balanced
    drawn = balanced.interval or Interval(balanced.value, balanced.value)
    low, high = balanced.value - below / 2, balanced.value + above / 2
    return replace(balanced, interval=Interval(min(drawn.low, low), max(drawn.high, high)))


def _size(stands: Booleans, clusters: Clusters | None) -> float:
    groups = numbered(clusters, stands.size)[stands]
    return effective_items(groups) if groups.size else 0.0


_BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Items with a confidence in [low, high), or [low, high] in the last bin."""

    low: float
    high: float
    confidence: float | None  # mean confidence of its items; None without items
    # share of correct items, with its Wilson interval. Bins have few items, often all correct or all wrong, for which
    # a bootstrap interval has no width. Items of a cluster count as equal here.
    outcome: Estimate


def reliability(
    confidences: Matrix,
    outcomes: Booleans,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
) -> tuple[dict[str, Estimate], tuple[ReliabilityBin, ...]]:
    """Return the calibration of confidences on the same items as the outcomes: brier, calibration_error, and all bins.

    brier is the mean of (confidence - outcome)^2, 0 best (Monthly Weather Review 78, 1950). calibration_error is
    weighted by items (ECE) and biased upwards with few per bin.

    Raises:
        ValueError: the lengths of the arguments differ, or a confidence is not in [0, 1].
    """
    _check_lengths("confidences and outcomes", confidences, outcomes)
    if not ((confidences >= 0) & (confidences <= 1)).all():
        raise ValueError("a confidence is not in [0, 1]")
    right = outcomes.astype(np.float64)
    inside = (_places(confidences)[:, np.newaxis] == np.arange(_BINS)).astype(np.float64)
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
        confidence, hits = sums[:, 1 + _BINS : 1 + 2 * _BINS], sums[:, 1 + 2 * _BINS :]
        return np.abs(confidence - hits).sum(axis=1) / sums[:, 1 : 1 + _BINS].sum(axis=1)

    figures: dict[str, tuple[Figure, Booleans]] = {
        "brier": (lambda sums: sums[:, 0] / sums[:, 1 : 1 + _BINS].sum(axis=1), everything),
        "calibration_error": (error, everything),
    }
    measured = Estimate.of_figures(
        rows, figures, seed=seed, label=label, shares={"brier"}, clusters=groups
    )
    return measured, reliability_bins(confidences, outcomes, clusters=groups)


def _places(confidences: Matrix) -> npt.NDArray[np.intp]:
    """Return the bin of each confidence; unlike with linspace (0.30000000000000004), 0.3 starts a bin."""
    edges = np.arange(_BINS + 1) / _BINS
    return np.clip(np.searchsorted(edges, confidences, side="right") - 1, 0, _BINS - 1)


def reliability_bins(
    confidences: Matrix, outcomes: Booleans, *, clusters: Clusters | None = None
) -> tuple[ReliabilityBin, ...]:
    """Return bins of equal width, from low to high, with the share of correct items for each confidence."""
    places, groups = _places(confidences), numbered(clusters, len(confidences))
    inside = [places == place for place in range(_BINS)]
    return tuple(
        ReliabilityBin(
            low=place / _BINS,
            high=(place + 1) / _BINS,
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


def krippendorff_alpha(ratings: Matrix) -> float | None:
    """Return the chance-corrected agreement of any number of raters; None if no two values pair, or all are equal.

    alpha = 1 - observed / expected disagreement over all pairs of values within items, for nominal values; 1 is
    perfect, 0 is chance (Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011).

    Args:
        ratings: n items x m raters; NaN for a missing rating.  Items with fewer than two values do not count.
    """
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    levels = np.unique(pairable[~np.isnan(pairable)])
    counts = np.array([(pairable == value).sum(axis=1) for value in levels], dtype=np.float64)
    n, expected = counts.sum(), counts.sum() ** 2 - (counts.sum(axis=-1) ** 2).sum()
    if len(levels) <= 1:
        return None
    agreed = ((counts * (counts - 1)).sum(axis=0) / (counts.sum(axis=0) - 1)).sum()
    return float(1 - (n - agreed) * (n - 1) / expected)


_LEAST = 2  # clusters, as a variance needs two
_AGREEING, _DISAGREEING = 1.0, 0.25  # added pairs of each of two kinds
_ADDED = 2 * (_AGREEING + _DISAGREEING)


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """The estimated mean if people had labelled every item."""

    value: float  # the corrected mean
    interval: Interval  # by Student's t with a few pairs added, cut to [0, 1]
    judged: float  # mean of all verdicts, uncorrected
    labelled: float  # mean of the labels
    labelled_interval: Interval  # of the labels alone, by the same method
    weight: float  # weight of the verdicts, in [0, 1]; 0 uses labels alone
    labels: int  # number of labels
    items: int  # number of verdicts, labelled items included
    label_clusters: int  # clusters with a labelled item
    item_clusters: int  # clusters of all items


def corrected_mean(
    labels: Matrix,
    verdicts: Matrix,
    unlabelled: Matrix,
    *,
    confidence: float = CONFIDENCE,
    clusters: Clusters | None = None,
) -> CorrectedMean | None:
    """Return the mean over labelled and unlabelled items; None with labels in fewer than two clusters.

    Prediction-powered inference with a tuned weight (PPI++): Angelopoulos, Duchi & Zrnic, arXiv 2311.01453, 2023. The
    labelled items must be a random sample of all, or of a random sample of clusters. Variances are cluster-robust.

    Near 0 and 1, and with few observed errors, normal intervals are too narrow. Therefore a few pairs are added: one
    of label and verdict 1, one of 0 and 0, and a quarter each of the two disagreements.  Agresti & Coull (American
    Statistician 52, 1998) do so for a share. These are the smallest round counts that cover the truth in 93 of 100
    cases throughout benchmarks/intervals.py.

    Args:
        labels: of n items, each in [0, 1].
        verdicts: of the same items, in the same order, each in [0, 1].
        unlabelled: verdicts of the other items; may be empty.
        clusters: of the labelled, then of the other items; None if each is independent.

    Raises:
        ValueError: lengths differ, or a value is not in [0, 1].
    """
    _check_lengths("labels and verdicts", labels, verdicts)
    if not all(((values >= 0) & (values <= 1)).all() for values in (labels, verdicts, unlabelled)):
        raise ValueError("a label or verdict is not in [0, 1]")
    groups = numbered(clusters, labels.size + unlabelled.size)
    ours, others = groups[: labels.size], groups[labels.size :]
    if count(ours) < _LEAST:
        return None
    weight = _weight(labels, verdicts, unlabelled, others)
    rest = labels - weight * verdicts
    value = float(rest.mean())
    middle, variance = _with_pairs(rest, ours, weight)
    if weight:
        value += weight * float(unlabelled.mean())
        mean, spread = _with_pairs(unlabelled, others, 0.0)
        middle, variance = middle + weight * mean, variance + weight**2 * spread
    if weight and _variance(unlabelled):
        variance += 2 * weight * _covariance(rest, unlabelled, groups)
    alone = float(labels.mean())
    labels_alone = _with_pairs(labels, ours, 0.0)
    value, degrees = min(max(value, 0.0), 1.0), count(ours) - 1
    return CorrectedMean(
        value=value,
        interval=_corrected_interval(value, (middle, variance), degrees, confidence),
        judged=float(np.concatenate([verdicts, unlabelled]).mean()),
        labelled=alone,
        labelled_interval=_corrected_interval(alone, labels_alone, degrees, confidence),
        weight=weight,
        labels=labels.size,
        items=groups.size,
        label_clusters=count(ours),
        item_clusters=count(groups),
    )


def _weight(labels: Matrix, verdicts: Matrix, unlabelled: Matrix, others: Clusters) -> float:
    """Return the weight with the smallest variance for independent items, cut to [0, 1] as in the paper.

    Any weight gives a valid interval.  A cluster-aware weight narrows it by 1 % in simulation, but with 40 clusters of
    labels it overfits and costs more coverage.
    """
    spread = _variance(np.concatenate([verdicts, unlabelled]))
    if not unlabelled.size or not spread or is_single(others):
        return 0.0
    together = float(np.cov(labels, verdicts, ddof=1)[0, 1])
    best = together / ((1 + labels.size / unlabelled.size) * spread)
    return min(max(best, 0.0), 1.0)


def _variance(values: Matrix) -> float:
    """Return the sample variance; exactly 0 for equal values and for a single value."""
    if values.size < _LEAST or values.min() == values.max():
        return 0.0
    return float(values.var(ddof=1))


def _with_pairs(values: Matrix, clusters: Clusters, weight: float) -> tuple[float, float]:
    """Return the mean of labels - weight * verdicts and its variance, with the added pairs.

    A pair weighs as much as one effective independent item.
    """
    each = values.size / effective_items(clusters)
    pairs = np.array([1 - weight, 0.0, 1.0, -weight])
    counts = np.array([_AGREEING, _AGREEING, _DISAGREEING, _DISAGREEING])
    size = values.size + each * _ADDED
    mean = float(values.sum() + each * (counts * pairs).sum()) / size
    sums, g = summed(values - mean, clusters - clusters.min()), count(clusters) + _ADDED
    squares = (sums * sums).sum() + each**2 * (counts * (pairs - mean) ** 2).sum()
    return mean, float(squares) / size**2 * g / (g - 1)


def _covariance(labelled: Matrix, unlabelled: Matrix, clusters: Clusters) -> float:
    """Return the covariance of the means of two parts, of two clusters or more each; not 0 only for shared clusters."""
    n = labelled.size
    apart = np.zeros((clusters.size, 2))
    apart[:n, 0] = labelled - labelled.mean()
    apart[n:, 1] = unlabelled - unlabelled.mean()
    sums = summed(apart, clusters)
    g, h = count(clusters[:n]), count(clusters[n:])
    few = (g / (g - 1) * h / (h - 1)) ** 0.5
    return few * float((sums[:, 0] * sums[:, 1]).sum()) / (n * unlabelled.size)


def _corrected_interval(
    value: float, moments: tuple[float, float], degrees: int, confidence: float
) -> Interval:
    """Return the interval by Student's t of a mean and its variance, with `value` inside, cut to [0, 1]."""
    middle, variance = moments
    arm = student_quantile((1 + confidence) / 2, degrees) * max(0.0, variance) ** 0.5
    low, high = min(value, middle - arm), max(value, middle + arm)
    return Interval(max(0.0, low), min(1.0, high), confidence)


@dataclass(frozen=True, slots=True)
class _Components:
    """Variances of one score, in its squared unit: of items, of a system's answers to an item, of a judge's verdicts.

    `system` and `judge` add up to the variance within an item; an estimate below 0 is 0.
    """

    item: float
    system: float
    judge: float | None  # None if no two scores are of equal answers; then part of `system`
    items: int
    scores: int

    @property
    def more_repeats(self) -> float:
        """Return the share by which an interval of the mean narrows with twice the repeats; with twice the items 29 %.

        Its variance is (`item` + (`system` + `judge`) / repeats) / items; its width is the root.
        """
        noise = (self.system + (self.judge or 0.0)) * self.items / self.scores
        total = self.item + noise
        return 1 - ((self.item + noise / 2) / total) ** 0.5 if total else 0.0


def variance_components(scores: Matrix, items: Clusters, answers: Clusters) -> _Components | None:
    """Return the components of finite scores; None with a single item, or if no item has two scores.

    Method of moments in the one-way random effects model, unbalanced groups allowed (Searle, Casella, McCulloch,
    "Variance Components", 1992, chapter 3).
    With a groups of sizes n_i, N scores and mean squares MSA between and MSE within items, `item` is (MSA - MSE) / n_0,
    n_0 = (N - sum n_i^2 / N) / (a - 1).  `judge` is the mean square within equal answers, `system` is MSE less `judge`.

    Args:
        items: item of each score.
        answers: answer of each score; equal numbers for equal answers to one item.
    """
    groups, n = numbered(items, scores.size), scores.size
    within, judge = _mean_square(scores, groups), _mean_square(scores, answers)
    a = count(groups)
    if within is None or a == 1:
        return None
    sizes = np.bincount(groups)
    between = sizes @ (summed(scores, groups) / sizes - scores.mean()) ** 2 / (a - 1)
    item = (between - within) * (a - 1) / (n - (sizes**2).sum() / n)
    system = within - (judge or 0.0)
    return _Components(max(0.0, float(item)), max(0.0, system), judge, a, n)


def _mean_square(scores: Matrix, groups: Clusters) -> float | None:
    """Return the mean square around the means of the groups; None if no group has two scores."""
    places = numbered(groups, scores.size)
    sizes = np.bincount(places)
    degrees = scores.size - sizes.size
    around = scores - (summed(scores, places) / sizes)[places]
    return float(around @ around) / degrees if degrees else None
