"""The metrics of all runs in a folder over time, and their change points: history.json and its page."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Self

from gigamind.formats import moment, points
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.metrics.table import in_order, use_of
from gigamind.records.folder import PastRun, conditions, differing, histories
from gigamind.records.judged import Report
from gigamind.release.policy import rule_label
from gigamind.reports import document as doc
from gigamind.reports.charts import Course, Trend
from gigamind.reports.comparison import main_keys
from gigamind.reports.experiment import setting_name, value_text
from gigamind.reports.verdict import NO_RELEASE, TASKS
from gigamind.stats.changes import level_changes

_ENOUGH = 9  # runs; with fewer, no difference reaches `stats.changes._LEVEL`
_NAMED = 3  # histories in the verdict; the page has a section of each
_COURSES = 4  # metrics in the chart; the table of runs has all


class MetricLevel(Report):
    """A metric with a change point: its means since the previous one, and until the next one."""

    metric: str
    before: float
    after: float


class LevelShift(Report):
    """A change point.

    Attributes:
        run: index of the first run after it, from 0, among all runs of the history.
        p_value: share of shuffled histories that differ as much, over all metrics and places; null if not significant.
        metrics: the most significant first.
        cause: settings that differ from the previous comparable run, old and new value, by name.
    """

    run: int
    p_value: float | None
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
    """The runs of one task over one dataset and vault, oldest first.

    Attributes:
        drop: without change points, the largest drop that no later run made up for; its means start at the run before.
        lacking: metrics that some comparable run lacks; they are not searched for changes.
    """

    task: str
    dataset: str
    notes: str
    runs: tuple[HistoryRun, ...]
    changes: tuple[LevelShift, ...]
    drop: LevelShift | None
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

    @classmethod
    def read(cls, folder: Path, *, seed: int = 42) -> Self:
        """Return all histories in a folder, in the order of their first runs.

        Raises:
            InputError: the folder does not exist, or has no complete run.
        """
        past_runs, skipped = histories(folder)
        found = tuple(_history(runs, seed) for runs in past_runs)
        return cls(folder=str(folder), histories=found, skipped=skipped)


def _history(runs: Sequence[PastRun], seed: int) -> RunHistory:
    alike = [at for at, past in enumerate(runs) if past.measure == runs[-1].measure]
    names = in_order(list(dict.fromkeys(name for at in alike for name in runs[at].figures)))
    series = {
        name: [runs[at].figures[name] for at in alike]
        for name in names
        if all(name in runs[at].figures for at in alike)
    }
    changes = level_changes(series, seed=seed)
    drop = None if changes else _largest_drop(series)
    ends = [0, *(change.at for change in changes), len(alike)]
    task, dataset, notes = runs[-1].source

    def shift(
        at: int, names: Iterable[str], p_value: float | None, start: int, end: int
    ) -> LevelShift:
        levels = (
            MetricLevel(metric=x, before=fmean(series[x][start:at]), after=fmean(series[x][at:end]))
            for x in names
        )
        both = (runs[alike[at - 1]].run, runs[alike[at]].run)
        old, new = differing(
            [conditions(run.options, run.environment, run.judge, run.notes_hash) for run in both]
        )
        cause = {name: (old[name], new[name]) for name in new}
        return LevelShift(run=alike[at], p_value=p_value, metrics=tuple(levels), cause=cause)

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
            shift(change.at, change.series, change.p_value, ends[place], ends[place + 2])
            for place, change in enumerate(changes)
        ),
        drop=drop and shift(*drop, None, drop[0] - 1, len(alike)),
        lacking=tuple(name for name in names if name not in series),
    )


def _largest_drop(series: Mapping[str, Sequence[float]]) -> tuple[int, tuple[str, ...]] | None:
    """Return the place of the largest lasting drop of a main metric, and all metrics that dropped there."""
    kept: dict[int, dict[str, float]] = {}
    for name in main_keys(list(series)):
        values = [-value if use_of(name).lower else value for value in series[name]]
        for at in range(1, 1 if use_of(name).undirected else len(values)):
            if (size := round(values[at - 1] - max(values[at:]), 3)) > 0:
                kept.setdefault(at, {})[name] = size
    if not kept:
        return None
    at = max(kept, key=lambda place: max(kept[place].values()))
    return at, tuple(kept[at])


def history_document(histories: Histories) -> doc.Document:
    """Return the page: the latest change point, all of them, and the trends."""
    all_runs = [run for history in histories.histories for run in history.runs]
    days = sorted(run.created_at[:10] for run in all_runs)
    values = {"n": len(all_runs), "first": days[0], "last": days[-1]}
    span = _("{n:,} runs, {first} to {last}", **values)
    several = len(histories.histories) > 1
    shifts = [(history, change) for history in histories.histories for change in _shifts(history)]
    shifts.sort(key=lambda shift: shift[0].runs[shift[1].run].created_at, reverse=True)
    columns = (_("metric"), _("since"), _("before"), _("after"), _("difference"), _("changed"))  # fmt: skip
    groups = tuple(
        doc.Group(tuple(_shift_rows(history)), _subject(history) if several else "")
        for history in histories.histories
    )
    return doc.shaped(
        _("History of runs"),
        joined((histories.folder, span), " · "),
        verdict=_verdict(histories, shifts),
        warnings=_warnings(histories, several=several),
        steps=_steps(histories, shifts),
        table=doc.Table(columns, groups),
        sections=[
            section
            for place, history in enumerate(histories.histories, 1)
            for section in _sections(history, place, several=several)
        ],
        version=max(all_runs, key=lambda run: run.created_at).app_version,
    )


def _shifts(history: RunHistory) -> Sequence[LevelShift]:
    return history.changes or ((history.drop,) if history.drop else ())


def _subject(history: RunHistory) -> Message:
    """Return the task, the dataset and the notes of a history, in a line."""
    places = (Path(place).name for place in (history.dataset, history.notes) if place)
    return joined((TASKS[history.task], *places), " · ")


def _verdict(histories: Histories, shifts: Sequence[tuple[RunHistory, LevelShift]]) -> doc.Verdict:
    by_interest = sorted(histories.histories, key=lambda history: not _shifts(history))
    leads: list[Text] = [
        _("{subject}: {result}", subject=_subject(history), result=_result(history))
        for history in by_interest[:_NAMED]
    ]
    longest = max(histories.histories, key=lambda history: history.comparable)
    if len({str(_result(history)) for history in by_interest}) == 1:
        # A drop that no test confirms needs no second sentence.
        is_tested = longest.comparable >= _ENOUGH
        leads = [] if is_tested or not shifts else [_result(longest)]
    if not shifts:
        state = "measured" if longest.comparable >= _ENOUGH else "inconclusive"
        return doc.Verdict(state, _result(longest), (*leads, NO_RELEASE))
    history, change = shifts[0]
    since = history.runs[change.run]
    level = max(_shown_levels(history, change), key=_drop)
    sentence = _(
        "Latest change: {metric} {size} since run {run} of {created} (the run before it: {before}).",
        metric=rule_label(level.metric),
        size=points(level.after - level.before),
        run=since.folder,
        created=moment(since.created_at),
        before=_before(history, change).folder,
    )
    state = "warning" if _drop(level) > 0 else "measured"
    cause = _("Changed: {cause}.", cause=_cause_text(change))
    return doc.Verdict(state, sentence, (cause, *leads, NO_RELEASE))


def _before(history: RunHistory, change: LevelShift) -> HistoryRun:
    """Return the last comparable run before a change."""
    return next(run for run in reversed(history.runs[: change.run]) if run.alike)


def _drop(level: MetricLevel) -> float:
    """Return by how much a metric got worse."""
    difference = level.after - level.before
    return difference if use_of(level.metric).lower else -difference


def _result(history: RunHistory) -> Message:
    if history.changes:
        return n_("{n} change point.", "{n} change points.", n=len(history.changes))
    if history.comparable < _ENOUGH:
        return _(
            "Change detection needs at least {enough} comparable runs; this history has {runs}.",
            enough=_ENOUGH,
            runs=history.comparable,
        )
    return _("No change point detected.")


def _shown_levels(history: RunHistory, change: LevelShift) -> Sequence[MetricLevel]:
    """Return the main metrics of a change point; all of them if none is a main one."""
    main = main_keys(list(history.runs[change.run].figures))
    return [level for level in change.metrics if level.metric in main] or change.metrics


def _shift_rows(history: RunHistory) -> Iterator[tuple[doc.Cell, ...]]:
    for change in reversed(_shifts(history)):
        for place, level in enumerate(_shown_levels(history, change)):
            yield (
                rule_label(level.metric),
                history.runs[change.run].folder,
                doc.Proportion(level.before),
                doc.Proportion(level.after),
                doc.Difference(
                    level.after - level.before,
                    better=None if use_of(level.metric).undirected else _drop(level) < 0,
                ),
                _cause_text(change) if place == 0 else "",
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
            text = _(
                "Runs of another dataset, judge or sample (hollow dots), not searched for changes: {n:,}.",
                n=unlike,
            )
            texts.append(text)
        if history.lacking and history.comparable >= _ENOUGH:
            lacking = list(map(rule_label, history.lacking))
            text = _(
                "Metrics that some runs lack, not searched for changes: {metrics}.", metrics=lacking
            )
            texts.append(text)
        subject = _subject(history)
        for text in texts:
            yield _("{subject}: {result}", subject=subject, result=text) if several else text
    if histories.skipped:
        yield _("Folders without a complete run: {n:,}.", n=histories.skipped)


def _steps(
    histories: Histories, shifts: Sequence[tuple[RunHistory, LevelShift]]
) -> Iterator[doc.Step]:
    """Yield the comparison across the latest change, or of the last two runs."""
    if shifts:
        history, change = shifts[0]
        label = _("Compare the runs before and after the change")
        runs = [_before(history, change), history.runs[change.run]]
    else:
        longest = max(histories.histories, key=lambda history: history.comparable)
        label = _("Compare the last two comparable runs")
        runs = [run for run in longest.runs if run.alike][-2:]
    if len(runs) > 1:
        paths = (shlex.quote(str(Path(histories.folder, run.folder))) for run in runs)
        yield doc.Step(label, " ".join(("gigamind compare", *paths)))


def _sections(history: RunHistory, place: int, *, several: bool) -> Iterator[doc.Section]:
    names = in_order(list(dict.fromkeys(name for run in history.runs for name in run.figures)))
    moved = [name for name in names if len({run.figures.get(name) for run in history.runs}) > 1]
    main = main_keys(moved or names)

    def title(text: Message) -> Message:
        if not several:
            return text
        return _("{title}: {subject}", title=text, subject=_subject(history))

    lead = _(
        "Change points: the level before and after differs more than in 97% of random orderings of the runs"
        " (Pettitt's statistic)."
    )
    shown = (level for change in _shifts(history) for level in _shown_levels(history, change))
    moving = [level.metric for level in shown]
    courses = [
        Course(
            rule_label(name),
            [run.figures.get(name) for run in history.runs],
            changes=[x.run for x in history.changes if name in {y.metric for y in x.metrics}],
        )
        for name in list(dict.fromkeys((*moving, *main)))[:_COURSES]
    ]
    chart = Trend(
        n_("{n} run, oldest first", "{n:,} runs, oldest first", n=len(history.runs)),
        courses,
        [run.alike for run in history.runs],
        (moment(history.runs[0].created_at), moment(history.runs[-1].created_at)),
    )
    trend = doc.Plot(chart, _("Metrics by run.")), doc.Prose(lead, faint=True)
    yield doc.Section(f"trend-{place}", title(_("Trend")), trend)
    remarks = [] if history.comparable == len(history.runs) else [_("remark")]
    rows = [
        (
            run.folder,
            moment(run.created_at),
            *(doc.Proportion(run.figures.get(name)) for name in main),
            *("" if run.alike else _("another dataset or judge") for _remark in remarks),
        )
        for run in reversed(history.runs)
    ]
    heads = (_("run"), _("created"), *map(rule_label, main), *remarks)
    yield doc.Section.closed(f"runs-{place}", title(_("Runs")), doc.Table.of(heads, rows))
