"""The metrics of all runs in a folder over time, and their change points: history.json and its page."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from gigamind.formats import moment, points, share
from gigamind.i18n import Message, Text, Translator, _, joined, n_
from gigamind.metrics.table import has_no_direction, in_order, is_lower_better
from gigamind.records.history import PastRun, conditions, differing, histories
from gigamind.records.judged import Report
from gigamind.records.schema import RunReport
from gigamind.release.policy import rule_label
from gigamind.reports.charts import Course, Trend
from gigamind.reports.comparison import main_keys
from gigamind.reports.document import (
    Cell,
    Column,
    Difference,
    Document,
    Group,
    Moment,
    Plot,
    Proportion,
    Prose,
    Section,
    Step,
    Table,
    Verdict,
    shaped,
    table,
)
from gigamind.reports.experiment import setting_name, value_text
from gigamind.reports.verdict import NO_RELEASE, TASKS
from gigamind.stats.changes import LevelChange, level_changes

ENOUGH = 9  # runs; with fewer, no difference reaches `stats.changes.LEVEL`
_LEAST_ROWS = 3  # of a chart


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
            HistoryRun.like(
                past.run,
                folder=past.folder,
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
                cause=_cause(*(runs[alike[at]].run for at in (change.at - 1, change.at))),
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


def _cause(*runs: RunReport) -> dict[str, tuple[str, str]]:
    old, new = differing(
        [conditions(run.options, run.environment, run.judge, run.notes_hash) for run in runs]
    )
    return {name: (old[name], new[name]) for name in new}


def history_document(histories: Histories, say: Translator) -> Document:
    """Return the page: the latest change point, all of them, and the trends."""
    all_runs = [run for history in histories.histories for run in history.runs]
    days = sorted(run.created_at[:10] for run in all_runs)
    span = n_(
        "{n} run, {first} to {last}",
        "{n:,} runs, {first} to {last}",
        n=len(all_runs),
        first=days[0],
        last=days[-1],
    )
    several = len(histories.histories) > 1
    shifts = [(history, change) for history in histories.histories for change in history.changes]
    shifts.sort(key=lambda shift: shift[0].runs[shift[1].run].created_at, reverse=True)
    columns = (_("since"), _("metric"), _("before"), _("after"), _("difference"), _("changed settings"))  # fmt: skip
    groups = tuple(
        Group(tuple(_shift_rows(history)), _subject(history) if several else "")
        for history in histories.histories
    )
    return shaped(
        _("History of runs"),
        joined((histories.folder, span), " · "),
        verdict=_verdict(histories, shifts),
        warnings=_warnings(histories, several=several),
        steps=_steps(histories, shifts),
        table=Table(tuple(map(Column, columns)), groups),
        sections=[
            section
            for place, history in enumerate(histories.histories, 1)
            for section in _sections(history, place, say, several=several)
        ],
        version=max(all_runs, key=lambda run: run.created_at).app_version,
    )


def _subject(history: RunHistory) -> Message:
    """Return the task, the dataset and the notes of a history, in a line."""
    places = (Path(place).name for place in (history.dataset, history.notes) if place)
    return joined((TASKS[history.task], *places), " · ")


def _verdict(histories: Histories, shifts: Sequence[tuple[RunHistory, LevelShift]]) -> Verdict:
    results = [
        _("{subject}: {result}", subject=_subject(history), result=_result(history))
        for history in histories.histories
    ]
    distinct = {str(_result(history)) for history in histories.histories}
    leads = (*(results if len(distinct) > 1 else ()), NO_RELEASE)
    if not shifts:
        longest = max(histories.histories, key=lambda history: history.comparable)
        enough = longest.comparable >= ENOUGH
        return Verdict("measured" if enough else "inconclusive", _result(longest), leads)
    history, change = shifts[0]
    run, levels = history.runs[change.run], _shown_levels(history, change)
    level = max(levels, key=_drop)
    sentence = _(
        "Latest change: {metric} {size} since run {run} of {created}. Changed settings: {cause}.",
        metric=rule_label(level.metric),
        size=points(level.after - level.before),
        run=run.folder,
        created=moment(run.created_at),
        cause=_cause_text(change),
    )
    return Verdict("warning" if _drop(level) > 0 else "measured", sentence, leads)


def _drop(level: MetricLevel) -> float:
    """Return by how much a metric got worse."""
    difference = level.after - level.before
    return difference if is_lower_better(level.metric) else -difference


def _result(history: RunHistory) -> Message:
    if history.changes:
        return n_("{n} change point.", "{n} change points.", n=len(history.changes))
    result = _("No change point detected.")
    if history.comparable < ENOUGH:
        result = _(
            "Change detection needs at least {enough} comparable runs; this history has {runs}.",
            enough=ENOUGH,
            runs=history.comparable,
        )
    best, level = _best_run(history)
    if round(_drop(level), 3) <= 0:
        return result
    fall = _(
        "The last run is {size} worse than the best run in {metric} ({last}; {best} {value}).",
        size=points(abs(level.after - level.before), signed=False),
        metric=rule_label(level.metric),
        last=share(level.after),
        best=best.folder,
        value=share(level.before),
    )
    return joined([result, fall], " ")


def _best_run(history: RunHistory) -> tuple[HistoryRun, MetricLevel]:
    """Return the run that the last one is furthest behind, and the main metric in which it is."""
    runs = [run for run in history.runs if run.alike]
    levels = [
        (run, MetricLevel(metric=name, before=run.figures[name], after=after))
        for name, after in runs[-1].figures.items()
        if name in main_keys(list(runs[-1].figures)) and not has_no_direction(name)
        for run in runs
        if name in run.figures
    ]
    none = runs[-1], MetricLevel(metric="", before=0.0, after=0.0)
    return max(levels, key=lambda entry: round(_drop(entry[1]), 3), default=none)


def _shown_levels(history: RunHistory, change: LevelShift) -> Sequence[MetricLevel]:
    """Return the main metrics of a change point; all of them if none is a main one."""
    main = main_keys(list(history.runs[change.run].figures))
    return [level for level in change.metrics if level.metric in main] or change.metrics


def _shift_rows(history: RunHistory) -> Iterator[tuple[Cell, ...]]:
    for change in reversed(history.changes):
        for level in _shown_levels(history, change):
            yield (
                history.runs[change.run].folder,
                rule_label(level.metric),
                Proportion(level.before),
                Proportion(level.after),
                Difference(
                    level.after - level.before,
                    better=None if has_no_direction(level.metric) else _drop(level) < 0,
                ),
                _cause_text(change),
            )


def _cause_text(change: LevelShift) -> Text:
    """Return the settings that changed at a change point."""
    causes = [
        _("{name} {old} → {new}", name=setting_name(name), old=value_text(old), new=value_text(new))
        for name, (old, new) in change.cause.items()
    ]
    return joined(causes, ", ") if causes else _("none recorded")


def _warnings(histories: Histories, *, several: bool) -> Iterator[Text]:
    for history in histories.histories:
        texts: list[Text] = []
        if unlike := len(history.runs) - history.comparable:
            texts.append(
                n_(
                    "{n} run has another dataset, judge or sample than the last run. It is drawn as a hollow dot and"
                    " left out of change detection.",
                    "{n:,} runs have another dataset, judge or sample than the last run. They are drawn as hollow"
                    " dots and left out of change detection.",
                    n=unlike,
                )
            )
        if history.lacking and history.comparable >= ENOUGH:
            texts.append(
                _(
                    "These metrics are not searched for change points, because some comparable runs did not measure"
                    " them: {metrics}.",
                    metrics=list(map(rule_label, history.lacking)),
                )
            )
        subject = _subject(history)
        for text in texts:
            yield _("{subject}: {result}", subject=subject, result=text) if several else text
    if histories.skipped:
        yield n_(
            "{n} folder without a complete run was skipped.",
            "{n:,} folders without a complete run were skipped.",
            n=histories.skipped,
        )


def _steps(histories: Histories, shifts: Sequence[tuple[RunHistory, LevelShift]]) -> Iterator[Step]:
    """Yield the comparison across the latest change, of the last run with the best one, or of the last two."""
    if shifts:
        history, change = shifts[0]
        before = next(run for run in reversed(history.runs[: change.run]) if run.alike)
        runs, label = (
            [before, history.runs[change.run]],
            _("Compare the runs before and after the change"),
        )
    else:
        longest = max(histories.histories, key=lambda history: history.comparable)
        runs, (best, level) = [run for run in longest.runs if run.alike][-2:], _best_run(longest)
        label = _("Compare the last two comparable runs")
        if round(_drop(level), 3) > 0:
            runs, label = [best, runs[-1]], _("Compare the last run with the best one")
    if len(runs) == 2:  # noqa: PLR2004
        paths = (shlex.quote(str(Path(histories.folder, run.folder))) for run in runs)
        yield Step(label, " ".join(("gigamind compare", *paths)))


def _sections(
    history: RunHistory, place: int, say: Translator, *, several: bool
) -> Iterator[Section]:
    names = in_order(list(dict.fromkeys(name for run in history.runs for name in run.figures)))
    moved = [name for name in names if len({run.figures.get(name) for run in history.runs}) > 1]
    main = main_keys(moved or names)

    def title(text: Message) -> Message:
        if not several:
            return text
        return _("{title}: {subject}", title=text, subject=_subject(history))

    lead = _(
        "At a change point, the metrics of the later runs differ from the metrics of the earlier runs. The"
        " difference is larger than in 97% of random orderings of the runs, over all metrics together (Pettitt's"
        " statistic). At most 5% of histories without a change show a change point. If each run depends on the"
        " previous run, false change points are more frequent."
    )
    yield Section(
        f"trend-{place}", title(_("Trend")), (*_charts(history, main, say), Prose(lead, faint=True))
    )
    remarks = [] if history.comparable == len(history.runs) else [_("remark")]
    rows = [
        (
            run.folder,
            Moment(run.created_at),
            *(Proportion(run.figures.get(name)) for name in main),
            *("" if run.alike else _("another dataset or judge") for _remark in remarks),
        )
        for run in reversed(history.runs)
    ]
    heads = (_("run"), _("created"), *map(rule_label, main), *remarks)
    yield Section(f"runs-{place}", title(_("Runs")), (table(heads, rows),), folded=True)


def _charts(history: RunHistory, names: Sequence[str], say: Translator) -> Iterator[Plot]:
    half = max(_LEAST_ROWS, -(-len(names) // 2))
    title = n_("{n} run, oldest first", "{n:,} runs, oldest first", n=len(history.runs))
    for start in range(0, len(names), half):
        courses = [
            Course(
                say(rule_label(name)),
                [run.figures.get(name) for run in history.runs],
                changes=[
                    change.run
                    for change in history.changes
                    if name in {level.metric for level in change.metrics}
                ],
            )
            for name in names[start : start + half]
        ]
        chart = Trend(
            "" if start else say(title),
            courses,
            [run.alike for run in history.runs],
            (moment(history.runs[0].created_at), moment(history.runs[-1].created_at)),
            (say(_("run")), say(_("run with another dataset or judge")), say(_("baseline"))),
            say(_("change point")),
        )
        yield Plot(chart, _("Metrics by run."))
