"""From measured items to figures with intervals, over all items and over slices of them.

Figures depend on the items alone, not on the order they ran in: items are sorted by id, and means are exact sums.
A figure without an item to stand on is None; every figure carries the number of items behind it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite

import numpy as np

from gigamind.metrics.answerability import Confusion, confusion
from gigamind.metrics.latency import Latency, latency
from gigamind.stats.bounded import bounded_means, bounded_ratios
from gigamind.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Measured:
    """One evaluated item.

    Attributes:
        language: of the query, such as "ko"; None when the dataset does not say.
        cross_lingual: the query and its expected notes are in different languages.
        difficulty: "easy", "mid", "hard"; None when the dataset does not say.
        judged_unanswerable: None where there is no verdict: such an item is in no figure of the verdicts.
        values: metric -> value in [0, 1], or None where it was not measured; empty for an unanswerable item,
            which has no right ranking.
        latency_ms: wall time of the retrieval.
    """

    item_id: str
    language: str | None
    cross_lingual: bool
    tags: tuple[str, ...]
    difficulty: str | None
    is_unanswerable: bool
    judged_unanswerable: bool | None
    values: Mapping[str, float | None]
    latency_ms: float

    def __post_init__(self) -> None:
        if self.is_unanswerable and self.values:
            raise ValueError(f"{self.item_id}: an unanswerable item has no ranking metrics")
        bad = [
            name for name, value in self.values.items() if value is not None and not isfinite(value)
        ]
        if bad:
            raise ValueError(f"{self.item_id}: not a finite number: {', '.join(bad)}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval (stats/bounded.py); all None when `n` is 0.

    Attributes:
        n: how many items the figure is over.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class SliceSummary:
    """The figures of some items.

    Attributes:
        search: metric -> mean over the answerable items on which it was measured.
        unanswerable: precision, recall, f1 and far, each over the items in its denominator.
        latency: over all items; None without items.
    """

    n: int
    n_answerable: int
    n_unanswerable: int
    search: Mapping[str, Estimate]
    unanswerable: Mapping[str, Estimate]
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """All items and their slices, keys sorted.  An item stands in the slice of each of its tags.

    Attributes:
        cross_lingual: the cross-lingual items; None when there are none.
    """

    overall: SliceSummary
    by_language: Mapping[str, SliceSummary]
    cross_lingual: SliceSummary | None
    by_tag: Mapping[str, SliceSummary]
    by_difficulty: Mapping[str, SliceSummary]


def summarise(items: Iterable[Measured], seed: int) -> Aggregate:
    """The figures of all items and of every slice.

    Every slice shows the same metrics.  Equal sets of items get equal intervals, whichever slice they stand in.
    """
    ordered = sorted(items, key=lambda item: item.item_id)
    metrics = sorted({name for item in ordered for name in item.values})

    def sliced(keys: Sequence[Iterable[str | None]]) -> dict[str, SliceSummary]:
        return {
            key: _summarise_slice(members, metrics, seed)
            for key, members in _grouped(ordered, keys).items()
        }

    across = [item for item in ordered if item.cross_lingual]
    return Aggregate(
        overall=_summarise_slice(ordered, metrics, seed),
        by_language=sliced([[item.language] for item in ordered]),
        cross_lingual=_summarise_slice(across, metrics, seed) if across else None,
        by_tag=sliced([item.tags for item in ordered]),
        by_difficulty=sliced([[item.difficulty] for item in ordered]),
    )


def _grouped(
    items: Sequence[Measured], keys: Sequence[Iterable[str | None]]
) -> dict[str, list[Measured]]:
    """Items by key, keys sorted; an item without a key is in no group, one with a repeated key is in it once."""
    groups: dict[str, list[Measured]] = {}
    for item, own in zip(items, keys, strict=True):
        for key in {key for key in own if key is not None}:
            groups.setdefault(key, []).append(item)
    return dict(sorted(groups.items()))


def _summarise_slice(items: Sequence[Measured], metrics: Sequence[str], seed: int) -> SliceSummary:
    unanswerable = sum(item.is_unanswerable for item in items)
    return SliceSummary(
        n=len(items),
        n_answerable=len(items) - unanswerable,
        n_unanswerable=unanswerable,
        search=_means(items, metrics, seed),
        unanswerable=_answerability(items, seed),
        latency=latency([item.latency_ms for item in items]),
    )


def _means(items: Sequence[Measured], metrics: Sequence[str], seed: int) -> dict[str, Estimate]:
    rows = [[item.values.get(name) for name in metrics] for item in items]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(metrics))  # None becomes NaN
    intervals = bounded_means(table, seed=seed, label="search")
    columns = ([row[i] for row in rows] for i in range(len(metrics)))
    return {
        name: _mean([value for value in column if value is not None], interval)
        for name, column, interval in zip(metrics, columns, intervals, strict=True)
    }


def _mean(values: Sequence[float], interval: Interval | None) -> Estimate:
    if not values:
        return Estimate(None, None, None, 0)
    mean = fsum(values) / len(values)
    # Two roundings can carry the mean of equal values one unit past them, and so outside its interval.
    return _estimate(min(max(mean, min(values)), max(values)), interval, len(values))


def _answerability(items: Sequence[Measured], seed: int) -> dict[str, Estimate]:
    """The figures of `Confusion`, with the intervals of the same ratios over items."""
    pairs = [
        (item.is_unanswerable, item.judged_unanswerable)
        for item in items
        if item.judged_unanswerable is not None
    ]
    total = confusion(pairs)
    terms = np.array([_terms(confusion([pair])) for pair in pairs], dtype=np.float64)
    over, under = terms.reshape(len(pairs), 2, 4).swapaxes(0, 1)
    intervals = bounded_ratios(over, under, seed=seed, label="unanswerable")
    names = ("precision", "recall", "f1", "far")
    values = (total.precision, total.recall, total.f1, total.far)
    positives = total.tp + total.fn
    counts = (total.tp + total.fp, positives, positives + total.fp, positives)
    return {
        name: _estimate(value, interval, n)
        for name, value, interval, n in zip(names, values, intervals, counts, strict=True)
    }


def _terms(one: Confusion) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What items add to the numerators and the denominators of precision, recall, F1 and FAR."""
    positive = one.tp + one.fn
    return (
        (one.tp, one.tp, 2 * one.tp, one.fn),
        (one.tp + one.fp, positive, 2 * one.tp + one.fp + one.fn, positive),
    )


def _estimate(value: float | None, interval: Interval | None, n: int) -> Estimate:
    if interval is None:
        return Estimate(value, None, None, n)
    return Estimate(value, interval.low, interval.high, n)
