"""history.json: the metrics of all runs in a folder over time, and their change points."""

from collections.abc import Sequence
from pathlib import Path

from gigamind.metrics.table import in_order
from gigamind.records.history import PastRun, conditions, differing, histories
from gigamind.records.judged import Report
from gigamind.stats.changes import LevelChange, level_changes


class MetricLevel(Report):
    """A metric with a change point: its means since the previous one, and until the next one."""

    metric: str
    before: float
    after: float


class LevelShift(Report):
    """A change point.

    Attributes:
        run: index of the first run after it, from 0, among all runs of the history.
        p_value: share of shuffled histories that differ as much, over all metrics and places.
        metrics: the most significant first.
        cause: settings that differ from the previous comparable run, old and new value, by name.
    """

    run: int
    p_value: float
    metrics: tuple[MetricLevel, ...]
    cause: dict[str, tuple[str, str]]


class HistoryRun(Report):
    """One run; only those `alike` (dataset, judge and sample of the last run) are searched for changes."""

    folder: str
    run_id: str
    created_at: str
    app_version: str
    alike: bool
    figures: dict[str, float]


class RunHistory(Report):
    """The runs of one task over one dataset and vault, oldest first; metrics `lacking` in some are not searched."""

    task: str
    dataset: str
    notes: str
    runs: tuple[HistoryRun, ...]
    changes: tuple[LevelShift, ...]
    lacking: tuple[str, ...]

    @property
    def comparable(self) -> int:
        """Return the number of runs that are searched for changes."""
        return sum(run.alike for run in self.runs)


class Histories(Report):
    """history.json; `skipped` is the number of folders without a complete run."""

    folder: str
    histories: tuple[RunHistory, ...]
    skipped: int


def read_history(folder: Path, *, seed: int = 42) -> Histories:
    """Return all histories in a folder, in the order of their first runs.

    Raises:
        InputError: the folder does not exist, or has no complete run.
    """
    past_runs, skipped = histories(folder)
    return Histories(
        folder=str(folder),
        histories=tuple(_history(runs, seed) for runs in past_runs),
        skipped=skipped,
    )


def _history(runs: Sequence[PastRun], seed: int) -> RunHistory:
    alike = [at for at, past in enumerate(runs) if past.measure == runs[-1].measure]
    names = in_order(list(dict.fromkeys(name for at in alike for name in runs[at].figures)))
    series = {
        name: [runs[at].figures[name] for at in alike]
        for name in names
        if all(name in runs[at].figures for at in alike)
    }
    changes = level_changes(series, seed=seed)
    ends = [0, *(change.at for change in changes), len(alike)]
    task, dataset, notes = runs[-1].source
    return RunHistory(
        task=task,
        dataset=dataset,
        notes=notes,
        runs=tuple(
            HistoryRun(
                folder=past.folder,
                run_id=past.run.run_id,
                created_at=past.run.created_at,
                app_version=past.run.environment.app_version,
                alike=at in alike,
                figures=dict(past.figures),
            )
            for at, past in enumerate(runs)
        ),
        changes=tuple(
            LevelShift(
                run=alike[change.at],
                p_value=change.p_value,
                metrics=_levels(change, series, ends[place], ends[place + 2]),
                cause=_cause(runs[alike[change.at - 1]], runs[alike[change.at]]),
            )
            for place, change in enumerate(changes)
        ),
        lacking=tuple(name for name in names if name not in series),
    )


def _levels(
    change: LevelChange, series: dict[str, list[float]], start: int, end: int
) -> tuple[MetricLevel, ...]:
    return tuple(
        MetricLevel(
            metric=name,
            before=_mean(series[name][start : change.at]),
            after=_mean(series[name][change.at : end]),
        )
        for name in change.series
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _cause(before: PastRun, after: PastRun) -> dict[str, tuple[str, str]]:
    runs = [past.run for past in (before, after)]
    old, new = differing(
        [conditions(run.options, run.environment, run.judge, run.notes_hash) for run in runs]
    )
    return {name: (old[name], new[name]) for name in new}
