"""history.html: the metrics of all runs in a folder over time, and their change points."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from gigamind.formats import moment, share
from gigamind.i18n import Language, Translator, _, n_, translator
from gigamind.metrics.table import in_order
from gigamind.reports.charts import Course, Trend
from gigamind.reports.figures import metric_name
from gigamind.reports.history import Histories, LevelShift, RunHistory
from gigamind.reports.page.experiment import setting_name, value_text
from gigamind.reports.page.layout import drawn, rendered
from gigamind.reports.release import TASKS, main_keys

ENOUGH = 9  # runs; with fewer, no difference reaches `stats.changes.LEVEL`

_LEAST_ROWS = 3  # of a chart


def render_history(histories: Histories, lang: Language = "en") -> str:
    """Return the page."""
    say = translator(lang)
    runs = [run for history in histories.histories for run in history.runs]
    days = sorted(run.created_at[:10] for run in runs)
    headline = n_(
        "{n} run, {first} to {last}",
        "{n:,} runs, {first} to {last}",
        n=len(runs),
        first=days[0],
        last=days[-1],
    )
    skipped = n_(
        "{n} folder without a complete run was skipped.",
        "{n:,} folders without a complete run were skipped.",
        n=histories.skipped,
    )
    return rendered(
        "history.html.jinja",
        say,
        version=max(runs, key=lambda run: run.created_at).app_version,
        folder=histories.folder,
        headline=say(headline),
        skipped=say(skipped) if histories.skipped else "",
        histories=[_shown(history, say) for history in histories.histories],
    )


def subject(history: RunHistory, say: Translator) -> str:
    """Return the task, the dataset and the notes of a history, in a line."""
    values = {
        "task": TASKS[history.task],
        "dataset": Path(history.dataset).name,
        "notes": Path(history.notes).name,
    }
    if history.notes:
        return say(_("{task}: dataset {dataset}, notes {notes}", **values))
    return say(_("{task}: dataset {dataset}", **values))


def result(history: RunHistory, say: Translator) -> str:
    """Return the result of the search for changes, in a sentence."""
    if history.changes:
        return say(_("Change points: {count}", count=len(history.changes)))
    if history.comparable >= ENOUGH:
        return say(
            _("No change point was found. Chance can explain the differences between the runs.")
        )
    text = _(
        "Change detection needs at least {enough} comparable runs; this history has {runs}.",
        enough=ENOUGH,
        runs=history.comparable,
    )
    return say(text)


def change_text(change: LevelShift, history: RunHistory, say: Translator) -> str:
    """Return the first run after a change point."""
    run = history.runs[change.run]
    return say(
        _(
            "Metrics changed with run {run} of {created}",
            run=run.folder,
            created=moment(run.created_at),
        )
    )


def cause_text(change: LevelShift, say: Translator) -> str:
    """Return the settings that changed at a change point."""
    causes = [
        f"{setting_name(name, say)} {value_text(old, say)} → {value_text(new, say)}"
        for name, (old, new) in change.cause.items()
    ]
    return ", ".join(causes) or say(_("no recorded change"))


def _shown(history: RunHistory, say: Translator) -> dict[str, object]:
    names = in_order(list(dict.fromkeys(name for run in history.runs for name in run.figures)))
    main = main_keys(names)
    others = [name for name in names if name not in main]
    return {
        "subject": subject(history, say),
        "result": result(history, say),
        "notices": list(_notices(history, say)),
        "charts": list(_charts(history, main, say)),
        "others": list(_charts(history, others, say)),
        "changes": [_change(change, main, history, say) for change in history.changes],
        "metrics": [metric_name(name, say) for name in main],
        "rows": [
            (
                run.folder,
                moment(run.created_at),
                run.alike,
                [share(run.figures.get(name)) for name in main],
            )
            for run in reversed(history.runs)
        ],
    }


def _change(
    change: LevelShift, main: Sequence[str], history: RunHistory, say: Translator
) -> tuple[object, ...]:
    shown = [level for level in change.metrics if level.metric in main] or change.metrics
    return (
        change_text(change, history, say),
        [
            (metric_name(level.metric, say), share(level.before), share(level.after))
            for level in shown
        ],
        len(change.metrics) - len(shown),
        cause_text(change, say),
    )


def _notices(history: RunHistory, say: Translator) -> Iterator[str]:
    if unlike := len(history.runs) - history.comparable:
        yield say(
            n_(
                "{n} run has another dataset, judge or sample than the last run. It is drawn as a hollow dot and"
                " left out of change detection.",
                "{n:,} runs have another dataset, judge or sample than the last run. They are drawn as hollow dots"
                " and left out of change detection.",
                n=unlike,
            )
        )
    if history.lacking:
        yield say(
            _(
                "These metrics are not searched for change points, because some comparable runs did not measure"
                " them: {metrics}.",
                metrics=[metric_name(name, say) for name in history.lacking],
            )
        )


def _charts(history: RunHistory, names: Sequence[str], say: Translator) -> Iterator[Markup]:
    half = max(_LEAST_ROWS, -(-len(names) // 2))
    for start in range(0, len(names), half):
        yield _chart(history, names[start : start + half], say)


def _chart(history: RunHistory, names: Sequence[str], say: Translator) -> Markup:
    chart = Trend(
        say(n_("{n} run, oldest first", "{n:,} runs, oldest first", n=len(history.runs))),
        [
            Course(
                metric_name(name, say),
                [run.figures.get(name) for run in history.runs],
                changes=[
                    change.run
                    for change in history.changes
                    if name in {level.metric for level in change.metrics}
                ],
            )
            for name in names
        ],
        [run.alike for run in history.runs],
        (moment(history.runs[0].created_at), moment(history.runs[-1].created_at)),
        (say(_("run")), say(_("run with another dataset or judge")), say(_("baseline"))),
        say(_("change point")),
    )
    return drawn(chart, say(_("Metrics by run. Dotted lines are change points.")))
