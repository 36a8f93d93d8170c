"""How good a judge is: its verdicts held against labels, against its own repetitions, and against attacks.

A verdict and a label are 0 or 1 on a binary scale (1 is the positive class), in [0, 1] on a graded one.  Items of one
cluster stand and fall together, as the claims of one answer do: intervals are made of clusters, not of items.
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
    """An item that has both.

    Attributes:
        confidence: the chance, in [0, 1], that the judge gave to its verdict being right; None where it told none.
        cluster: None where the item stands alone.
    """

    id: str
    label: float
    verdict: float
    language: str | None
    confidence: float | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class UnlabelledVerdict:
    """An item that has no label; its cluster, None where it stands alone, may have items with one."""

    id: str
    verdict: float
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far some verdicts agree with their labels.

    Attributes:
        items: how many.
        clusters: of the items; as many where each stands alone.
        positive: of them with a positive label; None on a graded scale.
        figures: by name; None where the items do not define one.
        bins: reliability of stated confidences, empty where none were stated.
    """

    items: int
    clusters: int
    positive: int | None
    figures: dict[str, Estimate]
    bins: tuple[ReliabilityBin, ...]


def agreement(
    verdicts: Sequence[LabelledVerdict], scale: Scale, *, seed: int, label: str
) -> Agreement:
    """Figures of agreement, with brier and calibration_error where a binary judge states confidences."""
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
    """The same for the items of each language, in alphabetical order; items of no language have no part."""
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
    """How much two equal runs differ: over items, the mean difference of two of its verdicts, in [0, 1].

    On a binary scale, the chance that an item's verdict flips.  Items that fewer than two runs judged have no part.

    Args:
        runs: verdicts by item id, of runs of the same judge over the same items.
        clusters: by item id; an item that is not in it stands alone.
        seed: any whole number.
        label: names the stream of draws beside `seed`.
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
    """Up to `most` verdicts that are at least `least` from their label: the farthest, then the surest, first."""
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
    """The mean verdict over all items, corrected by the labels of some; None without labels in two clusters."""
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
