"""What the command line shows: a progress bar while it works, and the figures at the end."""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from gigamind.evals.prepare import Prepared
from gigamind.evals.progress import Progress, Quiet
from gigamind.reports.markdown import figure_rows
from gigamind.reports.schema import SummaryReport

_ROWS_SHOWN = 10


class _Rate(ProgressColumn):
    """Pieces a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f}/s" if task.speed else "", style="progress.data.speed")


class _RichProgress:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def stage(self, name: str, done: int, total: int) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total)
        self._bars.update(self._tasks[name], completed=done, total=total)


@contextlib.contextmanager
def progress_bar() -> Generator[Progress]:
    """A bar with rate and time left on a terminal; silence elsewhere and in CI."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI"):
        yield Quiet()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        yield _RichProgress(bars)


def show_checked(prepared: Prepared) -> None:
    """The outcome of `--dry-run`."""
    console = Console(highlight=False, soft_wrap=True)
    answerable = sum(query.item.answerable for query in prepared.queries)
    console.print(
        f"{len(prepared.queries)} queries ready ({answerable} answerable,"
        f" {len(prepared.queries) - answerable} unanswerable) over {len(prepared.vault.notes)} notes"
    )
    for kind, lines in (
        ("problems in the dataset", [error.message for error in prepared.errors]),
        ("warnings", list(prepared.warnings)),
    ):
        if lines:
            console.print(f"{len(lines)} {kind}:")
        for line in lines[:_ROWS_SHOWN]:
            console.print(f"  {line}", markup=False)
        if len(lines) > _ROWS_SHOWN:
            console.print(f"  ... and {len(lines) - _ROWS_SHOWN} more")
    console.print(f"dataset_hash {prepared.dataset_hash}\nnotes_hash   {prepared.notes_hash}")


def show_summary(summary: SummaryReport, out: Path) -> None:
    """The main figures and where the report is."""
    console = Console(highlight=False)
    table = Table("metric", "value", "95 % interval", "N", box=None, pad_edge=False)
    for name, row in (
        *figure_rows(summary.overall, "search"),
        *figure_rows(summary.overall, "unanswerable"),
    ):
        table.add_row(name, str(row["value"]), str(row["interval"]), str(row["n"]))
    console.print(table)
    p50, p95 = (summary.overall.search.get(f"latency_{p}_ms") for p in ("p50", "p95"))
    if p50 is not None and p95 is not None:
        console.print(f"latency p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    counts = summary.counts
    if problems := counts.rows_rejected + counts.queries_failed:
        console.print(f"[yellow]{problems} rows or queries failed: see {out / 'errors.jsonl'}[/]")
    if summary.status == "interrupted":
        console.print(f"[yellow]interrupted: {counts.queries_not_run} queries were not run[/]")
    report = next((f for f in ("summary.md", "summary.json") if (out / f).exists()), "")
    console.print(f"Report: {out / report}", soft_wrap=True)
