"""Results of an evaluation: its JSON document; and on the terminal metrics, what is missing, and next steps."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console

from gigamind.cli.output import call_translator
from gigamind.errors import GigamindError
from gigamind.evaluation.finish import Evaluated
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.task import Checked
from gigamind.i18n import Language, Message, Text, Translator, _, joined, n_, translator
from gigamind.loading import ConfigReport
from gigamind.records.judged import Report
from gigamind.records.schema import by_item
from gigamind.release.comparison import Comparison
from gigamind.release.policy import GateResult
from gigamind.reports.document import Document
from gigamind.reports.model import terminal_blocks
from gigamind.reports.terminal import show
from gigamind.tasks import TASKS
from gigamind.text import printable_lines

Summary = TypeVar("Summary", bound=Report)
_MAX_LINES = 10


class RefusalDocument(Report):
    """Why a written run does not count as a result, in English, with its exit code."""

    exit_code: int
    message: str


class EvaluationDocument(Report, Generic[Summary]):
    """A finished or interrupted evaluation.

    Attributes:
        comparison, gate: null without a comparison, but `gate` has the floors and ceilings of --gates if there are any.
        refused: null if the run counts as a result.
    """

    out: str
    summary: Summary
    comparison: Comparison | None
    gate: GateResult | None
    refused: RefusalDocument | None


def evaluation_document(
    finished: Evaluated[Any], refused: GigamindError | None = None
) -> EvaluationDocument[Any]:
    """Return the document of a run."""
    verdict, refusal = finished.verdict, None
    if refused:
        refusal = RefusalDocument(exit_code=refused.exit_code, message=str(refused))
    return EvaluationDocument[Any](
        out=str(finished.out),
        summary=finished.summary,
        comparison=verdict.comparison if verdict else None,
        gate=verdict.gate if verdict else finished.bounds,
        refused=refusal,
    )


def show_checked(checked: Checked, config: ConfigReport | None = None) -> None:
    """Print the result of `--dry-run` and the expected work of a first run."""
    console, say = plain_console(), call_translator()
    console.print(say(checked.terminal))
    rows = [joined((error.message for error in row), "\n") for row in by_item(checked.errors)]
    if rows:
        title = n_(
            "{n} unusable row of the dataset:", "{n:,} unusable rows of the dataset:", n=len(rows)
        )
        _show_first(console, title, rows, say)
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
        line = _("options from {file}: {options}", file=config.file, options=config.options)
        console.print(say(line))


def show_finished(
    options: EvalOptions, finished: Evaluated[Any], shown_warnings: Sequence[Text]
) -> None:
    """Print the first part of the run's page, its cost, and where its report is."""
    task, out = TASKS[options.task], finished.out
    console, say = plain_console(), translator(options.language)
    if finished.page:
        show(finished.page.without(*shown_warnings), console, say)
    if llm := task.view.llm(finished.summary):
        show(Document("", "", terminal_blocks(llm)), console, say)
    pages = ("report.html", "summary.md", "summary.json")
    report = next(name for name in pages if (out / name).exists())
    console.print(say(_("Report: {file}", file=out / report)))


def show_document(document: Document, language: Language, page: Path | None) -> None:
    """Print the first part of a document, and where its page is."""
    console, say = plain_console(), translator(language)
    show(document, console, say)
    if page:
        console.print(say(_("Report: {file}", file=page)))


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console without markup, highlighting and line breaks."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


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
        more = _("... and {n:,} more problems", n=len(lines) - _MAX_LINES)
        console.print(f"  {say(more)}")
