"""What the command line shows at the end: the figures, what is missing, and how to go on."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from gigamind.evaluation.asking import is_resumable
from gigamind.evaluation.experiment import Held
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.evaluation.task import Checked, Task
from gigamind.metrics.spec import blocks_of, units_of
from gigamind.records.schema import RunReport
from gigamind.reports.comparison import headline
from gigamind.reports.history import Histories
from gigamind.reports.page.experiment import (
    certainty,
    figure_rows,
    finding,
    metric_name,
    notices,
    why_no_verdict,
)
from gigamind.reports.page.experiment import headline as headline_of
from gigamind.reports.page.history import cause_told, change_told, result, subject
from gigamind.reports.text import cost_lines
from gigamind.text import printable, printable_lines
from gigamind.wording import share, words

_LINES_SHOWN = 10
_TEXT_CHARS = 120  # of a question
_SURE = {True: "better", False: "worse", None: ""}


def show_checked(checked: Checked) -> None:
    """The outcome of `--dry-run`, and what the run would need, were it the first."""
    console = plain_console()
    console.print(checked.terminal)
    show_lines(console, "problem", [error.message for error in checked.errors])
    show_lines(console, "warning", checked.warnings)
    console.print(f"dataset_hash {checked.dataset_hash}")
    if checked.notes_hash:
        console.print(f"notes_hash   {checked.notes_hash}")
    for work in checked.estimate():
        console.print(f"estimate: {work.describe()}")


def show_run(
    task: Task[Any, Any, Any], summary: BaseModel, out: Path, told: Sequence[str] = ()
) -> None:
    """The main figures and where the report is; problems, and warnings not yet told, on standard error."""
    view, console = task.view, plain_console()
    console.print(_figures(task, summary))
    if finding := view.finding(summary):
        console.print(finding)
    if caution := view.caution(summary):
        console.print(caution)
    if times := view.times(summary):
        console.print(times)
    if llm := view.llm(summary):
        for line in cost_lines(llm):
            console.print(line)
    pages = ("report.html", "summary.md", "summary.json")
    report = next(page for page in pages if (out / page).exists())
    console.print(f"Report: {out / report}")
    aside = plain_console(stderr=True)
    run = RunReport.model_validate_json((out / "run.json").read_bytes())
    show_lines(aside, "warning", [text for text in run.warnings if text not in told])
    missing = [f"{n} {one if n == 1 else many}" for n, one, many in view.missing(summary) if n]
    if missing:
        aside.print(f"{', '.join(missing)}: see {out / 'errors.jsonl'}")
    if run.status == "interrupted" and (left := view.not_run(summary)):
        aside.print(f"{left} {units_of(task.name)} were not run")
    if is_resumable(out):
        aside.print(f"Continue it with --resume {out}")


def plain_console(*, stderr: bool = False) -> Console:
    """Prints text as it is: no markup, no colours of numbers, no line breaks of its own."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_release(verdict: ReleaseVerdict, out: Path | None) -> None:
    """The gates' verdict, the rules that were broken, and the queries that got worse."""
    console = plain_console()
    console.print(f"\nRelease gate ({verdict.gate.phase}): {verdict.gate.verdict.upper()}")
    console.print(headline(verdict.comparison, verdict.gate))
    for mismatch in verdict.comparison.mismatches:
        console.print(f"  {mismatch.what}: {mismatch.meaning}")
    lost = [f"lost: {_short(item.text)} ({item.id})" for item in verdict.comparison.lost]
    worse = [
        f"worse: {_short(item.text)} ({item.id}): {item.what}"
        for item in verdict.comparison.changes
        if item.change == "worse"
    ]
    for lines in (lost, worse):
        for line in lines[:_LINES_SHOWN]:
            console.print(f"  {printable(line)}")
        if len(lines) > _LINES_SHOWN:
            console.print(f"  ... and {len(lines) - _LINES_SHOWN} more")
    if out:
        pages = ("compare.html", "compare.md")
        console.print(f"Comparison: {out / next(p for p in pages if (out / p).exists())}")


def print_json(values: object) -> None:
    """JSON alone, for a program."""
    click.echo(json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False))


def show_experiment(held: Held, out: Path | None) -> None:
    """The main figures side by side, what surely differs, and of two runs the verdict, or why there is none."""
    console, say, experiment = plain_console(), words("en"), held.experiment
    console.print(headline_of(experiment, say))
    names = [run.label for run in experiment.runs]
    table = Table("metric", "N", *names, box=None, pad_edge=False)
    if len(names) == 2:  # noqa: PLR2004  more differences than one would break the lines of a terminal
        table.add_column("difference")
    for name, n, value, cells in figure_rows(experiment, say, main=True):
        values = [f"{cell.value} {_SURE[cell.better]}".strip() for cell in cells]
        told = [f"{cell.difference} {cell.interval}".strip() for cell in cells]
        table.add_row(name, str(n), value, *values, *told[: len(table.columns) - 2 - len(names)])
    console.print(table)
    for place in range(1, len(names)):
        console.print(printable(finding(experiment, place, say)))
    console.print(certainty(experiment, say))
    for notice in notices(experiment, say):
        console.print(f"  {printable(notice)}")
    if held.verdict and held.verdict.gate.verdict != "not-comparable":
        show_release(held.verdict, None)
    else:
        release = held.verdict.release if held.verdict else None
        console.print(printable(why_no_verdict(release, say)))
    if out:
        console.print(f"Comparison: {out / 'compare.html'}")


def show_history(told: Histories, out: Path | None) -> None:
    """What was found in each history."""
    console, say = plain_console(), words("en")
    for one in told.histories:
        console.print(f"{subject(one, say)}: {len(one.runs)} runs")
        console.print(f"  {result(one, say)}")
        for change in one.changes:
            console.print(f"  {change_told(change, one, say)}: {cause_told(change, say)}")
            for level in change.metrics[:_LINES_SHOWN]:
                name = metric_name(level.metric, say)
                console.print(f"    {name} {share(level.before)} -> {share(level.after)}")
    if told.skipped:
        console.print(say("history.skipped", count=told.skipped))
    if out:
        console.print(f"History: {out / 'history.html'}")


def _short(text: str) -> str:
    return textwrap.shorten(text, _TEXT_CHARS, placeholder=" …")


def _figures(task: Task[Any, Any, Any], summary: BaseModel) -> Table:
    table = Table("metric", "value", "95 % interval", "N", box=None, pad_edge=False)
    main = blocks_of(task.name)[0]
    for row in task.view.rows(summary):
        name = row.metric if row.block == main else f"{row.block} {row.metric}"
        table.add_row(name, row.value, row.interval, str(row.n))
    return table


def show_lines(console: Console, kind: str, lines: Sequence[str]) -> None:
    """The first lines of a kind, and how many there are."""
    if lines:
        console.print(f"{len(lines)} {kind}{'' if len(lines) == 1 else 's'}:")
    for line in lines[:_LINES_SHOWN]:
        console.print(textwrap.indent(printable_lines(line), "  "))
    if len(lines) > _LINES_SHOWN:
        console.print(f"  ... and {len(lines) - _LINES_SHOWN} more")
