"""history.html: how the figures of all runs in a folder went, and where they took another level."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from gigamind.metrics.table import in_order
from gigamind.reports.figures import metric_name
from gigamind.reports.history import Histories, LevelShift, RunHistory
from gigamind.reports.page.charts import Course, Trend
from gigamind.reports.page.experiment import setting_name
from gigamind.reports.page.layout import drawn, rendered
from gigamind.reports.release import main_keys
from gigamind.wording import Language, Words, moment, share, words

ENOUGH = 9  # runs: the first four unlike the last five pass `stats.changes.LEVEL`

_LEAST_ROWS = 3  # of a chart


def render_history(told: Histories, lang: Language = "en") -> str:
    """The page."""
    say = words(lang)
    runs = [run for one in told.histories for run in one.runs]
    days = sorted(run.created_at[:10] for run in runs)
    return rendered(
        "history.html.jinja",
        say,
        version=max(runs, key=lambda run: run.created_at).app_version,
        folder=told.folder,
        headline=say(
            "history.headline",
            runs=len(runs),
            first=days[0],
            last=days[-1],
        ),
        skipped=say("history.skipped", count=told.skipped) if told.skipped else "",
        histories=[_shown(one, say) for one in told.histories],
    )


def subject(one: RunHistory, say: Words) -> str:
    """Which history this is, in a line."""
    key = "history.over" if one.notes else "history.of"
    names = {"dataset": Path(one.dataset).name, "notes": Path(one.notes).name}
    return say(key, task=say(f"release.{one.task}"), **names)


def result(one: RunHistory, say: Words) -> str:
    """What was found in a history, in a sentence."""
    if one.changes:
        return say("history.found", count=len(one.changes))
    return say(
        "history.none" if one.comparable >= ENOUGH else "history.too_few", runs=one.comparable
    )


def change_told(change: LevelShift, one: RunHistory, say: Words) -> str:
    """From which run on."""
    run = one.runs[change.run]
    return say("history.at", run=run.run_id, created=moment(run.created_at))


def cause_told(change: LevelShift, say: Words) -> str:
    """What else changed at that place."""
    told = [f"{setting_name(name, say)} {old} → {new}" for name, (old, new) in change.cause.items()]
    return ", ".join(told) or say("history.no_cause")


def _shown(one: RunHistory, say: Words) -> dict[str, object]:
    names = in_order(list(dict.fromkeys(name for run in one.runs for name in run.figures)))
    main = main_keys(names)
    others = [name for name in names if name not in main]
    return {
        "subject": subject(one, say),
        "result": result(one, say),
        "notices": list(_notices(one, say)),
        "charts": list(_charts(one, main, say)),
        "others": list(_charts(one, others, say)),
        "changes": [_change(change, main, one, say) for change in one.changes],
        "metrics": [metric_name(name, say) for name in main],
        "rows": [
            (
                run.run_id,
                moment(run.created_at),
                run.alike,
                [share(run.figures.get(name)) for name in main],
            )
            for run in reversed(one.runs)
        ],
    }


def _change(
    change: LevelShift, main: Sequence[str], one: RunHistory, say: Words
) -> tuple[object, ...]:
    """A change: from when, the levels of the main metrics in it (or of all), how many are left out, and its cause."""
    shown = [level for level in change.metrics if level.metric in main] or change.metrics
    return (
        change_told(change, one, say),
        [
            (metric_name(level.metric, say), share(level.before), share(level.after))
            for level in shown
        ],
        len(change.metrics) - len(shown),
        cause_told(change, say),
    )


def _notices(one: RunHistory, say: Words) -> Iterator[str]:
    if unlike := len(one.runs) - one.comparable:
        yield say("history.unlike", count=unlike)
    if one.lacking:
        yield say("history.lacking", metrics=", ".join(metric_name(n, say) for n in one.lacking))


def _charts(one: RunHistory, names: Sequence[str], say: Words) -> Iterator[Markup]:
    """Two columns of figures."""
    half = max(_LEAST_ROWS, -(-len(names) // 2))
    for start in range(0, len(names), half):
        yield _chart(one, names[start : start + half], say)


def _chart(one: RunHistory, names: Sequence[str], say: Words) -> Markup:
    chart = Trend(
        say("history.trend", runs=len(one.runs)),
        [
            Course(
                metric_name(name, say),
                [run.figures.get(name) for run in one.runs],
                changes=[
                    change.run
                    for change in one.changes
                    if name in {level.metric for level in change.metrics}
                ],
            )
            for name in names
        ],
        [run.alike for run in one.runs],
        (moment(one.runs[0].created_at), moment(one.runs[-1].created_at)),
        (say("decision.alike"), say("decision.unlike"), say("page.baseline")),
        say("history.change"),
    )
    return drawn(chart, say("history.trend_label"))
