"""history.html: how the figures of all runs in a folder went, and where they took another level."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from gigamind.metrics.table import in_order
from gigamind.reports.figures import metric_name
from gigamind.reports.history import Histories, LevelShift, RunHistory
from gigamind.reports.page.charts import Course, Trend
from gigamind.reports.page.experiment import setting_name, value_text
from gigamind.reports.page.layout import drawn, rendered
from gigamind.reports.release import main_keys
from gigamind.wording import Language, Words, moment, share, words

ENOUGH = 9  # runs: the first four unlike the last five pass `stats.changes.LEVEL`

_LEAST_ROWS = 3  # of a chart


def render_history(histories: Histories, lang: Language = "en") -> str:
    """The page."""
    say = words(lang)
    runs = [run for history in histories.histories for run in history.runs]
    days = sorted(run.created_at[:10] for run in runs)
    return rendered(
        "history.html.jinja",
        say,
        version=max(runs, key=lambda run: run.created_at).app_version,
        folder=histories.folder,
        headline=say(n_("{n} run, {first} to {last}", "{n:,} runs, {first} to {last}", n=len(runs), first=days[0], last=days[-1])),
        skipped=say(n_("{n} folder without a complete run was skipped.", "{n:,} folders without a complete run were skipped.", n=histories.skipped)) if histories.skipped else "",
        histories=[_shown(history, say) for history in histories.histories],
    )


def subject(history: RunHistory, say: Words) -> str:
    """Which history this is, in a line."""
    key = "history.over" if history.notes else "history.of"
    names = {"dataset": Path(history.dataset).name, "notes": Path(history.notes).name}
    return say(key, task=say(f"release.{history.task}"), **names)


def result(history: RunHistory, say: Words) -> str:
    """What was found in a history, in a sentence."""
    if history.changes:
        return say(_("Change points: {count}", count=len(history.changes)))
    return say(
        "history.none" if history.comparable >= ENOUGH else "history.too_few",
        runs=history.comparable,
    )


def change_text(change: LevelShift, history: RunHistory, say: Words) -> str:
    """From which run on."""
    run = history.runs[change.run]
    return say(_("Since run {run} of {created}", run=run.folder, created=moment(run.created_at)))


def cause_text(change: LevelShift, say: Words) -> str:
    """What else changed at that place."""
    causes = [
        f"{setting_name(name, say)} {value_text(old, say)} → {value_text(new, say)}"
        for name, (old, new) in change.cause.items()
    ]
    return ", ".join(causes) or say(_("none recorded"))


def _shown(history: RunHistory, say: Words) -> dict[str, object]:
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
    change: LevelShift, main: Sequence[str], history: RunHistory, say: Words
) -> tuple[object, ...]:
    """A change: from when, the levels of the main metrics in it (or of all), how many are left out, and its cause."""
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


def _notices(history: RunHistory, say: Words) -> Iterator[str]:
    if unlike := len(history.runs) - history.comparable:
        yield say(n_("{n} run with another dataset, judge or sample is shown hollow and is not searched " "for changes.", "{n:,} runs with another dataset, judge or sample are shown hollow and are not " "searched for changes.", n=unlike))
    if history.lacking:
        yield say(_("Some comparable runs lack these metrics, so they are not searched for changes: " "{metrics}.", metrics=", ".join(metric_name(n, say) for n in history.lacking)))


def _charts(history: RunHistory, names: Sequence[str], say: Words) -> Iterator[Markup]:
    """Two columns of figures."""
    half = max(_LEAST_ROWS, -(-len(names) // 2))
    for start in range(0, len(names), half):
        yield _chart(history, names[start : start + half], say)


def _chart(history: RunHistory, names: Sequence[str], say: Words) -> Markup:
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
        (say(_("run")), say(_("another dataset or judge")), say(_("baseline"))),
        say(_("change point")),
    )
    return drawn(chart, say(_("Metrics by run. Dotted lines are change points.")))
