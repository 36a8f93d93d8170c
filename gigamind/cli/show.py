"""What the command line shows at the end: the figures, what is missing, and how to go on."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from gigamind.choices import TaskName
from gigamind.evaluation.asking import is_resumable
from gigamind.evaluation.finish import Evaluated
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.evaluation.task import Checked, Task
from gigamind.loading import ConfigReport
from gigamind.metrics.spec import blocks_of, units_of
from gigamind.records.schema import RunReport
from gigamind.reports.comparison import headline
from gigamind.reports.text import cost_lines
from gigamind.tasks import TASKS
from gigamind.text import printable, printable_lines

_LINES_SHOWN = 10
_TEXT_CHARS = 120  # of a question


def show_checked(checked: Checked, config: ConfigReport | None = None) -> None:
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
    if config:
        console.print(f"from {config.file}: {', '.join(config.options)}")


def show_finished(name: TaskName, finished: Evaluated[Any], told: Sequence[str]) -> None:
    """A run, and the gates' verdict where it is complete and was compared."""
    show_run(TASKS[name], finished.summary, finished.out, told)
    if finished.verdict and finished.summary.status == "complete":
        show_release(finished.verdict, finished.out)


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
