"""Results of an evaluation on the terminal: metrics, what is missing, and next steps."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from gigamind.choices import TaskName
from gigamind.cli.errors import call_translator
from gigamind.evaluation.finish import Evaluated
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.evaluation.task import Checked, Task
from gigamind.evaluation.unfinished import is_resumable
from gigamind.formats import between, share
from gigamind.i18n import LANGUAGES, Language, Message, Text, Translator, _, c_, joined, n_, translator
from gigamind.loading import ConfigReport
from gigamind.metrics.spec import OWN, blocks_of
from gigamind.metrics.table import metric_of
from gigamind.records.schema import RunReport, by_item
from gigamind.release.policy import GateResult
from gigamind.reports.comparison import passing_notes
from gigamind.reports.document import Document
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
from gigamind.reports.terminal import show
from gigamind.tasks import TASKS
from gigamind.text import printable, printable_lines

_MAX_LINES = 10
_MAX_ITEMS = 5
_TEXT_CHARS = 120  # of a question
_VERDICTS = {
    "passed": _("PASSED"),
    "failed": _("FAILED"),
    "warned": _("WARNED"),
    "inconclusive": _("INCONCLUSIVE"),
    "not-comparable": _("NOT COMPARABLE"),
}


def show_checked(checked: Checked, config: ConfigReport | None = None) -> None:
    """Print the result of `--dry-run` and the expected work of a first run."""
    console, say = plain_console(), call_translator()
    console.print(say(checked.terminal))
    rows = [joined((error.message for error in row), "\n") for row in by_item(checked.errors)]
    if rows:
        _show_first(
            console,
            n_(
                "{n} unusable row of the dataset:",
                "{n:,} unusable rows of the dataset:",
                n=len(rows),
            ),
            rows,
            say,
        )
    show_warning_lines(console, checked.warnings)
    console.print(f"dataset_hash {checked.dataset_hash}")
    if checked.notes_hash:
        console.print(f"notes_hash   {checked.notes_hash}")
    for work in checked.estimate():
        console.print(say(_("expected work: {work}", work=work.describe())))
    if least := checked.least_calls():
        line = _(
            "judging one item takes {n:,} requests; with a smaller --max-calls, possibly no item is judged",
            n=least,
        )
        console.print(say(line))
    if config:
        console.print(
            say(_("options from {file}: {options}", file=config.file, options=config.options))
        )


def show_finished(
    name: TaskName,
    finished: Evaluated[Any],
    shown_warnings: Sequence[Text],
    bounds: GateResult | None,
) -> None:
    """Print the run, preceded by the verdict of the gates or bounds if the run is complete."""
    if finished.summary.status == "complete" and (finished.verdict or bounds):
        run = RunReport.model_validate_json((finished.out / "run.json").read_bytes())
        if finished.verdict:
            show_release(finished.verdict, finished.out, words_of(run))
        elif bounds:
            _show_bounds(bounds, words_of(run))
            shown_warnings = [*shown_warnings, *missed_bounds(bounds, words_of(run))]
    show_run(TASKS[name], finished.summary, finished.out, shown_warnings)


def show_run(
    task: Task[Any, Any, Any], summary: BaseModel, out: Path, shown_warnings: Sequence[Text] = ()
) -> None:
    """Print the main metrics and the report; problems and new warnings go to standard error."""
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
    console.print(say(_("All metrics: {file}", file=out / detail)))
    lines = (view.finding(summary, say), view.caution(summary, say), view.times(summary, say))
    for line in (*filter(None, lines), *(cost_lines(llm, say) if llm else ())):
        console.print(line)
    pages = ("report.html", "summary.md", "summary.json")
    report = next(page for page in pages if (out / page).exists())
    console.print(say(_("Report: {file}", file=out / report)))
    stderr = plain_console(stderr=True)
    show_warnings([text for text in run.warnings if text not in shown_warnings], say)
    missing = [say(kind) for kind in view.missing(summary)]
    if missing:
        what = ", ".join(missing)
        if (out / "report.html").exists():  # its errors are in the reader's language
            line = _(
                '{problems}. For the reasons, see the section "Errors" in {file}',
                problems=what,
                file=out / "report.html",
            )
        else:
            line = _(
                "{problems}. For the reasons, see {file}", problems=what, file=out / "errors.jsonl"
            )
        stderr.print(say(line))
    if run.status == "interrupted" and (left := view.not_run(summary)):
        stderr.print(say(_not_run(task.name, left)))
    if is_resumable(out):
        stderr.print(say(_("To resume this run, add --resume {folder}", folder=out)))


def _not_run(task: TaskName, count: int) -> Message:
    match task:
        case "search":
            return n_("{n} query was not run", "{n:,} queries were not run", n=count)
        case "links":
            return n_("{n} link was not run", "{n:,} links were not run", n=count)
        case "answers":
            return n_("{n} answer was not judged", "{n:,} answers were not judged", n=count)


def show_warnings(warnings: Sequence[Text], say: Translator) -> None:
    """Print the number of warnings and the first ones to standard error."""
    show_warning_lines(plain_console(stderr=True), warnings, translator(say.language))


def words_of(run: RunReport) -> Translator:
    """Return the words of a run's language; older runs have none, which means English."""
    lang = run.options.get("lang")
    return translator(lang if lang in LANGUAGES else LANGUAGES[0])


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console without markup, highlighting and line breaks."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_document(document: Document, language: Language, page: Path | None) -> None:
    """Print the first part of a page, and where the page is."""
    console, say = plain_console(), translator(language)
    show(document, console, say)
    if page:
        console.print(say(_("Report page: {place}", place=page)))


def show_release(verdict: ReleaseVerdict, out: Path | None, say: Translator) -> None:
    """Print the release decision, the verdict of the gates with its reasons, and the items that got worse."""
    console, gate, comparison = plain_console(), verdict.gate, verdict.comparison
    console.print(decision_text(verdict.release, say))
    verdict_name = _VERDICTS[gate.verdict]
    sentence = say(_("Release gate ({phase}): {verdict}", phase=gate.phase, verdict=verdict_name))
    console.print(" – ".join(filter(None, (sentence, ungated_text(verdict.release, say)))))
    for reason in (*reason_texts(gate, comparison, say), *passing_notes(comparison, gate, say)):
        console.print(f"  {printable(reason)}")
    for what, meaning in other_mismatches(gate, comparison, say):
        console.print(f"  {what}: {meaning}")
    lost = [
        _(
            "not evaluated, unlike in the baseline: {question} ({id})",
            question=_short(item.text),
            id=item.id,
        )
        for item in comparison.lost
    ]
    worse = [
        _("worse: {text} ({id}): {change}", text=_short(item.text), id=item.id, change=item.what)
        for item in comparison.changes
        if item.change == "worse"
    ]
    for lines in (lost, worse):
        for line in lines[:_MAX_ITEMS]:
            console.print(f"  {printable(say(line))}")
        if len(lines) > _MAX_ITEMS:
            console.print(f"  {say(_more(len(lines) - _MAX_ITEMS))}")
    if out:
        pages = ("compare.html", "compare.md")
        page = out / next(p for p in pages if (out / p).exists())
        console.print(say(_("Comparison: {file}", file=page)))
    console.print()


def _show_bounds(gate: GateResult, say: Translator) -> None:
    console = plain_console()
    console.print(bounds_decision(gate, say))
    verdict = _VERDICTS[gate.verdict]
    line = _("Release gate ({phase}, no baseline): {verdict}", phase=gate.phase, verdict=verdict)
    console.print(say(line))
    for reason in missed_bounds(gate, say):
        console.print(f"  {printable(reason)}")
    console.print()


def _short(text: str) -> str:
    return textwrap.shorten(text, _TEXT_CHARS, placeholder=" …")


def _figures(task: Task[Any, Any, Any], summary: Any, say: Translator) -> Table:  # noqa: ANN401  of the task's own kind
    heads = (_("metric"), _("value"), _("95% interval"), c_("number of items", "N"))
    table = Table(*map(say, heads), box=None, pad_edge=False)
    main = blocks_of(task.name)[0]
    figures = main_figures(summary.overall)
    metrics = [metric_of(figure.key) for figure in figures]
    few = [
        figure
        for figure, of in zip(figures, metrics, strict=True)
        if of and (of.use.summary or of.key in OWN)  # or a custom metric marked as main
    ]
    for figure in few or figures:
        name = plain_label(figure.key, say)
        if figure.block != main:
            name = say(_("unanswerable: {metric}", metric=name))
        interval = figure.interval
        table.add_row(name, share(figure.value), between(interval), str(interval.n))
    for row in task.view.rows(summary, say):
        if row.block == "checklist":
            name = say(_("checklist: {metric}", metric=row.metric))
            table.add_row(name, row.value, row.interval, str(row.n))
    return table


def show_warning_lines(
    console: Console, warnings: Sequence[Text], say: Translator | None = None
) -> None:
    """Print the number of warnings and the first ones, by default in the language of the call."""
    if warnings:
        title = n_("{n} warning:", "{n:,} warnings:", n=len(warnings))
        _show_first(console, title, warnings, say or call_translator())


def _show_first(console: Console, title: Message, lines: Sequence[Text], say: Translator) -> None:
    console.print(say(title))
    for line in lines[:_MAX_LINES]:
        console.print(textwrap.indent(printable_lines(say(line)), "  "))
    if len(lines) > _MAX_LINES:
        console.print(f"  {say(_more(len(lines) - _MAX_LINES))}")


def _more(count: int) -> Message:
    return _("... and {n:,} more problems", n=count)
