"""Measure a judge: agreement of its verdicts with labels, and test-retest consistency.

Verdicts and labels are 0 or 1 on a binary scale (1 is the positive class) and in [0, 1] on a graded one.  Items of one
cluster depend on each other, as the claims of one answer do, so intervals resample clusters instead of items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from gigamind.judges.protocol import Scale
from gigamind.stats.agreement import ReliabilityBin, binary_agreement, graded_agreement, reliability
from gigamind.stats.estimate import Estimate
from gigamind.stats.intervals import Clusters, Matrix, bounded_means, clusters_of, count
from gigamind.stats.ppi import CorrectedMean, corrected_mean
from gigamind.stats.slices import sliced

_PAIR = 2


@dataclass(frozen=True, slots=True)
class LabelledVerdict:
    """An item with a verdict and a label."""

    id: str
    label: float
    verdict: float
    language: str | None
    confidence: float | None = None  # probability in [0, 1] of the verdict, if the judge states one
    cluster: str | None = None  # None if the item is independent of all others


@dataclass(frozen=True, slots=True)
class UnlabelledVerdict:
    """An item without a label.  Its cluster (None if independent) can contain labelled items."""

    id: str
    verdict: float
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of verdicts with labels."""

    items: int
    clusters: int  # clusters; equals `items` if all items are independent
    positive: int | None  # items with a positive label; None on a graded scale
    figures: dict[str, Estimate]  # metrics by name; None if the items do not define one
    bins: tuple[ReliabilityBin, ...]  # of the stated confidences; may be empty


def agreement(
    verdicts: Sequence[LabelledVerdict], scale: Scale, *, seed: int, label: str
) -> Agreement:
    """Return the agreement metrics, with `brier` and `calibration_error` if a binary judge states confidences."""
    labels = np.array([verdict.label for verdict in verdicts], dtype=np.float64)
    judged = np.array([verdict.verdict for verdict in verdicts], dtype=np.float64)
    groups = _clusters(verdicts)
    size = len(verdicts), count(groups)
    if scale == "graded":
        figures = graded_agreement(labels, judged, seed=seed, label=label, clusters=groups)
        return Agreement(*size, None, figures, ())
    figures = binary_agreement(labels > 0, judged > 0, seed=seed, label=label, clusters=groups)
    confident = [verdict for verdict in verdicts if verdict.confidence is not None]
    positive = int((labels > 0).sum())
    if not confident:
        return Agreement(*size, positive, figures, ())
    calibrated = reliability(
        np.array([verdict.confidence for verdict in confident], dtype=np.float64),
        np.array([verdict.label == verdict.verdict for verdict in confident]),
        seed=seed,
        label=label,
        clusters=_clusters(confident),
    )
    figures |= {"brier": calibrated.brier, "calibration_error": calibrated.calibration_error}
    return Agreement(*size, positive, figures, calibrated.bins)


def agreement_by_language(
    verdicts: Sequence[LabelledVerdict], scale: Scale, *, seed: int, label: str
) -> dict[str, Agreement]:
    """Return the agreement by language, sorted by language; items without a language are left out."""
    return {
        language: agreement(own, scale, seed=seed, label=f"{label} {language}")
        for language, own in sliced(verdicts, lambda verdict: [verdict.language or None]).items()
    }


def flips(
    runs: Sequence[Mapping[str, float]],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
    label: str,
) -> Estimate:
    """Estimate how much repeated runs differ: the mean absolute difference of an item's verdicts, in [0, 1].

    On a binary scale this is the probability that an item's verdict flips.  Items judged by fewer than two runs are
    left out, and items without an entry in `clusters` are independent.
    """
    ids = dict.fromkeys(item for run in runs for item in run)
    repeated = {item: [run[item] for run in runs if item in run] for item in ids}
    apart = {
        item: fmean(abs(a - b) for a, b in combinations(values, 2))
        for item, values in repeated.items()
        if len(values) >= _PAIR
    }
    if not apart:
        return Estimate(None, None, 0, 0)
    groups = clusters_of((clusters or {}).get(item, item) for item in apart)
    column = _vector(list(apart.values()))[:, np.newaxis]
    (interval,) = bounded_means(column, seed=seed, label=label, clusters=groups)
    return Estimate(fmean(apart.values()), interval, len(apart), count(groups))


def worst_misses(
    verdicts: Sequence[LabelledVerdict], most: int, *, least: float
) -> tuple[LabelledVerdict, ...]:
    """Return up to `most` verdicts at least `least` from their label, by distance, then by confidence."""
    missed = [verdict for verdict in verdicts if abs(verdict.verdict - verdict.label) >= least]
    missed.sort(
        key=lambda verdict: (
            -abs(verdict.verdict - verdict.label),
            -(verdict.confidence or 0.0),
            verdict.id,
        )
    )
    return tuple(missed[:most])


def corrected(
    labelled: Sequence[LabelledVerdict], unlabelled: Sequence[UnlabelledVerdict]
) -> CorrectedMean | None:
    """Return the mean verdict of all items, corrected by the labels; None with labels in fewer than two clusters."""
    return corrected_mean(
        _vector([verdict.label for verdict in labelled]),
        _vector([verdict.verdict for verdict in labelled]),
        _vector([verdict.verdict for verdict in unlabelled]),
        clusters=_clusters([*labelled, *unlabelled]),
    )


def _clusters(verdicts: Sequence[LabelledVerdict | UnlabelledVerdict]) -> Clusters:
    return clusters_of(
        verdict.id if verdict.cluster is None else verdict.cluster for verdict in verdicts
    )


def _vector(values: Sequence[float]) -> Matrix:
    return np.array(values, dtype=np.float64)
