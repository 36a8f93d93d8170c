"""Compare two runs, or several with the first: metrics and their significance, items, speed and what else differs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from gigamind.choices import Relaxable
from gigamind.errors import InputError
from gigamind.i18n import Message, Text, _, joined
from gigamind.metrics.table import use_of
from gigamind.records.folder import conditions, differing
from gigamind.records.schema import SpeedReport
from gigamind.release.comparison import (
    WHAT,
    Checks,
    ComparedRun,
    Comparison,
    Correction,
    Experiment,
    ItemChange,
    LostItem,
    MetricChange,
    Mismatch,
    RunName,
    Severity,
    SliceChanges,
    SliceKind,
    SliceName,
    Speed,
    SpeedChange,
)
from gigamind.release.model import ComparedTask, Snapshot, SnapshotItem
from gigamind.stats.intervals import CONFIDENCE, Estimate, Matrix
from gigamind.stats.paired import ALPHA, PairedComparison, compare_metrics, compare_ratios, holm

_Task = ComparedTask[Any, Any, Any]
_SLICE_KINDS: tuple[SliceKind, ...] = get_args(SliceKind)


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
    baseline.check_task(current.task)
    task = current.kind
    before = {item.id: item for item in baseline.items}
    pairs = [(before[item.id], item) for item in current.items if item.id in before]
    checks = _checks(baseline, current)
    if checks != "compared":
        pairs = [(task.without_checks(a), task.without_checks(b)) for a, b in pairs]
    changed = [(change, *pair) for pair in pairs if (change := task.change(*pair))]
    changed.sort(key=lambda entry: entry[0].gain)
    return Comparison(
        task=current.task,
        baseline=_name_of(baseline),
        current=_name_of(current),
        mismatches=tuple(_differences(baseline, current)),
        shared=len(pairs),
        only_baseline=len(baseline.items) - len(pairs),
        only_current=len(current.items) - len(pairs),
        lost=_lost(task, baseline, current),
        unjudged=_silent(task, pairs, task.has_verdict),
        gone=_silent(task, pairs, task.has_answer),
        checks=checks,
        unchecked=_silent(task, pairs, task.is_checked),
        metrics=_metric_changes(task, pairs, seed=seed, confidence=confidence),
        speed=_speed(task, baseline, current),
        unchanged=len(pairs) - len(changed),
        changes=tuple(
            ItemChange(
                id=after.id,
                text=shown.text,
                change="improved" if change.gain > 0 else "worse",
                what=change.what,
                expected_notes=shown.expected_notes,
                baseline_ranking=task.shown(before).ranking,
                current_ranking=shown.ranking,
            )
            for change, before, after in changed
            if (shown := task.shown(after))
        ),
        worse_in=_worse_in(
            [pair[1] for pair in pairs], [after for change, _, after in changed if change.gain < 0]
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
        return _SLICE_KINDS.index(name[0]), sizes[name], name[1]

    return min(significant, key=order, default=None)


def _lost(task: _Task, baseline: Snapshot, current: Snapshot) -> tuple[LostItem, ...]:
    """Return the items missing from the current run; none if the runs drew different samples."""
    drawn = _sample_options(baseline, current)
    if any(baseline.config.get(name) != current.config.get(name) for name in drawn):
        return ()
    evaluated = {item.id for item in current.items}
    lost = (item for item in baseline.items if item.id not in evaluated)
    return tuple(LostItem.like(task.shown(item), id=item.id) for item in lost)


def _silent(
    task: _Task, pairs: Sequence[tuple[Any, Any]], is_known: Callable[[Any], bool]
) -> tuple[LostItem, ...]:
    """Return the items for which the baseline knows something that the current run does not; no metric has them."""
    silent = (before for before, after in pairs if is_known(before) and not is_known(after))
    return tuple(LostItem.like(task.shown(item), id=item.id) for item in silent)


def _name_of(snapshot: Snapshot) -> RunName:
    """Return which run a snapshot belongs to."""
    return RunName.like(
        snapshot.environment, run_id=snapshot.run_id, created_at=snapshot.created_at
    )


def _metric_changes(
    task: _Task, pairs: Sequence[tuple[Any, Any]], *, seed: int, confidence: float = CONFIDENCE
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
    measured = [task.measured(items) for items in zip(*pairs, strict=True)]
    (before, n_before), (after, n_after) = measured or [({}, {}), ({}, {})]
    tested = [_change_of(name, paired, twins.get(name)) for name, paired in compared.items()]
    alone = [
        _untested(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if name not in compared
    ]
    changes = {change.metric: change for change in (*_adjusted([tested])[0], *alone)}
    return tuple(
        x.model_copy(
            update={"baseline_n": n_before.get(name, 0), "current_n": n_after.get(name, 0)}
        )
        for name, x in changes.items()
    )


def _twins(
    task: _Task, pairs: Sequence[tuple[Any, Any]], compared: Mapping[str, Matrix]
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


def _adjusted(compared: Sequence[Sequence[MetricChange]]) -> list[tuple[MetricChange, ...]]:
    """Return the changes of each comparison, Holm-adjusted over all; equal metrics count as one test.

    The permutation test swaps the runs on random items, which changes equal metrics equally.
    """
    tested = [None if change.same_as else change.p_value for own in compared for change in own]
    p_values = iter(holm(tested))
    adjusted_changes: list[tuple[MetricChange, ...]] = []
    for own in compared:
        holm_p = {change.metric: next(p_values) for change in own}
        adjusted_changes.append(
            tuple(c.model_copy(update={"p_adjusted": holm_p[c.same_as or c.metric]}) for c in own)
        )
    return adjusted_changes


def _change_of(metric: str, paired: PairedComparison, same_as: str | None) -> MetricChange:
    lower = use_of(metric).lower
    return MetricChange.like(
        paired,
        metric=metric,
        same_as=same_as,
        improved=paired.worse if lower else paired.improved,
        worse=paired.improved if lower else paired.worse,
        changed=paired.n - paired.unchanged,
    )


def _untested(metric: str, before: float | None, after: float | None) -> MetricChange:
    difference = None if before is None or after is None else after - before
    return MetricChange(metric=metric, n=0, baseline=before, current=after, difference=difference)


def _speed(task: _Task, baseline: Snapshot, current: Snapshot) -> tuple[SpeedChange, ...]:
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
    ratio = Estimate.ratio_of_means(*costs, confidence=_CONFIDENCE)
    figures = {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    return change.model_copy(update={**figures, "query_ms": before.query_ms})


_MOST_TAGS = 15  # the largest, as in report.html


def compare_with_first(
    labels: Sequence[str], runs: Sequence[Snapshot], *, seed: int = 42
) -> Experiment:
    """Compare every run with the first one, on the items that all evaluated.

    Args:
        runs: at least two, in the order of their `labels`.
        seed: of the bootstrap.

    Raises:
        InputError: the tasks or datasets differ, or no item is in all runs.
    """
    named = _distinct(labels)
    _check(named, runs)
    evaluated = [{item.id for item in run.items} for run in runs]
    common = set[str].intersection(*evaluated)
    union = dict.fromkeys(item.id for run in runs for item in run.items)
    if not common:
        raise InputError(
            "no item was evaluated in all of these runs: {runs}. Their --sample or --seed differs. Run them"
            " again over the same items.",
            runs=named,
        )
    first, *others = (_only(run, common) for run in runs)
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    compared = [compare(first, other, seed=seed, confidence=confidence) for other in others]
    setups = differing(
        [conditions(run.config, run.environment, run.judge, run.notes_hash) for run in runs]
    )
    figures = [first.kind.figures(first.items), *(comparison.figures for comparison in compared)]
    slices, left_out = _slices([first, *others], seed, confidence)
    metrics = _adjusted([comparison.published().metrics for comparison in compared])
    method = "bonferroni" if len(others) > 1 else "none"
    rows = zip(named, runs, setups, evaluated, figures, strict=True)
    return Experiment(
        task=first.task,
        runs=tuple(
            ComparedRun(
                label=label,
                run=_name_of(run),
                setup=setup,
                items=len(ids),
                lacks=len(union) - len(ids),
                figures=own,
            )
            for label, run, setup, ids, own in rows
        ),
        shared=len(common),
        partial=tuple(name for name in union if name not in common),
        correction=Correction(intervals=method, confidence=confidence),
        comparisons=tuple(
            comparison.model_copy(update={"metrics": own})
            for comparison, own in zip(compared, metrics, strict=True)
        ),
        slices=slices,
        tags_left_out=left_out,
    )


def _distinct(labels: Sequence[str]) -> list[str]:
    return [
        f"{label} #{labels[: place + 1].count(label)}" if labels.count(label) > 1 else label
        for place, label in enumerate(labels)
    ]


def _check(labels: Sequence[str], runs: Sequence[Snapshot]) -> None:
    first = runs[0]
    for label, run in zip(labels, runs, strict=True):
        first.check_task(run.task)
        if run.dataset_hash != first.dataset_hash:
            raise InputError(
                "the runs cannot be compared: {first} and {other} used different datasets (dataset_hash in"
                " run.json: {first_hash} and {other_hash}). Evaluate both over one dataset. To compare the"
                " answers of two systems, give the answers of each system with --system run:FILE.",
                first=labels[0],
                other=label,
                first_hash=first.dataset_hash[:12],
                other_hash=run.dataset_hash[:12],
            )


def _only(run: Snapshot, ids: Collection[str]) -> Snapshot:
    return run.model_copy(update={"items": tuple(item for item in run.items if item.id in ids)})


def _slices(
    runs: Sequence[Snapshot], seed: int, confidence: float
) -> tuple[tuple[SliceChanges, ...], int]:
    members: dict[SliceName, set[str]] = {}
    for run in runs:
        for item in run.items:
            for name in item.slices:
                members.setdefault(name, set()).add(item.id)
    ordered = sorted(members, key=lambda name: (_SLICE_KINDS.index(name[0]), -len(members[name])))
    tags = [name for name in ordered if name[0] == "tag"]
    shown = [name for name in ordered if name not in tags[_MOST_TAGS:]]
    slices = tuple(_slice(name, members[name], runs, seed, confidence) for name in shown)
    return slices, len(tags[_MOST_TAGS:])


def _slice(
    name: SliceName, ids: Collection[str], runs: Sequence[Snapshot], seed: int, confidence: float
) -> SliceChanges:
    before, *others = ({item.id: item for item in _only(run, ids).items} for run in runs)
    pairs = [[(item, other[key]) for key, item in before.items()] for other in others]
    task = runs[0].kind
    changes = (_metric_changes(task, both, seed=seed, confidence=confidence) for both in pairs)
    metrics = tuple(tuple(change.published() for change in group) for group in changes)
    return SliceChanges(kind=name[0], key=name[1], items=len(ids), metrics=metrics)


def _checks(baseline: Snapshot, current: Snapshot) -> Checks:
    """Return how the checks of two runs compare."""
    before, after = (current.kind.checklist(run) for run in (baseline, current))
    if before == after:
        return "compared" if before else "none"
    if before and after:
        return "other"
    return "dropped" if before else "new"


def _differences(baseline: Snapshot, current: Snapshot) -> Iterator[Mismatch]:  # noqa: C901  one case a difference
    """Yield all differences of two runs other than the measured values (spec 7), the most serious first."""
    task = current.kind
    if baseline.dataset_hash != current.dataset_hash:
        same = _same_questions(baseline, current)
        yield _mismatch("recorded answers" if same else "dataset", "refuse")
    if baseline.judge_fingerprint != current.judge_fingerprint:
        yield _mismatch("judge", "refuse")
    if embedders := _embedders(baseline, current):
        yield _mismatch("embedding model", "refuse", embedders)
    settings = _changed(_BEFORE | baseline.config, _BEFORE | current.config, task.settings)
    if _system(baseline) != _system(current):
        names = _pair(_system_name(baseline), _system_name(current))
        systems = (run.environment.system for run in (baseline, current))
        can_be_named = all(system and system.kind != "run" for system in systems)
        yield _open("system", "settings", names, _SAME_SYSTEM if can_be_named else "")
    elif settings:
        yield _open(_SETTINGS[current.task], "settings", settings)
    if served := _changed(task.models(baseline.metrics), task.models(current.metrics)):
        yield _open("model version", "models", served)
    if drawn := _changed(baseline.config, current.config, _sample_options(baseline, current)):
        yield _open("sample", "sample", drawn)
    notes = [(run.notes_hash, run.notes_hash_mode) for run in (baseline, current)]
    if notes[0] != notes[1]:
        yield _open("notes", "notes")
    if baseline.hardware.hash != current.hardware.hash:
        cpus = _pair(baseline.hardware.cpu, current.hardware.cpu)
        yield _open("hardware", "hardware", cpus)
    if _checks(baseline, current) not in {"none", "compared"}:
        yield _mismatch("checklist", "no-checks")
    if baseline.environment.rag_schema_version != current.environment.rag_schema_version:
        yield _mismatch("index schema", "warn")


_SAME_SYSTEM = _(
    "If this is the same system at a new address, pass the same --system-name NAME in both runs."
)
_EFFECTS: Mapping[str, Message] = {
    "dataset": _("A change of a metric may come from the dataset and not from the system."),
    "recorded answers": _(
        "To compare the answers of two systems, use one dataset and give the answers of each system with"
        " `--system run:FILE`."
    ),
    "sample": _("Items outside the samples may have got worse unnoticed."),
    "notes": _("A change of a metric may come from the notes and not from the system."),
    "hardware": _("Their speed is not compared."),
    "checklist": _(
        "All other metrics are compared. To compare the checklist results, evaluate both runs with one --checklist."
    ),
    "index schema": _("Chunks, tokens or scores may differ."),
}


def _mismatch(
    what: str,
    severity: Severity,
    detail: Text = "",
    key: Relaxable | None = None,
    effect: Text = "",
) -> Mismatch:
    differ = _("The runs differ in {what}.", what=WHAT[what])
    if detail:
        differ = _("The runs differ in {what} ({detail}).", what=WHAT[what], detail=detail)
    effect = effect or _EFFECTS.get(what, "")
    texts = [differ, *([effect] if effect else [])]
    if severity == "refuse":
        texts.append(_("Create a new baseline."))
    if key:
        fix = _(
            "If the change is intentional, make this run the baseline (`gigamind baseline promote --force`) or"
            " rerun with `--changed {key}`.",
            key=key,
        )
        texts.append(fix)
    meaning = joined(texts, " ")
    return Mismatch(what=what, severity=severity, meaning=meaning, relaxed_by=key, detail=detail)


def _open(what: str, key: Relaxable, detail: Text = "", effect: Text = "") -> Mismatch:
    return _mismatch(what, "no-verdict", detail, key, effect)


_SETTINGS = {
    "search": "retrieval settings",
    "links": "suggesting settings",
    "answers": "answering settings",
}
_WITHOUT_MODEL = ("mode", "semantic")  # settings that turn the embedding model on or off
_BEFORE = {  # behaviour of runs older than an option
    "fusion": "weighted",
    "title_weight": 0.1,
    "chunk_chars": 800,
    "evidence_notes": 3,
    "context_notes": 5,
    "context_chars": 12_000,
}


def _sample_options(*runs: Snapshot) -> tuple[str, ...]:
    """Return the options that draw the samples of runs; without samples, the seed has no effect."""
    is_sample = any(run.config.get("sample") is not None for run in runs)
    return ("sample", "seed") if is_sample else ()


def _same_questions(baseline: Snapshot, current: Snapshot) -> bool:
    """Return whether both runs evaluate answers recorded in their datasets, to the same questions."""
    task = current.kind
    if not (task.is_recorded(baseline) and task.is_recorded(current)):
        return False
    questions = [
        {entry.id: task.shown(entry).text for entry in run.items} for run in (baseline, current)
    ]
    return questions[0] == questions[1]


def _system(run: Snapshot) -> str:
    return run.environment.system.fingerprint if run.environment.system else ""


def _system_name(run: Snapshot) -> Text:
    return run.environment.system.name if run.environment.system else "builtin"


def _pair(before: Text, after: Text) -> Message:
    return _("{before} → {after}", before=before, after=after)


def _embedders(baseline: Snapshot, current: Snapshot) -> Text:
    """Return both embedding models if one system used two; "" otherwise, also if settings turned one off."""
    before, after = (run.environment.embedding_model for run in (baseline, current))
    if before == after or _system(baseline) != _system(current):
        return ""
    is_setting = any(baseline.config.get(key) != current.config.get(key) for key in _WITHOUT_MODEL)
    if None in {before, after} and is_setting:
        return ""
    return _pair(before or _("none"), after or _("none"))


def check_models(baseline: Snapshot, current: Snapshot) -> None:
    """Raise InputError if a gate would compare two embedding models (spec 7)."""
    if differing := _embedders(baseline, current):
        raise InputError(
            "the runs cannot be compared: their embedding models differ ({models}). Create a new baseline with"
            " the model of this run, or compare finished runs with `gigamind compare`.",
            models=differing,
        )


def _changed(
    baseline: Mapping[str, object],
    current: Mapping[str, object],
    names: Iterable[str] | None = None,
) -> Text:
    known = baseline.keys() & current.keys()
    changes: list[Message] = []
    for name in current if names is None else names:
        if name in known and baseline[name] != current[name]:
            before, after = _plain(name, baseline[name]), _plain(name, current[name])
            changes.append(_("{name} {before} → {after}", name=name, before=before, after=after))
    return joined(changes, ", ") if changes else ""


def _plain(name: str, value: object) -> Text:
    if value is None:
        return _("all") if name == "sample" else _("none")
    return str(value).strip("(),").replace("'", "")  # names of models come as a tuple
