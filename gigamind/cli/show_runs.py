"""Finished runs on the terminal: several side by side, or all of a folder over time."""

from pathlib import Path

from rich.table import Table

from gigamind.cli.show import plain_console, show_release
from gigamind.evaluation.experiment import ComparedRuns
from gigamind.formats import share
from gigamind.i18n import Language, _, c_, n_, translator
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

_MAX_LEVELS = 10


def show_experiment(compared: ComparedRuns, out: Path | None) -> None:
    """Print the main metrics side by side, significant differences, and for two runs the verdict."""
    console, say, experiment = plain_console(), translator(compared.lang), compared.experiment
    verdict = compared.verdict
    if verdict and not verdict.gate.is_refused:
        show_release(verdict, None, say)
    else:
        release = verdict.release if verdict else None
        console.print(printable(why_no_verdict(release, say)))
    console.print(headline(experiment, say))
    names = [run.label for run in experiment.runs]
    heads = (say(_("metric")), say(c_("number of items", "N")))
    table = Table(*heads, *names, box=None, pad_edge=False)
    if len(names) == 2:  # noqa: PLR2004  more than one difference would not fit in a terminal
        table.add_column(say(_("difference")))
    labels = {True: say(_("better")), False: say(_("worse")), None: ""}
    for name, n, value, cells in figure_rows(experiment, say, main=True):
        values = [f"{cell.pairs or cell.value} {labels[cell.better]}".strip() for cell in cells]
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
        console.print(say(_("Comparison: {file}", file=out / "compare.html")))


def show_history(histories: Histories, out: Path | None, language: Language) -> None:
    """Print the change points of each history."""
    console, say = plain_console(), translator(language)
    for history in histories.histories:
        line = n_(
            "{subject}: {n} run",
            "{subject}: {n:,} runs",
            n=len(history.runs),
            subject=subject(history, say),
        )
        console.print(say(line))
        console.print(f"  {result(history, say)}")
        for change in history.changes:
            console.print(f"  {change_text(change, history, say)}: {cause_text(change, say)}")
            for level in change.metrics[:_MAX_LEVELS]:
                name = metric_name(level.metric, say)
                console.print(f"    {name} {share(level.before)} -> {share(level.after)}")
    if histories.skipped:
        line = _("Skipped incomplete or unreadable runs: {n:,}", n=histories.skipped)
        console.print(say(line))
    if out:
        console.print(say(_("History: {file}", file=out / "history.html")))
