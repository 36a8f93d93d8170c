"""Results of an evaluation: its JSON document; and on the terminal metrics, what is missing, and next steps."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console

from gigamind.cli.output import print_line, translated
from gigamind.errors import GigamindError
from gigamind.evaluation.finish import Evaluated
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.task import Checked
from gigamind.i18n import Message, Text, Translator, _, joined, n_, translator
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


def show_checked(checked: Checked, config: ConfigReport | None) -> None:
    """Print the result of `--dry-run` and the expected work of a first run."""
    print_line(checked.terminal)
    rows = [joined((error.message for error in row), "\n") for row in by_item(checked.errors)]
    if rows:
        title = n_(
            "{n} unusable row of the dataset:", "{n:,} unusable rows of the dataset:", n=len(rows)
        )
        _show_first(title, rows, err=False)
    show_warning_lines(checked.warnings, err=False)
    print_line(f"dataset_hash {checked.dataset_hash}")
    if checked.notes_hash:
        print_line(f"notes_hash   {checked.notes_hash}")
    for work in checked.estimate():
        print_line(_("expected work: {work}", work=work.describe()))
    if least := checked.least_calls():
        line = _(
            "judging one item takes {n:,} requests; with a smaller --max-calls, possibly no item is judged",
            n=least,
        )
        print_line(line)
    if config:
        print_line(_("options from {file}: {options}", file=config.file, options=config.options))


def show_finished(
    options: EvalOptions, finished: Evaluated[Any], shown_warnings: Sequence[Text]
) -> None:
    """Print the first part of the run's page, its cost, and where its report is."""
    out, say = finished.out, translator(options.language)
    if finished.page:
        show_document(finished.page.without(*shown_warnings), say)
    if llm := TASKS[options.task].view.llm(finished.summary):
        show_document(Document("", "", terminal_blocks(llm)), say)
    pages = ("report.html", "summary.md", "summary.json")
    report = next(name for name in pages if (out / name).exists())
    print_line(_("Report: {file}", file=out / report))


def show_document(document: Document, say: Translator, page: Path | None = None) -> None:
    """Print the first part of a document, and where its page is."""
    # No markup, highlighting or line breaks.
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    show(document, console, say)
    if page:
        console.print(say(_("Report: {file}", file=page)))


def show_warning_lines(warnings: Sequence[Text], *, err: bool = True) -> None:
    """Print the number of warnings and the first ones."""
    if warnings:
        title = n_("{n} warning:", "{n:,} warnings:", n=len(warnings))
        _show_first(title, warnings, err=err)


def _show_first(title: Message, lines: Sequence[Text], *, err: bool) -> None:
    print_line(title, err=err)
    for line in lines[:_MAX_LINES]:
        print_line(textwrap.indent(printable_lines(translated(line)), "  "), err=err)
    if len(lines) > _MAX_LINES:
        more = _("... and {n:,} more problems", n=len(lines) - _MAX_LINES)
        print_line(f"  {translated(more)}", err=err)
