"""What the command line shows of finished runs: several side by side, and all of a folder."""

from pathlib import Path

from rich.table import Table

from gigamind.cli.show import plain_console, show_release
from gigamind.evaluation.experiment import ComparedRuns
from gigamind.reports.figures import metric_name
from gigamind.reports.history import Histories
from gigamind.reports.page.experiment import (
    certainty,
    figure_rows,
    finding,
    headline,
    notices,
    why_no_verdict,
)
from gigamind.reports.page.history import cause_text, change_text, result, subject
from gigamind.text import printable
from gigamind.wording import Language, share, words

_LEVELS_SHOWN = 10


def show_experiment(held: ComparedRuns, out: Path | None) -> None:
    """The main figures side by side, what surely differs, and of two runs the verdict, or why there is none."""
    console, say, experiment = plain_console(), words(held.lang), held.experiment
    if held.verdict and not held.verdict.gate.is_refused:
        show_release(held.verdict, None, say)
    else:
        release = held.verdict.release if held.verdict else None
        console.print(printable(why_no_verdict(release, say)))
    console.print(headline(experiment, say))
    names = [run.label for run in experiment.runs]
    table = Table(say("page.metric"), say("page.count"), *names, box=None, pad_edge=False)
    if len(names) == 2:  # noqa: PLR2004  more differences than one would break the lines of a terminal
        table.add_column(say("page.difference"))
    sure = {True: say("page.better"), False: say("page.worse"), None: ""}
    for name, n, value, cells in figure_rows(experiment, say, main=True):
        values = [f"{cell.pairs or cell.value} {sure[cell.better]}".strip() for cell in cells]
        differences = [f"{cell.difference} {cell.interval}".strip() for cell in cells]
        table.add_row(
            name, str(n), value, *values, *differences[: len(table.columns) - 2 - len(names)]
        )
    console.print(table)
    for place in range(1, len(names)):
        console.print(printable(finding(experiment, place, say)))
    console.print(certainty(experiment, say))
    for notice in notices(experiment, say):
        console.print(f"  {printable(notice)}")
    if out:
        console.print(say("terminal.comparison", place=out / "compare.html"))


def show_history(histories: Histories, out: Path | None, language: Language) -> None:
    """What was found in each history."""
    console, say = plain_console(), words(language)
    for history in histories.histories:
        console.print(say("terminal.runs", subject=subject(history, say), count=len(history.runs)))
        console.print(f"  {result(history, say)}")
        for change in history.changes:
            console.print(f"  {change_text(change, history, say)}: {cause_text(change, say)}")
            for level in change.metrics[:_LEVELS_SHOWN]:
                name = metric_name(level.metric, say)
                console.print(f"    {name} {share(level.before)} -> {share(level.after)}")
    if histories.skipped:
        console.print(say("history.skipped", count=histories.skipped))
    if out:
        console.print(say("terminal.history", place=out / "history.html"))
