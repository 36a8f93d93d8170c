"""Does a stated confidence mean what it says?  Brier score, reliability bins and expected calibration error.

A confidence in [0, 1] is the chance that a judge gives to its own verdict being right; an outcome tells whether it was.
"""

from dataclasses import dataclass

import numpy as np

from gigamind.stats.clusters import Clusters, count, effective_items, numbered
from gigamind.stats.estimate import Booleans, Estimate, Figure, estimates
from gigamind.stats.intervals import Matrix
from gigamind.stats.proportion import wilson

BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Items with a confidence in [low, high), or [low, high] in the last bin.

    Attributes:
        confidence: mean confidence of its items; None without any.
        outcome: share of them that were right, with its Wilson interval: bins hold few items, often all right or all
            wrong, and a bootstrap of those has no width.  The items of a cluster are taken to be alike there, for
            a bin is too small to tell how far they are.
    """

    low: float
    high: float
    confidence: float | None
    outcome: Estimate


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well confidences are calibrated.

    Attributes:
        brier: mean square of confidence - outcome, in [0, 1]; 0 is best, 0.25 is what a constant 0.5 gets.  Brier,
            Monthly Weather Review 78, 1950.
        calibration_error: mean of |confidence - share right| over the bins, weighted by their items (ECE).  It is 0 or
            more, so with few items a bin it comes out too large.
        bins: all of them, from low to high, empty ones too.
    """

    brier: Estimate
    calibration_error: Estimate
    bins: tuple[ReliabilityBin, ...]


def reliability(
    confidences: Matrix,
    outcomes: Booleans,
    *,
    seed: int,
    label: str,
    clusters: Clusters | None = None,
    bins: int = BINS,
) -> Reliability:
    """Calibration of confidences on the same items as the outcomes, over bins of equal width.

    Raises:
        ValueError: the two, or the clusters of the items, differ in length, or a confidence is not in [0, 1].
    """
    if confidences.ndim != 1 or confidences.shape != outcomes.shape:
        shapes = f"{confidences.shape} and {outcomes.shape}"
        raise ValueError(f"confidences and outcomes are two equally long vectors, not {shapes}")
    if not ((confidences >= 0) & (confidences <= 1)).all():
        raise ValueError("a confidence is not in [0, 1]")
    right = outcomes.astype(np.float64)
    edges = (
        np.arange(bins + 1) / bins
    )  # 0.3 and not linspace's 0.30000000000000004: 0.3 begins a bin
    places = np.clip(np.searchsorted(edges, confidences, side="right") - 1, 0, bins - 1)
    inside = (places[:, np.newaxis] == np.arange(bins)).astype(np.float64)
    rows = np.column_stack(
        [
            (confidences - right) ** 2,
            inside,
            inside * confidences[:, np.newaxis],
            inside * right[:, np.newaxis],
        ]
    )
    groups = numbered(clusters, len(rows))
    figures = _figures(np.ones_like(outcomes), bins)
    found = estimates(rows, figures, seed=seed, label=label, shares={"brier"}, clusters=groups)
    counts, told = inside.sum(axis=0), (inside * confidences[:, np.newaxis]).sum(axis=0)
    return Reliability(
        found["brier"],
        found["calibration_error"],
        tuple(
            ReliabilityBin(
                low=float(edges[place]),
                high=float(edges[place + 1]),
                confidence=float(told[place] / counts[place]) if counts[place] else None,
                outcome=_share(outcomes[places == place], groups[places == place]),
            )
            for place in range(bins)
        ),
    )


def _share(right: Booleans, groups: Clusters) -> Estimate:
    n, hits = right.size, int(right.sum())
    if not n:
        return Estimate(None, None, 0, 0)
    return Estimate(hits / n, wilson(hits, n, effective_items(groups)), n, count(groups))


def _figures(everything: Booleans, bins: int) -> dict[str, tuple[Figure, Booleans]]:
    def error(sums: Matrix) -> Matrix:
        told, right = sums[:, 1 + bins : 1 + 2 * bins], sums[:, 1 + 2 * bins :]
        return np.abs(told - right).sum(axis=1) / sums[:, 1 : 1 + bins].sum(axis=1)

    return {
        "brier": (lambda sums: sums[:, 0] / sums[:, 1 : 1 + bins].sum(axis=1), everything),
        "calibration_error": (error, everything),
    }
