"""Compare any runs over one dataset with the first, on the items that all evaluated; no verdict on a release."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.records.history import conditions, differing
from gigamind.records.judged import Report
from gigamind.release.compare import adjusted, compare, metric_changes, name_of
from gigamind.release.comparison import Comparison, MetricChange, RunName, Snapshot
from gigamind.release.mismatch import check_task, same_questions
from gigamind.release.model import SLICE_KINDS, SliceKind, SliceName
from gigamind.stats.intervals import CONFIDENCE
from gigamind.stats.paired import MIN_PAIRS

MOST_TAGS = 15  # the largest, as in report.html


class ComparedRun(Report):
    """One run of an experiment; `label` is unique.

    Attributes:
        setup: settings that differ between the runs, by name; each run has the same names.
        lacks: number of items that another run evaluated and this one did not.
        figures: metrics over the items that all runs evaluated.
    """

    label: str
    run: RunName
    setup: dict[str, str]
    items: int
    lacks: int
    figures: dict[str, float]


class Correction(Report):
    """The correction for several comparisons.

    Attributes:
        intervals: "bonferroni" over the runs compared with the first, so that all intervals of a metric cover their
            true values in 95 % of experiments; "none" for a single comparison.
        p_values: "holm" over all metrics of all runs.
    """

    intervals: Literal["none", "bonferroni"]
    confidence: float
    p_values: Literal["holm"] = "holm"


class SliceChanges(Report):
    """One slice of the items; a change has no interval if fewer than six items were measured."""

    kind: SliceKind
    key: str
    items: int
    metrics: tuple[tuple[MetricChange, ...], ...]


class Experiment(Report):
    """The `experiment` of compare.json; the first of the runs is the reference.

    Attributes:
        shared: number of items that all runs evaluated.
        partial: ids of the items that only some runs evaluated; no metric includes them.
        comparisons: of each other run with the first, over the shared items; `p_adjusted` is over all of them.
        slices: for exploration; their intervals are not corrected for the number of slices.
        tags_left_out: number of smaller tags that are not among the slices.
    """

    version: Literal["1.0"] = "1.0"
    task: str
    runs: tuple[ComparedRun, ...]
    shared: int
    partial: tuple[str, ...]
    correction: Correction
    comparisons: tuple[Comparison, ...]
    slices: tuple[SliceChanges, ...]
    tags_left_out: int

    @property
    def reference(self) -> ComparedRun:
        """Return the run that the others are compared with."""
        return self.runs[0]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of all metrics, in the task's order."""
        names = (change.metric for comparison in self.comparisons for change in comparison.metrics)
        return tuple(dict.fromkeys(names))


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
            _(
                "no item was evaluated in all of these runs: {runs}. Their --sample or --seed differs. Run them"
                " again over the same items.",
                runs=named,
            )
        )
    first, *others = (_only(run, common) for run in runs)
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    compared = [compare(first, other, seed=seed, confidence=confidence) for other in others]
    setups = differing(
        [
            conditions(entry.config, entry.environment, entry.judge, entry.notes_hash)
            for entry in runs
        ]
    )
    figures = [first.kind.figures(first.items), *(comparison.figures for comparison in compared)]
    slices, left_out = _slices([first, *others], seed, confidence)
    method = "bonferroni" if len(others) > 1 else "none"
    rows = zip(named, runs, setups, evaluated, figures, strict=True)
    return Experiment(
        task=first.task,
        runs=tuple(
            ComparedRun(
                label=label,
                run=name_of(run),
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
        comparisons=_adjusted(compared),
        slices=slices,
        tags_left_out=left_out,
    )


def _distinct(labels: Sequence[str]) -> list[str]:
    times = Counter(labels)
    seen: Counter[str] = Counter()
    named: list[str] = []
    for label in labels:
        seen[label] += 1
        named.append(f"{label} #{seen[label]}" if times[label] > 1 else label)
    return named


def _check(labels: Sequence[str], runs: Sequence[Snapshot]) -> None:
    first = runs[0]
    for label, run in zip(labels, runs, strict=True):
        check_task(first, run.task)
        if run.dataset_hash != first.dataset_hash:
            if same_questions(first, run):
                raise InputError(
                    _(
                        "the runs cannot be compared: the datasets of {first} and {other} have the same questions but"
                        " different answers, contexts or labels. To compare the answers of two systems, use one"
                        " dataset and give the answers of each system with --system run:FILE.",
                        first=labels[0],
                        other=label,
                    )
                )
            raise InputError(
                _(
                    "the runs cannot be compared: they used different datasets. The dataset_hash in run.json is"
                    " {first_hash} for {first} and {other_hash} for {other}. Evaluate both over one dataset.",
                    first=labels[0],
                    first_hash=first.dataset_hash[:12],
                    other=label,
                    other_hash=run.dataset_hash[:12],
                )
            )


def _only(run: Snapshot, ids: Collection[str]) -> Snapshot:
    return run.model_copy(update={"items": tuple(item for item in run.items if item.id in ids)})


def _adjusted(compared: Sequence[Comparison]) -> tuple[Comparison, ...]:
    changes = adjusted([comparison.metrics for comparison in compared])
    return tuple(
        comparison.model_copy(update={"metrics": metrics})
        for comparison, metrics in zip(compared, changes, strict=True)
    )


def _slices(
    runs: Sequence[Snapshot], seed: int, confidence: float
) -> tuple[tuple[SliceChanges, ...], int]:
    members: dict[SliceName, set[str]] = {}
    for run in runs:
        for item in run.items:
            for name in item.slices:
                members.setdefault(name, set()).add(item.id)
    ordered = sorted(members, key=lambda name: (SLICE_KINDS.index(name[0]), -len(members[name])))
    tags = [name for name in ordered if name[0] == "tag"]
    shown = [name for name in ordered if name not in tags[MOST_TAGS:]]
    slices = tuple(_slice(name, members[name], runs, seed, confidence) for name in shown)
    return slices, len(tags[MOST_TAGS:])


def _slice(
    name: SliceName, ids: Collection[str], runs: Sequence[Snapshot], seed: int, confidence: float
) -> SliceChanges:
    before, *others = ({item.id: item for item in _only(run, ids).items} for run in runs)
    pairs = [[(item, other[key]) for key, item in before.items()] for other in others]
    task = runs[0].kind
    changes = (metric_changes(task, both, seed=seed, confidence=confidence) for both in pairs)
    metrics = tuple(tuple(map(_cautious, group)) for group in changes)
    return SliceChanges(kind=name[0], key=name[1], items=len(ids), metrics=metrics)


def _cautious(change: MetricChange) -> MetricChange:
    """Return the change without its interval if there are few items: two equal changes would give zero width."""
    return change.model_copy(update={"low": None, "high": None}) if change.n < MIN_PAIRS else change
