"""What changed between two runs, and how surely: metrics, items and speed; or why they may not be compared.

What differs in dataset, notes, judge or settings is a mismatch, and takes away the figures that it spoils (seed 6.2
and 7).
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from gigamind.errors import InputError
from gigamind.metrics.table import is_lower_better
from gigamind.release.model import (
    Change,
    Checks,
    ComparedTask,
    EvalSnapshot,
    Shown,
    SnapshotHit,
    Speed,
    checks_of,
    why_not_compared,
)
from gigamind.stats.paired import PairedComparison, compare_metrics, compare_ratios, holm

Snapshot = EvalSnapshot[Any, Any]
Severity = Literal["refuse", "no-speed", "no-checks", "warn"]


class Mismatch(BaseModel):
    """One thing in which two runs differ beside what is measured.

    Attributes:
        severity: "refuse": no verdict on anything; "no-speed": all but speed may be compared; "no-checks": all but
            the checks by a checklist; "warn": all may, with this in mind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    severity: Severity
    meaning: str


def mismatches(baseline: Snapshot, current: Snapshot) -> tuple[Mismatch, ...]:
    """Everything in which the two differ, the gravest first.

    Raises:
        InputError: the tasks differ, or the embedding models: their scores have nothing in common.
    """
    check_task(baseline, current.task)
    _check_models(baseline, current)
    return tuple(
        Mismatch(what=what, severity=severity, meaning=meaning)
        for what, differs, severity, meaning in _checks(baseline, current)
        if differs
    )


def checklists(baseline: Snapshot, current: Snapshot) -> tuple[str, str]:
    """Fingerprints of the checklists of both; "" for a run without checks."""
    task = current.kind
    return task.checklist(baseline), task.checklist(current)


def _checks(baseline: Snapshot, current: Snapshot) -> tuple[tuple[str, bool, Severity, str], ...]:
    """What may differ, whether it does, how grave that is, and what it means."""
    task = current.kind
    changed = _changed(baseline, current)
    marks = checklists(baseline, current)
    return (
        (
            "dataset",
            baseline.dataset_hash != current.dataset_hash,
            "refuse",
            f"The datasets differ: a difference may come from the {task.said.subject}. A new baseline is needed.",
        ),
        (
            "judge",
            baseline.judge_fingerprint != current.judge_fingerprint,
            "refuse",
            "The verdicts were given by different judges or thresholds. A new baseline is needed.",
        ),
        (
            "checklist",
            checks_of(marks) == "not-compared",
            "no-checks",
            why_not_compared(marks),
        ),
        (
            f"{task.said.setting} settings",
            bool(changed),
            "warn",
            f"{task.said.setting.capitalize()} was set differently ({changed}): that may be what is measured here.",
        ),
        (
            "notes",
            baseline.notes_hash != current.notes_hash
            or baseline.notes_hash_mode != current.notes_hash_mode,
            "warn",
            f"The notes changed: a difference may come from them and not from {task.said.maker}.",
        ),
        (
            "hardware",
            baseline.hardware.hash != current.hardware.hash,
            "no-speed",
            "The hardware differs: quality is compared, speed is not.",
        ),
        (
            "index schema",
            baseline.environment.rag_schema_version != current.environment.rag_schema_version,
            "warn",
            "The index is built in another way (chunks, tokens or scores).",
        ),
    )


def _check_models(baseline: Snapshot, current: Snapshot) -> None:
    models = baseline.environment.embedding_model, current.environment.embedding_model
    if models[0] != models[1]:
        raise InputError(
            f"the runs cannot be compared: the baseline used the embedding model {models[0]}, the current run"
            f" {models[1]}; make a new baseline with the new model"
        )


def check_task(baseline: Snapshot, task: str) -> None:
    """See to it that a baseline is of this task.

    Raises:
        InputError: it is of another one.
    """
    if baseline.task != task:
        raise InputError(
            f"the runs cannot be compared: the baseline {baseline.run_id} is of the task {baseline.task}, the current"
            f" run of {task}; give a baseline of {task}"
        )


_BEFORE = {"fusion": "weighted", "evidence_notes": 3}  # what runs did that are older than an option


def _changed(baseline: Snapshot, current: Snapshot) -> str:
    """The settings that differ, with both values; "" where none does."""
    both = (
        (name, *(run.config.get(name, _BEFORE.get(name)) for run in (baseline, current)))
        for name in current.kind.settings
    )
    return ", ".join(f"{name} {old} -> {new}" for name, old, new in both if old != new)


COMPARE_VERSION = "1.1"  # 1.0 called an item's text its query and knew one task
Task = ComparedTask[Any, Any, Any]


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
        return round(self.difference if is_lower_better(self.metric) else -self.difference, 12)


class ComparedItem(_Part):
    """Which item this is: a query, a note, a question."""

    id: str
    text: str
    expected_notes: tuple[str, ...]


class ItemChange(ComparedItem):
    """One item that ended otherwise than in the baseline.

    Attributes:
        baseline_ranking, current_ranking: null for a task that ranks nothing.
    """

    change: Literal["improved", "worse"]
    what: str
    baseline_ranking: tuple[SnapshotHit, ...] | None
    current_ranking: tuple[SnapshotHit, ...] | None


class LostItem(ComparedItem):
    """An item that could not be evaluated any more; the current run's errors.jsonl says why."""


class SpeedChange(_Part):
    """A time in milliseconds; null where a run did not measure it."""

    name: Speed
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
        unjudged: shared items about which the judge decided in the baseline and not in the current run.
        checks: whether those of a checklist are compared; "none" where neither run has any.
        unchecked: shared items that were checked in the baseline and not in the current run, where they are.
        unchanged: shared items that ended alike.
        changes: the worse first, the worst of them first.
    """

    version: Literal["1.1"] = COMPARE_VERSION
    task: str
    baseline: RunName
    current: RunName
    mismatches: tuple[Mismatch, ...]
    shared: int
    only_baseline: int
    only_current: int
    lost: tuple[LostItem, ...]
    unjudged: tuple[LostItem, ...] = ()
    checks: Checks = "none"
    unchecked: tuple[LostItem, ...] = ()
    metrics: tuple[MetricChange, ...]
    speed: tuple[SpeedChange, ...]
    unchanged: int
    changes: tuple[ItemChange, ...]

    def metric(self, name: str) -> MetricChange | None:
        """The metric of that name, such as `search.mrr`."""
        return next((found for found in self.metrics if found.metric == name), None)


def compare(baseline: Snapshot, current: Snapshot, *, seed: int = 42) -> Comparison:
    """Compare two runs of one task on the items that both evaluated.

    Raises:
        InputError: their tasks or their embedding models differ.
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
        baseline=_name(baseline),
        current=_name(current),
        mismatches=found,
        shared=len(pairs),
        only_baseline=len(baseline.items) - len(pairs),
        only_current=len(current.items) - len(pairs),
        lost=_lost(task, baseline, current),
        unjudged=_silent(task, pairs, task.has_verdict),
        checks=checks,
        unchecked=_silent(task, pairs, task.is_checked),
        metrics=_metrics(task, pairs, seed),
        speed=_speed(task, baseline, current),
        unchanged=len(pairs) - len(changed),
        changes=tuple(
            _item_change(after.id, change, task.shown(before), task.shown(after))
            for change, before, after in changed
        ),
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


def _name(snapshot: Snapshot) -> RunName:
    return RunName(
        run_id=snapshot.run_id,
        created_at=snapshot.created_at,
        app_version=snapshot.environment.app_version,
        git_commit=snapshot.environment.git_commit,
    )


def _metrics(task: Task, pairs: Sequence[tuple[Any, Any]], seed: int) -> tuple[MetricChange, ...]:
    """All metrics in the task's order, those without a test last; p-values adjusted over all of them."""
    values = {name: np.array(both, float) for name, both in task.values(pairs).items() if both}
    terms = {name: np.array(both, float) for name, both in task.terms(pairs).items() if both}
    means = {name: (both[:, 0], both[:, 1]) for name, both in values.items()}
    compared = {
        **compare_metrics(means, seed=seed, label="compare"),
        **compare_ratios(terms, seed=seed, label="compare"),
    }
    adjusted = holm([found.p_value for found in compared.values()])
    tested = [
        _change_of(name, found, p)
        for (name, found), p in zip(compared.items(), adjusted, strict=True)
    ]
    untested = [
        _untested(one.metric, len(pairs), one.baseline, one.current) for one in task.untested(pairs)
    ]
    return (*tested, *untested)


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
    )


def _untested(metric: str, n: int, before: float | None, after: float | None) -> MetricChange:
    difference = None if before is None or after is None else after - before
    return MetricChange(metric=metric, n=n, baseline=before, current=after, difference=difference)


def _speed(task: Task, baseline: Snapshot, current: Snapshot) -> tuple[SpeedChange, ...]:
    before, after = task.speed(baseline.metrics), task.speed(current.metrics)
    return tuple(
        SpeedChange(name=name, baseline_ms=before[name], current_ms=after[name]) for name in after
    )
