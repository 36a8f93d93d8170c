"""What the command line shows at the end: the figures, what is missing, and how to go on."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from gigamind.choices import TaskName
from gigamind.cli.errors import spoken, translated
from gigamind.evaluation.finish import Evaluated
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.evaluation.task import Checked, Task
from gigamind.evaluation.unfinished import is_resumable
from gigamind.loading import ConfigReport
from gigamind.messages import warning_in
from gigamind.metrics.spec import OWN, blocks_of
from gigamind.metrics.table import metric_of
from gigamind.records.schema import RunReport, by_item
from gigamind.release.policy import GateResult
from gigamind.reports.comparison import passing_notes
from gigamind.reports.figures import plain_label
from gigamind.reports.page.model_costs import cost_lines, few_judged
from gigamind.reports.release import (
    bounds_decision,
    decision_text,
    main_figures,
    missed_bounds,
    other_mismatches,
    reason_texts,
    ungated_text,
)
from gigamind.tasks import TASKS
from gigamind.text import printable, printable_lines
from gigamind.wording import Words, between, change_in, share, words

_LINES_SHOWN = 10
_ITEMS_SHOWN = 5
_TEXT_CHARS = 120  # of a question


def show_checked(checked: Checked, config: ConfigReport | None = None) -> None:
    """The outcome of `--dry-run`, and what the run would need, were it the first."""
    console = plain_console()
    console.print(translated(checked.terminal))
    rows = ["\n".join(error.message for error in row) for row in by_item(checked.errors)]
    show_lines(console, "rejected row", "rejected rows", rows)
    warnings = [warning_in(spoken(), text) for text in checked.warnings]
    show_lines(console, "warning", "warnings", warnings)
    console.print(f"dataset_hash {checked.dataset_hash}")
    if checked.notes_hash:
        console.print(f"notes_hash   {checked.notes_hash}")
    for work in checked.estimate():
        console.print(translated(f"estimate: {work.describe()}"))
    if least := checked.least_calls():
        console.print(
            translated(
                f"--max-calls {least} is enough to judge one item whole; fewer may judge none"
            )
        )
    if config:
        console.print(translated(f"from {config.file}: {', '.join(config.options)}"))


def show_finished(
    name: TaskName,
    finished: Evaluated[Any],
    shown_warnings: Sequence[str],
    bounds: GateResult | None,
) -> None:
    """The gates' verdict where the run is complete and was compared, or what its bounds say, and the run."""
    if finished.summary.status == "complete" and (finished.verdict or bounds):
        run = RunReport.model_validate_json((finished.out / "run.json").read_bytes())
        if finished.verdict:
            show_release(finished.verdict, finished.out, words_of(run))
        elif bounds:
            _show_bounds(bounds, words_of(run))
            shown_warnings = [*shown_warnings, *missed_bounds(bounds, words_of(run))]
    show_run(TASKS[name], finished.summary, finished.out, shown_warnings)


def show_run(
    task: Task[Any, Any, Any], summary: BaseModel, out: Path, shown_warnings: Sequence[str] = ()
) -> None:
    """The main figures and where the report is; problems, and warnings not yet told, on standard error."""
    view, console = task.view, plain_console()
    run = RunReport.model_validate_json((out / "run.json").read_bytes())
    say = words_of(run)
    llm = view.llm(summary)
    for line in few_judged(llm, say):
        console.print(line)
    figures = _figures(task, summary, say)
    if figures.row_count:
        console.print(figures)
    detail = "summary.md" if (out / "summary.md").exists() else "summary.json"
    console.print(say("terminal.all_figures", place=out / detail))
    lines = (view.finding(summary, say), view.caution(summary, say), view.times(summary, say))
    for line in (*filter(None, lines), *(cost_lines(llm, say) if llm else ())):
        console.print(line)
    pages = ("report.html", "summary.md", "summary.json")
    report = next(page for page in pages if (out / page).exists())
    console.print(say("terminal.report", place=out / report))
    aside = plain_console(stderr=True)
    show_warnings([text for text in run.warnings if text not in shown_warnings], say)
    missing = [say(kind) for kind in view.missing(summary)]
    if missing:
        what = ", ".join(missing)
        if (out / "report.html").exists():  # where they are told in the reader's language
            aside.print(say("terminal.see_page", what=what, place=out / "report.html"))
        else:
            aside.print(say("terminal.see", what=what, place=out / "errors.jsonl"))
    if run.status == "interrupted" and (left := view.not_run(summary)):
        aside.print(say("terminal.not_run", count=left, units=say(f"units.{task.name}")))
    if is_resumable(out):
        aside.print(say("terminal.resume", place=out))


def show_warnings(warnings: Sequence[str], say: Words) -> None:
    """The first warnings and how many there are, on standard error."""
    if warnings:
        key = "terminal.one_warning" if len(warnings) == 1 else "terminal.warnings"
        texts = [warning_in(say.language, text) for text in warnings]
        _show_first(plain_console(stderr=True), say(key, count=len(texts)), texts, say)


def words_of(run: RunReport) -> Words:
    """The phrases of the language that a run was told to be shown in."""
    return words("ko" if run.options.get("lang") == "ko" else "en")


def plain_console(*, stderr: bool = False) -> Console:
    """Prints text as it is: no markup, no colours of numbers, no line breaks of its own."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_release(verdict: ReleaseVerdict, out: Path | None, say: Words) -> None:
    """Whether to release, the gates' verdict with its reasons, and the items that got worse."""
    console, gate, comparison = plain_console(), verdict.gate, verdict.comparison
    console.print(decision_text(verdict.release, say))
    sentence = say(
        "terminal.gate", phase=gate.phase, verdict=say(f"terminal.verdict_{gate.verdict}")
    )
    console.print(" – ".join(filter(None, (sentence, ungated_text(verdict.release, say)))))
    for reason in (*reason_texts(gate, comparison, say), *passing_notes(comparison, gate, say)):
        console.print(f"  {printable(reason)}")
    for what, meaning in other_mismatches(gate, comparison, say):
        console.print(f"  {what}: {meaning}")
    lost = [
        say("terminal.lost", what=f"{_short(item.text)} ({item.id})") for item in comparison.lost
    ]
    worse = [
        say(
            "terminal.worse",
            what=f"{_short(item.text)} ({item.id}): {change_in(say.language, item.what)}",
        )
        for item in comparison.changes
        if item.change == "worse"
    ]
    for lines in (lost, worse):
        for line in lines[:_ITEMS_SHOWN]:
            console.print(f"  {printable(line)}")
        if len(lines) > _ITEMS_SHOWN:
            console.print(f"  {say('terminal.more', count=len(lines) - _ITEMS_SHOWN)}")
    if out:
        pages = ("compare.html", "compare.md")
        page = out / next(p for p in pages if (out / p).exists())
        console.print(say("terminal.comparison", place=page))
    console.print()


def _show_bounds(gate: GateResult, say: Words) -> None:
    """The verdict on a run that was compared with nothing, and what it misses."""
    verdict = say(f"terminal.verdict_{gate.verdict}")
    console = plain_console()
    console.print(bounds_decision(gate, say))
    console.print(say("terminal.bounds", phase=gate.phase, verdict=verdict))
    for reason in missed_bounds(gate, say):
        console.print(f"  {printable(reason)}")
    console.print()


def _short(text: str) -> str:
    return textwrap.shorten(text, _TEXT_CHARS, placeholder=" …")


def _figures(task: Task[Any, Any, Any], summary: Any, say: Words) -> Table:  # noqa: ANN401  of the task's own kind
    """The few figures of all items that summary.md shows of each slice, too, and those of a checklist."""
    table = Table(
        *(say(f"page.{name}") for name in ("metric", "value", "interval", "count")),
        box=None,
        pad_edge=False,
    )
    main = blocks_of(task.name)[0]
    figures = main_figures(summary.overall)
    metrics = [metric_of(figure.key) for figure in figures]
    few = [
        figure
        for figure, of in zip(figures, metrics, strict=True)
        if of and (of.use.summary or of.key in OWN)  # an own one that says it is main
    ]
    for figure in few or figures:
        name = plain_label(figure.key, say)
        if figure.block != main:
            name = say(f"terminal.{figure.block}", metric=name)
        interval = figure.interval
        table.add_row(name, share(figure.value), between(interval), str(interval.n))
    for row in task.view.rows(summary, say):
        if row.block == "checklist":
            name = say("terminal.checklist", metric=row.metric)
            table.add_row(name, row.value, row.interval, str(row.n))
    return table


def show_lines(console: Console, one: str, many: str, lines: Sequence[str]) -> None:
    """The first lines of a kind, which is called so in one or many, and how many there are."""
    if lines:
        title = f"{len(lines)} {one if len(lines) == 1 else many}:"
        _show_first(console, translated(title), list(map(translated, lines)), words(spoken()))


def _show_first(console: Console, title: str, lines: Sequence[str], say: Words) -> None:
    console.print(title)
    for line in lines[:_LINES_SHOWN]:
        console.print(textwrap.indent(printable_lines(line), "  "))
    if len(lines) > _LINES_SHOWN:
        console.print(f"  {say('terminal.more', count=len(lines) - _LINES_SHOWN)}")
