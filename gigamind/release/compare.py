"""What changed between two runs, and how surely: metrics, items and speed; with what else differs, see `mismatch`."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum
from typing import Any

import numpy as np

from gigamind.metrics.table import is_lower_better
from gigamind.records.schema import SpeedReport
from gigamind.release.comparison import (
    Comparison,
    ItemChange,
    LostItem,
    MetricChange,
    RunName,
    Snapshot,
    SpeedChange,
)
from gigamind.release.mismatch import checklists, mismatches
from gigamind.release.model import (
    SLICE_KINDS,
    Change,
    ComparedTask,
    Shown,
    SliceName,
    SnapshotItem,
    Speed,
    checks_of,
)
from gigamind.stats.intervals import CONFIDENCE
from gigamind.stats.paired import ALPHA, PairedComparison, compare_metrics, compare_ratios, holm
from gigamind.stats.ratio import ratio_of_means

Task = ComparedTask[Any, Any, Any]


def compare(
    baseline: Snapshot, current: Snapshot, *, seed: int = 42, confidence: float = CONFIDENCE
) -> Comparison:
    """Compare two runs of one task on the items that both evaluated.

    Args:
        baseline: the run that counts as before.
        current: the run that counts as after.
        seed: of the intervals.
        confidence: of each interval, in (0, 1).

    Raises:
        InputError: their tasks differ.
    """
    found = mismatches(baseline, current)
    task = current.kind
    before = {item.id: item for item in baseline.items}
    pairs = [(before[item.id], item) for item in current.items if item.id in before]
    checks = checks_of(checklists(baseline, current))
    if checks != "compared":
        pairs = [(task.without_checks(a), task.without_checks(b)) for a, b in pairs]
    changed = [(change, *pair) for pair in pairs if (change := task.change(*pair))]
    changed.sort(key=lambda entry: entry[0].gain)
    return Comparison(
        task=current.task,
        baseline=name_of(baseline),
        current=name_of(current),
        mismatches=found,
        shared=len(pairs),
        only_baseline=len(baseline.items) - len(pairs),
        only_current=len(current.items) - len(pairs),
        lost=_lost(task, baseline, current),
        unjudged=_silent(task, pairs, task.has_verdict),
        checks=checks,
        unchecked=_silent(task, pairs, task.is_checked),
        metrics=metric_changes(task, pairs, seed=seed, confidence=confidence),
        speed=_speed(task, baseline, current),
        unchanged=len(pairs) - len(changed),
        changes=tuple(
            _item_change(after.id, change, task.shown(before), task.shown(after))
            for change, before, after in changed
        ),
        worse_in=_worse_in(
            [after for _, after in pairs],
            [after for change, _, after in changed if change.gain < 0],
        ),
        figures=figures_over(task, current.items),
    )


def _worse_in(items: Sequence[SnapshotItem], worse: Sequence[SnapshotItem]) -> SliceName | None:
    """Of several slices a language before others, and the smallest of a kind.

    With a share s of the items in a slice, k items drawn at random lie all there with a chance of less than s**k, which
    is multiplied by the number of slices that were looked at (Bonferroni).
    """
    sizes = Counter(name for item in items for name in item.slices)
    shared = set(worse[0].slices).intersection(*(item.slices for item in worse)) if worse else ()
    told = [
        name for name in shared if len(sizes) * (sizes[name] / len(items)) ** len(worse) < ALPHA
    ]
    return min(
        told, key=lambda name: (SLICE_KINDS.index(name[0]), sizes[name], name[1]), default=None
    )


def _item_change(item_id: str, change: Change, before: Shown, after: Shown) -> ItemChange:
    return ItemChange(
        id=item_id,
        text=after.text,
        change="improved" if change.gain > 0 else "worse",
        what=change.what,
        expected_notes=after.expected_notes,
        baseline_ranking=before.ranking,
        current_ranking=after.ranking,
    )


def _lost(task: Task, baseline: Snapshot, current: Snapshot) -> tuple[LostItem, ...]:
    """Empty where another sample was drawn: then an absence says nothing."""
    if any(baseline.config.get(name) != current.config.get(name) for name in ("sample", "seed")):
        return ()
    evaluated = {item.id for item in current.items}
    return tuple(_lost_item(task, item) for item in baseline.items if item.id not in evaluated)


def _silent(
    task: Task, pairs: Sequence[tuple[Any, Any]], decided: Callable[[Any], bool]
) -> tuple[LostItem, ...]:
    """Items decided about no more, which are in no figure: without a word, a judge that fails would look fine."""
    return tuple(
        _lost_item(task, before)
        for before, after in pairs
        if decided(before) and not decided(after)
    )


def _lost_item(task: Task, item: Any) -> LostItem:  # noqa: ANN401  of the task's own kind
    shown = task.shown(item)
    return LostItem(id=item.id, text=shown.text, expected_notes=shown.expected_notes)


def name_of(snapshot: Snapshot) -> RunName:
    """Which run a snapshot is of."""
    return RunName(
        run_id=snapshot.run_id,
        created_at=snapshot.created_at,
        app_version=snapshot.environment.app_version,
        git_commit=snapshot.environment.git_commit,
    )


def metric_changes(
    task: Task, pairs: Sequence[tuple[Any, Any]], *, seed: int, confidence: float = CONFIDENCE
) -> tuple[MetricChange, ...]:
    """All metrics in the task's order, those without a test last; p-values adjusted over all of them."""
    values = {name: np.array(both, float) for name, both in task.values(pairs).items() if both}
    terms = {name: np.array(both, float) for name, both in task.terms(pairs).items() if both}
    means = {name: (both[:, 0], both[:, 1]) for name, both in values.items()}
    compared = {
        **compare_metrics(means, seed=seed, label="compare", confidence=confidence),
        **compare_ratios(terms, seed=seed, label="compare", confidence=confidence),
    }
    adjusted = holm([found.p_value for found in compared.values()])
    tested = [
        _change_of(name, found, p)
        for (name, found), p in zip(compared.items(), adjusted, strict=True)
    ]
    untested = [
        _untested(one.metric, len(pairs), one.baseline, one.current) for one in task.untested(pairs)
    ]
    before, after = (
        (figures_over(task, items) for items in zip(*pairs, strict=True)) if pairs else ({}, {})
    )
    alone = [
        _untested(name, 0, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if name not in compared
    ]
    return (*tested, *untested, *alone)


def figures_over(task: Task, items: Sequence[Any]) -> dict[str, float]:
    """Every figure of one run by itself, where it is defined."""
    pairs = [(item, item) for item in items]
    means = {name: [value for value, _ in both] for name, both in task.values(pairs).items()}
    figures = {name: fsum(values) / len(values) for name, values in means.items() if values}
    for name, both in task.terms(pairs).items():
        over, under = (fsum(term[place] for term, _ in both) for place in (0, 1))
        if under:
            figures[name] = over / under
    return figures


def _change_of(metric: str, found: PairedComparison, p_adjusted: float | None) -> MetricChange:
    lower = is_lower_better(metric)
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
        changed=found.n - found.unchanged,
    )


def _untested(metric: str, n: int, before: float | None, after: float | None) -> MetricChange:
    difference = None if before is None or after is None else after - before
    return MetricChange(metric=metric, n=n, baseline=before, current=after, difference=difference)


def _speed(task: Task, baseline: Snapshot, current: Snapshot) -> tuple[SpeedChange, ...]:
    before, after = task.speed(baseline.metrics), task.speed(current.metrics)
    passes = task.passes(baseline.metrics), task.passes(current.metrics)
    of_system = current.environment.system is not None
    return tuple(
        speed_change(
            name, (before[name], after[name]), passes if name == "search_p95" else (None, None)
        ).model_copy(update={"of_system": of_system})
        for name in after
    )


_CONFIDENCE = 0.99  # the passes of one run share what sets it off from the next


def speed_change(
    name: Speed,
    times_ms: tuple[float | None, float | None],
    passes: tuple[SpeedReport | None, SpeedReport | None],
) -> SpeedChange:
    """A time of two runs, baseline first, with what passes tell where both have some by one clock."""
    before, after = passes
    change = SpeedChange(
        name=name,
        baseline_ms=times_ms[0],
        current_ms=times_ms[1],
        passes=len(after.costs) if after else 0,
        baseline_passes=len(before.costs) if before else 0,
    )
    if before is None or after is None or before.clock != after.clock:
        return change
    shared = {*before.queries} & {*after.queries}
    costs = after.over(shared), before.over(shared)
    if not all(costs):
        return change
    found = ratio_of_means(*costs, confidence=_CONFIDENCE)
    told = {"ratio": found.value, "low": found.low, "high": found.high}
    return change.model_copy(update={**told, "query_ms": before.query_ms})
