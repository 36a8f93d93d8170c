"""Any runs over one dataset held against the first of them: what differs, how surely, in which slices, on which items.

Nothing here says whether a release may go out: that is what gates are for.  Runs may be of any mode, embedder or
system; every figure is over the items that all of them evaluated.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

from gigamind.errors import InputError
from gigamind.records.history import conditions, differing
from gigamind.records.judged import Report
from gigamind.release.compare import adjusted, compare, metric_changes, name_of
from gigamind.release.comparison import Comparison, MetricChange, RunName, Snapshot
from gigamind.release.mismatch import asks_the_same, check_task
from gigamind.release.model import SLICE_KINDS, SliceKind, SliceName
from gigamind.stats.intervals import CONFIDENCE
from gigamind.stats.paired import MIN_PAIRS

MOST_TAGS = 15  # the largest, as in report.html


class ComparedRun(Report):
    """One run of an experiment.

    Attributes:
        label: the name of its folder or file, distinct among the runs.
        setup: what was set or searched otherwise than in another of the runs, by name; the same names in each run.
        items: how many it evaluated.
        lacks: how many it did not evaluate that another run did.
        figures: over the items that all runs evaluated.
    """

    label: str
    run: RunName
    setup: dict[str, str]
    items: int
    lacks: int
    figures: dict[str, float]


class Correction(Report):
    """What many runs cost in certainty.

    Attributes:
        intervals: "bonferroni" over the runs that are held against the first: all intervals of a metric hold what they
            are about in 95 of 100 experiments, however the runs depend on one another (they share a reference); "none"
            for one such run.
        confidence: of each interval by itself.
        p_values: "holm" over every metric of every run.
    """

    intervals: Literal["none", "bonferroni"]
    confidence: float
    p_values: Literal["holm"] = "holm"


class SliceChanges(Report):
    """One slice of the items.

    Attributes:
        key: "" where the kind says all.
        metrics: of each run but the first; without an interval where fewer than six items were measured.
    """

    kind: SliceKind
    key: str
    items: int
    metrics: tuple[tuple[MetricChange, ...], ...]


class Experiment(Report):
    """The `experiment` of compare.json.

    Attributes:
        runs: as they were named; the first is the reference.
        shared: items that all runs evaluated.
        partial: ids of the items that some runs evaluated and others did not, which are in no figure.
        comparisons: of each run but the first with the first, over the shared items, `p_adjusted` over all of them.
        slices: of looks, not of decisions: their intervals are not corrected for the number of slices.
        tags_left_out: smaller tags that are not among them.
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
        """The run that the others are held against."""
        return self.runs[0]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics, in the order of the task's."""
        names = (change.metric for comparison in self.comparisons for change in comparison.metrics)
        return tuple(dict.fromkeys(names))


def hold_against(labels: Sequence[str], runs: Sequence[Snapshot], *, seed: int = 42) -> Experiment:
    """Hold every run against the first one, on the items that all evaluated.

    Args:
        labels: what the runs are called, in their order.
        runs: at least two.
        seed: of the intervals.

    Raises:
        InputError: they are of different tasks or datasets, or no item is in all of them.
    """
    named = _distinct(labels)
    _check(named, runs)
    evaluated = [{item.id for item in run.items} for run in runs]
    common = set[str].intersection(*evaluated)
    union = dict.fromkeys(item.id for run in runs for item in run.items)
    if not common:
        raise InputError(
            f"no item was evaluated in all of {', '.join(named)}: another --sample or --seed was drawn; run them over"
            " the same items"
        )
    first, *others = (_only(run, common) for run in runs)
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    compared = [compare(first, other, seed=seed, confidence=confidence) for other in others]
    setups = differing(
        [conditions(run.config, run.environment, run.judge, run.notes_hash) for run in runs]
    )
    figures = [first.kind.figures(first.items), *(comparison.figures for comparison in compared)]
    slices, left_out = _slices([first, *others], seed, confidence)
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
            for label, run, setup, ids, own in zip(
                named, runs, setups, evaluated, figures, strict=True
            )
        ),
        shared=len(common),
        partial=tuple(name for name in union if name not in common),
        correction=Correction(
            intervals="bonferroni" if len(others) > 1 else "none", confidence=confidence
        ),
        comparisons=_adjusted(compared),
        slices=slices,
        tags_left_out=left_out,
    )


def _distinct(labels: Sequence[str]) -> list[str]:
    """The labels, those that several runs have with a number."""
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
            if asks_the_same(first, run):
                raise InputError(
                    f"the runs cannot be compared: the datasets of {labels[0]} and {label} ask the same questions, and"
                    " record other answers, contexts or labels; to compare the answers of two systems, keep one dataset"
                    " and give the answers of each with --system run:FILE"
                )
            raise InputError(
                f"the runs cannot be compared: {labels[0]} is over the dataset {first.dataset_hash[:12]}, {label} over"
                f" {run.dataset_hash[:12]} (dataset_hash of run.json); evaluate both over one dataset"
            )


def _only(run: Snapshot, ids: Collection[str]) -> Snapshot:
    """The run as if it had these items alone."""
    return run.model_copy(update={"items": tuple(item for item in run.items if item.id in ids)})


def _adjusted(compared: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with p-values that are adjusted over all of them."""
    changes = adjusted([comparison.metrics for comparison in compared])
    return tuple(
        comparison.model_copy(update={"metrics": metrics})
        for comparison, metrics in zip(compared, changes, strict=True)
    )


def _slices(
    runs: Sequence[Snapshot], seed: int, confidence: float
) -> tuple[tuple[SliceChanges, ...], int]:
    """The slices of the items, the largest of a kind first; and how many tags are left out."""
    members: dict[SliceName, set[str]] = {}
    for run in runs:
        for item in run.items:
            for name in item.slices:
                members.setdefault(name, set()).add(item.id)
    ordered = sorted(members, key=lambda name: (SLICE_KINDS.index(name[0]), -len(members[name])))
    tags = [name for name in ordered if name[0] == "tag"]
    shown = [name for name in ordered if name not in tags[MOST_TAGS:]]
    made = tuple(_slice(name, members[name], runs, seed, confidence) for name in shown)
    return made, len(tags[MOST_TAGS:])


def _slice(
    name: SliceName, ids: Collection[str], runs: Sequence[Snapshot], seed: int, confidence: float
) -> SliceChanges:
    before, *others = ({item.id: item for item in _only(run, ids).items} for run in runs)
    pairs = [[(item, other[key]) for key, item in before.items()] for other in others]
    task = runs[0].kind
    return SliceChanges(
        kind=name[0],
        key=name[1],
        items=len(ids),
        metrics=tuple(
            tuple(
                _cautious(change)
                for change in metric_changes(task, both, seed=seed, confidence=confidence)
            )
            for both in pairs
        ),
    )


def _cautious(change: MetricChange) -> MetricChange:
    """Without the interval of a few items, of which two that change alike would have one without width."""
    return change.model_copy(update={"low": None, "high": None}) if change.n < MIN_PAIRS else change
