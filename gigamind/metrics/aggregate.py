"""Figures of a run and of its slices: means and rates with their intervals, and latency percentiles in ms."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite

import numpy as np

from gigamind.i18n import _
from gigamind.metrics.answerability import confusion, measure_verdicts, verdict_terms
from gigamind.metrics.spec import Rows
from gigamind.stats.estimate import Estimate, ratios, sliced
from gigamind.stats.intervals import bounded_means

_metric = Rows("search", None)
METRICS = (
    _metric(None, "latency_p50_ms", _("latency p50")),
    _metric(None, "latency_p95_ms", _("latency p95")).described(_("milliseconds; lower is better")),
    _metric(None, "latency_p99_ms", _("latency p99")),
)


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of the wall time of `n` queries, by linear interpolation (Hyndman & Fan type 7)."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    n: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One evaluated item; language, difficulty ("easy", "mid", "hard") are None if the dataset does not state them.

    Attributes:
        cross_lingual: the query and its expected notes are in different languages.
        judged_unanswerable: None without a verdict; such an item is in no figure of the verdicts.
        values: metric -> value in [0, 1], or None if not measured; empty for an unanswerable item.
        latency_ms: wall time of the retrieval; None if not measured.
    """

    item_id: str
    language: str | None
    cross_lingual: bool
    tags: tuple[str, ...]
    difficulty: str | None
    is_unanswerable: bool
    judged_unanswerable: bool | None
    values: Mapping[str, float | None]
    latency_ms: float | None

    def __post_init__(self) -> None:
        if self.is_unanswerable and self.values:
            raise ValueError(f"{self.item_id}: an unanswerable item has no ranking metrics")
        bad = [name for name, v in self.values.items() if v is not None and not isfinite(v)]
        if bad:
            raise ValueError(f"{self.item_id}: not a finite number: {', '.join(bad)}")


def latency(times_ms: Sequence[float]) -> Latency | None:
    """Return the latency percentiles of some queries; None if there are none."""
    if not times_ms:
        return None
    p50, p95, p99 = (float(p) for p in np.percentile(times_ms, [50, 95, 99], method="linear"))
    return Latency(p50, p95, p99, n=len(times_ms))


@dataclass(frozen=True, slots=True)
class SliceSummary:
    """Figures of some items; `latency` is over all, None if it was not measured.

    `search` has means over the answerable items, `unanswerable` ratios over the items in the denominator.
    """

    n: int
    n_answerable: int
    n_unanswerable: int
    search: Mapping[str, Estimate]
    unanswerable: Mapping[str, Estimate]
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """All items and their slices, keys sorted, one for each tag; `cross_lingual` is None without such items."""

    overall: SliceSummary
    by_language: Mapping[str, SliceSummary]
    cross_lingual: SliceSummary | None
    by_tag: Mapping[str, SliceSummary]
    by_difficulty: Mapping[str, SliceSummary]


def summarise(items: Iterable[Measured], seed: int) -> Aggregate:
    """Return the same figures for all items and every slice; equal sets of items get equal intervals."""
    ordered = sorted(items, key=lambda item: item.item_id)
    metrics = sorted({name for item in ordered for name in item.values})

    def summarised(keys: Callable[[Measured], Iterable[str | None]]) -> dict[str, SliceSummary]:
        slices = sliced(ordered, keys)
        return {key: _summarise_slice(slices[key], metrics, seed) for key in slices}

    across = [item for item in ordered if item.cross_lingual]
    return Aggregate(
        overall=_summarise_slice(ordered, metrics, seed),
        by_language=summarised(lambda item: [item.language]),
        cross_lingual=_summarise_slice(across, metrics, seed) if across else None,
        by_tag=summarised(lambda item: item.tags),
        by_difficulty=summarised(lambda item: [item.difficulty]),
    )


def _summarise_slice(items: Sequence[Measured], metrics: Sequence[str], seed: int) -> SliceSummary:
    unanswerable = sum(item.is_unanswerable for item in items)
    verdicts = ((item.is_unanswerable, item.judged_unanswerable) for item in items)
    judged = [(is_so, judged_so) for is_so, judged_so in verdicts if judged_so is not None]
    names, terms = list(measure_verdicts(confusion([]))), verdict_terms(judged)
    return SliceSummary(
        n=len(items),
        n_answerable=len(items) - unanswerable,
        n_unanswerable=unanswerable,
        search=means([item.values for item in items], metrics, seed=seed, label="search"),
        unanswerable=ratios(terms, names, seed=seed, label="unanswerable"),
        latency=latency([item.latency_ms for item in items if item.latency_ms is not None]),
    )


def means(
    items: Sequence[Mapping[str, float | None]], names: Sequence[str], *, seed: int, label: str
) -> dict[str, Estimate]:
    """Return the mean of each figure, in [0, 1], over the items that have it; `label` is as in `ratios`."""
    rows = [[item.get(name) for name in names] for item in items]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))  # None becomes NaN
    columns = ([v for row in rows if (v := row[at]) is not None] for at in range(len(names)))
    return {
        name: Estimate(_mean(values), interval, len(values), len(values))
        for name, values, interval in zip(
            names, columns, bounded_means(table, seed=seed, label=label), strict=True
        )
    }


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    # Rounding can move the mean of equal values past them, and so outside its interval.
    return min(max(fsum(values) / len(values), min(values)), max(values))
