"""Compare two runs: metrics with their significance, items and speed.  For other differences see `mismatch`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from gigamind.stats.estimate import ratio_of_means
from gigamind.stats.intervals import CONFIDENCE, Matrix
from gigamind.stats.paired import ALPHA, PairedComparison, compare_metrics, compare_ratios, holm

Task = ComparedTask[Any, Any, Any]


def compare(
    baseline: Snapshot, current: Snapshot, *, seed: int = 42, confidence: float = CONFIDENCE
) -> Comparison:
    """Compare two runs of one task on the items that both evaluated.

    Args:
        seed: of the bootstrap.
        confidence: level of each interval, in (0, 1).

    Raises:
        InputError: the tasks differ.
    """
    all_mismatches = mismatches(baseline, current)
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
        mismatches=all_mismatches,
        shared=len(pairs),
        only_baseline=len(baseline.items) - len(pairs),
        only_current=len(current.items) - len(pairs),
        lost=_lost(task, baseline, current),
        unjudged=_silent(task, pairs, task.has_verdict),
        gone=_silent(task, pairs, task.has_answer),
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
        figures=task.figures(current.items),
        by_words=current.judge is not None and current.judge.kind == "words",
    )


def _worse_in(items: Sequence[SnapshotItem], worse: Sequence[SnapshotItem]) -> SliceName | None:
    """Return a slice that contains all worse items significantly; languages first, then the smallest of a kind.

    If a slice has a share s of the items, k random items are all in it with p < s**k, times the number of slices
    (Bonferroni).
    """
    sizes = Counter(name for item in items for name in item.slices)
    shared = set(worse[0].slices).intersection(*(item.slices for item in worse)) if worse else ()
    n, k = len(items), len(worse)
    significant = [part for part in shared if len(sizes) * (sizes[part] / n) ** k < ALPHA]

    def order(name: SliceName) -> tuple[int, int, str]:
        return SLICE_KINDS.index(name[0]), sizes[name], name[1]

    return min(significant, key=order, default=None)


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
    """Return the items missing from the current run; none if the runs drew different samples."""
    if any(baseline.config.get(name) != current.config.get(name) for name in ("sample", "seed")):
        return ()
    evaluated = {item.id for item in current.items}
    return tuple(_lost_item(task, item) for item in baseline.items if item.id not in evaluated)


def _silent(
    task: Task, pairs: Sequence[tuple[Any, Any]], is_known: Callable[[Any], bool]
) -> tuple[LostItem, ...]:
    """Return the items for which the baseline knows something that the current run does not; no metric has them."""
    silent = (before for before, after in pairs if is_known(before) and not is_known(after))
    return tuple(_lost_item(task, item) for item in silent)


def _lost_item(task: Task, item: Any) -> LostItem:  # noqa: ANN401  of the task's own kind
    shown = task.shown(item)
    return LostItem(id=item.id, text=shown.text, expected_notes=shown.expected_notes)


def name_of(snapshot: Snapshot) -> RunName:
    """Return which run a snapshot belongs to."""
    return RunName(
        run_id=snapshot.run_id,
        created_at=snapshot.created_at,
        app_version=snapshot.environment.app_version,
        git_commit=snapshot.environment.git_commit,
    )


def metric_changes(
    task: Task, pairs: Sequence[tuple[Any, Any]], *, seed: int, confidence: float = CONFIDENCE
) -> tuple[MetricChange, ...]:
    """Return all metrics in the task's order, those without a test last, with p-values adjusted over all of them."""
    values = {name: np.array(both, float) for name, both in task.values(pairs).items() if both}
    terms = {name: np.array(both, float) for name, both in task.terms(pairs).items() if both}
    means = {name: (both[:, 0], both[:, 1]) for name, both in values.items()}
    compared = {
        **compare_metrics(means, seed=seed, label="compare", confidence=confidence),
        **compare_ratios(terms, seed=seed, label="compare", confidence=confidence),
    }
    differences = {name: both[:, 1] - both[:, 0] for name, both in values.items()}
    twins = _twins(task, pairs, {**differences, **terms})
    (changes,) = adjusted(
        [tuple(_change_of(name, paired, twins.get(name)) for name, paired in compared.items())]
    )
    sides = [task.counts(items) for items in zip(*pairs, strict=True)] or [{}, {}]
    tested: list[MetricChange] = []
    for change in changes:
        n_before, n_after = (side.get(change.metric, 0) for side in sides)
        update = {"baseline_n": n_before, "current_n": n_after}
        tested.append(change.model_copy(update=update))
    untested = [
        _untested(figure.metric, len(pairs), figure.baseline, figure.current)
        for figure in task.untested(pairs)
    ]
    before, after = [task.figures(items) for items in zip(*pairs, strict=True)] or [{}, {}]
    alone = [
        _untested(name, 0, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if name not in compared
    ]
    return (*tested, *untested, *alone)


def _twins(
    task: Task, pairs: Sequence[tuple[Any, Any]], compared: Mapping[str, Matrix]
) -> dict[str, str]:
    """Return, for each metric that equals an earlier one on the same items, that earlier metric.

    `compared` has, by metric, the differences of each item, or the terms of a ratio. Metrics may have equal values on
    different items, so items are compared as well.
    """
    alike: dict[bytes, list[str]] = {}
    for name, rows in compared.items():
        alike.setdefault(rows.tobytes(), []).append(name)
    candidates = {name: names for names in alike.values() for name in names[1:]}
    if not candidates:
        return {}
    measured = {name: bytearray(len(pairs)) for name in compared}
    for place, pair in enumerate(pairs):
        for name, rows in (*task.values([pair]).items(), *task.terms([pair]).items()):
            if rows and name in measured:
                measured[name][place] = 1
    twins = {
        name: next(first for first in names if measured[first] == measured[name])
        for name, names in candidates.items()
    }
    return {name: first for name, first in twins.items() if first != name}


def adjusted(compared: Sequence[Sequence[MetricChange]]) -> list[tuple[MetricChange, ...]]:
    """Return the changes of each comparison, Holm-adjusted over all; equal metrics count as one test.

    The permutation test swaps the runs on random items, which changes equal metrics equally.
    """
    tested = [None if change.same_as else change.p_value for own in compared for change in own]
    p_values = iter(holm(tested))
    adjusted_changes: list[tuple[MetricChange, ...]] = []
    for own in compared:
        holm_p_values = {change.metric: next(p_values) for change in own}
        updates = ({"p_adjusted": holm_p_values[c.same_as or c.metric]} for c in own)
        both = zip(own, updates, strict=True)
        adjusted_changes.append(tuple(change.model_copy(update=new) for change, new in both))
    return adjusted_changes


def _change_of(metric: str, paired: PairedComparison, same_as: str | None) -> MetricChange:
    lower = is_lower_better(metric)
    return MetricChange.like(
        paired,
        metric=metric,
        baseline=paired.baseline_mean,
        current=paired.current_mean,
        same_as=same_as,
        detectable=paired.detectable_difference,
        improved=paired.worse if lower else paired.improved,
        worse=paired.improved if lower else paired.worse,
        changed=paired.n - paired.unchanged,
    )


def _untested(metric: str, n: int, before: float | None, after: float | None) -> MetricChange:
    difference = None if before is None or after is None else after - before
    return MetricChange(metric=metric, n=n, baseline=before, current=after, difference=difference)


def _speed(task: Task, baseline: Snapshot, current: Snapshot) -> tuple[SpeedChange, ...]:
    before, after = task.speed(baseline.metrics), task.speed(current.metrics)
    passes = task.passes(baseline.metrics), task.passes(current.metrics)
    system = current.environment.system
    of = {"of_system": system is not None, "of_file": system is not None and system.kind == "run"}
    return tuple(
        speed_change(
            name, (before[name], after[name]), passes if name == "search_p95" else (None, None)
        ).model_copy(update=of)
        for name in after
    )


_CONFIDENCE = 0.99  # passes of one run are not independent, so 95 % would be too narrow


def speed_change(
    name: Speed,
    times_ms: tuple[float | None, float | None],
    passes: tuple[SpeedReport | None, SpeedReport | None],
) -> SpeedChange:
    """Return the change of a time, baseline first; with the cost ratio if both runs have passes by the same clock."""
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
    ratio = ratio_of_means(*costs, confidence=_CONFIDENCE)
    figures = {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    return change.model_copy(update={**figures, "query_ms": before.query_ms})
