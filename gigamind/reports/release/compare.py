"""Two runs side by side, item by item: what changed, by how much, and whether chance alone could have done it."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from gigamind.metrics.answerability import confusion
from gigamind.reports.release.comparability import Mismatch, mismatches
from gigamind.reports.release.policy import LOWER_IS_BETTER
from gigamind.reports.release.snapshot import EvalSnapshot, SnapshotHit, SnapshotItem
from gigamind.stats.multiple import holm
from gigamind.stats.paired import PairedComparison, compare_metrics

COMPARE_VERSION = "1.0"
Pair = tuple[SnapshotItem, SnapshotItem]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricChange(_Part):
    """One metric over the items that both runs measured.

    Attributes:
        difference: current - baseline.
        low, high: its 95 % interval (BCa bootstrap); null for a ratio that is no mean over items.
        p_value: of the paired test; null where none fits.
        p_adjusted: after Holm, over all metrics of this comparison.
        detectable: the smallest difference that so many items show in 80 of 100 cases.
        improved, worse: items on which the current run is better, worse; the others are equal.
    """

    metric: str
    n: int
    baseline: float | None
    current: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    detectable: float | None = None
    improved: int = 0
    worse: int = 0

    @property
    def drop(self) -> float | None:
        """By how much it got worse, negative when it got better; rounded, so that 0.9 - 0.88 is 0.02."""
        if self.difference is None:
            return None
        return round(self.difference if self.metric in LOWER_IS_BETTER else -self.difference, 12)


class ItemChange(_Part):
    """One item that ended otherwise than in the baseline."""

    id: str
    query: str
    change: Literal["improved", "worse"]
    what: str
    expected_notes: tuple[str, ...]
    baseline_ranking: tuple[SnapshotHit, ...]
    current_ranking: tuple[SnapshotHit, ...]


class LostItem(_Part):
    """An item that could not be evaluated any more; the current run's errors.jsonl says why."""

    id: str
    query: str
    expected_notes: tuple[str, ...]


class SpeedChange(_Part):
    """A time in milliseconds; null where a run did not measure it."""

    name: Literal["search_p95", "cold_start"]
    baseline_ms: float | None
    current_ms: float | None


class RunName(_Part):
    """Which run this is."""

    run_id: str
    created_at: str
    app_version: str
    git_commit: str | None


class Comparison(_Part):
    """compare.json, but for the gates' verdict.

    Attributes:
        shared: items that both runs evaluated; every figure is over these.
        lost: items that the baseline evaluated and the current run did not, though it drew the same sample.
        unchanged: shared items that ended alike.
        changes: the worse first, the worst of them first.
    """

    version: Literal["1.0"] = COMPARE_VERSION
    task: Literal["search"]
    baseline: RunName
    current: RunName
    mismatches: tuple[Mismatch, ...]
    shared: int
    only_baseline: int
    only_current: int
    lost: tuple[LostItem, ...]
    metrics: tuple[MetricChange, ...]
    speed: tuple[SpeedChange, ...]
    unchanged: int
    changes: tuple[ItemChange, ...]

    def metric(self, name: str) -> MetricChange | None:
        """The metric of that name, such as `search.mrr`."""
        return next((found for found in self.metrics if found.metric == name), None)


def compare(baseline: EvalSnapshot, current: EvalSnapshot, *, seed: int = 42) -> Comparison:
    """Compare two runs on the items that both evaluated.

    Raises:
        InputError: their embedding models differ.
    """
    found = mismatches(baseline, current)
    before = {item.id: item for item in baseline.items}
    pairs = [(before[item.id], item) for item in current.items if item.id in before]
    changes = sorted(
        (change for pair in pairs if (change := _change(*pair))), key=lambda change: change[0]
    )
    return Comparison(
        task=current.task,
        baseline=_name(baseline),
        current=_name(current),
        mismatches=found,
        shared=len(pairs),
        only_baseline=len(baseline.items) - len(pairs),
        only_current=len(current.items) - len(pairs),
        lost=_lost(baseline, current),
        metrics=_metrics(pairs, seed),
        speed=_speed(baseline, current),
        unchanged=len(pairs) - len(changes),
        changes=tuple(change for _, change in changes),
    )


def _lost(baseline: EvalSnapshot, current: EvalSnapshot) -> tuple[LostItem, ...]:
    """Empty where another sample was drawn: then an absence says nothing."""
    if any(baseline.config.get(name) != current.config.get(name) for name in ("sample", "seed")):
        return ()
    evaluated = {item.id for item in current.items}
    return tuple(
        LostItem(id=item.id, query=item.query, expected_notes=item.expected_notes)
        for item in baseline.items
        if item.id not in evaluated
    )


def _name(snapshot: EvalSnapshot) -> RunName:
    return RunName(
        run_id=snapshot.run_id,
        created_at=snapshot.created_at,
        app_version=snapshot.environment.app_version,
        git_commit=snapshot.environment.git_commit,
    )


def _metrics(pairs: Sequence[Pair], seed: int) -> tuple[MetricChange, ...]:
    """All metrics, ranking first; p-values adjusted over all of them."""
    values = {name: both for name, both in _values(pairs).items() if both}
    columns = {name: tuple(np.array(both, dtype=np.float64).T) for name, both in values.items()}
    compared = compare_metrics(
        {n: (c[0], c[1]) for n, c in columns.items()}, seed=seed, label="compare"
    )
    adjusted = holm([found.p_value for found in compared.values()])
    changes = {
        name: _change_of(name, found, p)
        for (name, found), p in zip(compared.items(), adjusted, strict=True)
    }
    return (*changes.values(), *_ratios(pairs))


def _values(pairs: Sequence[Pair]) -> dict[str, list[tuple[float, float]]]:
    """Baseline and current value of each item that both runs measured, by metric.

    FAR and recall of the verdicts are means over unanswerable items; precision and F1 are not means: see `_ratios`.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for name in sorted({name for pair in pairs for item in pair for name in item.metrics}):
        both = ((a.metrics.get(name), b.metrics.get(name)) for a, b in pairs)
        found[f"search.{name}"] = [(a, b) for a, b in both if a is not None and b is not None]
    missed = [
        (not a.judged_unanswerable, not b.judged_unanswerable)
        for a, b in _judged(pairs)
        if not b.answerable
    ]
    found["unanswerable.recall"] = [(float(not a), float(not b)) for a, b in missed]
    found["unanswerable.far"] = [(float(a), float(b)) for a, b in missed]
    return found


def _change_of(metric: str, found: PairedComparison, p_adjusted: float | None) -> MetricChange:
    lower = metric in LOWER_IS_BETTER
    return MetricChange(
        metric=metric,
        n=found.n,
        baseline=found.baseline_mean,
        current=found.current_mean,
        difference=found.difference,
        low=found.low,
        high=found.high,
        test=found.test,
        p_value=found.p_value,
        p_adjusted=p_adjusted,
        detectable=found.detectable_difference,
        improved=found.worse if lower else found.improved,
        worse=found.improved if lower else found.worse,
    )


def _ratios(pairs: Sequence[Pair]) -> list[MetricChange]:
    """Precision and F1 of the verdicts: compared, but not tested item by item."""
    judged = _judged(pairs)
    before, after = (
        confusion(
            (not pair[run].answerable, bool(pair[run].judged_unanswerable)) for pair in judged
        )
        for run in (0, 1)
    )
    return [
        _ratio("unanswerable.precision", len(judged), before.precision, after.precision),
        _ratio("unanswerable.f1", len(judged), before.f1, after.f1),
    ]


def _judged(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with a verdict on both sides."""
    return [pair for pair in pairs if all(item.judged_unanswerable is not None for item in pair)]


def _ratio(metric: str, n: int, before: float | None, after: float | None) -> MetricChange:
    difference = None if before is None or after is None else after - before
    return MetricChange(metric=metric, n=n, baseline=before, current=after, difference=difference)


def _speed(baseline: EvalSnapshot, current: EvalSnapshot) -> tuple[SpeedChange, ...]:
    return (
        SpeedChange(
            name="search_p95",
            baseline_ms=baseline.metrics.overall.search.get("latency_p95_ms"),
            current_ms=current.metrics.overall.search.get("latency_p95_ms"),
        ),
        SpeedChange(
            name="cold_start",
            baseline_ms=baseline.metrics.performance.cold_start_ms,
            current_ms=current.metrics.performance.cold_start_ms,
        ),
    )


def _change(before: SnapshotItem, after: SnapshotItem) -> tuple[float, ItemChange] | None:
    """How an item changed, and its place in the list (the worst first); None when it ended alike.

    The rank of the first right note decides, then the verdict, then nDCG over the whole ranking.
    """
    ranks = (before.metrics.get("mrr") or 0.0), (after.metrics.get("mrr") or 0.0)
    rights = _verdicts_right(before, after)
    gains = ranks[1] - ranks[0], float(rights[1]) - float(rights[0]), _ndcg(after) - _ndcg(before)
    first = next((gain for gain in gains if gain), 0.0)
    if not first:
        return None
    change = ItemChange(
        id=after.id,
        query=after.query,
        change="improved" if first > 0 else "worse",
        what=_what(ranks, rights),
        expected_notes=after.expected_notes,
        baseline_ranking=before.ranking,
        current_ranking=after.ranking,
    )
    return first, change


def _verdicts_right(before: SnapshotItem, after: SnapshotItem) -> tuple[bool, bool]:
    """Whether each verdict is right; alike where one of them is missing, for then nothing can be said."""
    if before.judged_unanswerable is None or after.judged_unanswerable is None:
        return True, True
    return tuple(item.judged_unanswerable is (not item.answerable) for item in (before, after))  # pyright: ignore[reportReturnType]


def _ndcg(item: SnapshotItem) -> float:
    cutoffs = [name for name in item.metrics if name.startswith("ndcg_at_")]
    deepest = max(cutoffs, key=lambda name: int(name.removeprefix("ndcg_at_")), default=None)
    return (item.metrics.get(deepest) if deepest else None) or 0.0


def _what(ranks: tuple[float, float], rights: tuple[bool, bool]) -> str:
    parts: list[str] = []
    if ranks[0] != ranks[1]:
        parts.append(f"{_rank(ranks[0])} -> {_rank(ranks[1])}")
    if rights[0] != rights[1]:
        parts.append("verdict now right" if rights[1] else "verdict now wrong")
    return ", ".join(parts) or "the order of the notes behind the first changed"


def _rank(reciprocal: float) -> str:
    return f"rank {round(1 / reciprocal)}" if reciprocal else "not found"
