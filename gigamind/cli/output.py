"""Results, messages and errors of commands: text in the language of the call or, with `--json`, a JSON document."""

import functools
import json
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_args

import click

from gigamind.i18n import (
    Language,
    LanguageChoice,
    Message,
    Text,
    Translator,
    _,
    language_of,
    n_,
    translator,
)

if TYPE_CHECKING:
    from gigamind.evaluation.progress import Progress
    from gigamind.reports.document import Document


class CallLanguage:
    """The language of a call: `--lang` on the command line or in gigamind.toml, else the environment."""

    def __init__(self, arguments: Sequence[str]) -> None:
        words = [part for argument in arguments for part in argument.split("=", 1)]
        choice = next((after for word, after in pairwise(words) if word == "--lang"), "")
        self.choice: LanguageChoice = choice if choice in get_args(LanguageChoice) else "auto"

    @property
    def language(self) -> Language:
        return language_of(self.choice)


def call_translator(context: click.Context | None = None) -> Translator:
    """Return the translator of a command, by default of the running one."""
    context = context or click.get_current_context(silent=True)
    setting = context.find_object(CallLanguage) if context else None
    return translator(setting.language if setting else language_of())


def translated(message: Text) -> str:
    """Return a message in the language of the running command."""
    return call_translator()(message)


def print_line(line: Text, *, err: bool = False) -> None:
    """Print a message in the language of the running command."""
    click.echo(translated(line), err=err)


def print_warning(warning: Text) -> None:
    """Print a warning to standard error."""
    print_line(_("Warning: {warning}", warning=warning), err=True)


_MAX_LINES = 10
_STDOUT = "gigamind.stdout"  # stream of the JSON document; absent without --json


def prints_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json` to a command (same as `--format json`): all output but the document goes to standard error."""

    @functools.wraps(command)
    def run(*arguments: Any, as_json: bool, **values: Any) -> Any:  # noqa: ANN401  those of the command
        if not as_json and values.get("form") != "json":
            return command(*arguments, **values)
        click.get_current_context().meta[_STDOUT] = sys.stdout
        with redirect_stdout(sys.stderr):
            return command(*arguments, **values)

    option = click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="print one JSON document to standard output; everything else goes to standard error",
    )
    return option(run)


def is_json() -> bool:
    """Return whether the running command prints JSON."""
    return _STDOUT in click.get_current_context().meta


def show_result(document: object, show: Callable[[], None]) -> None:
    """Print the document (JSON values, models, dataclasses) with `--json`, else call `show`."""
    stdout: TextIO | None = click.get_current_context().meta.get(_STDOUT)
    if stdout is None:
        show()
        return
    from pydantic_core import to_jsonable_python

    # Where Python escaped what the stream cannot encode, the output was not JSON.
    plain = not (stdout.encoding or "utf-8").lower().startswith("utf")
    values = to_jsonable_python(document)
    click.echo(json.dumps(values, ensure_ascii=plain, indent=2, allow_nan=False), file=stdout)


def show_written(out: Path, counts: Mapping[str, int], line: Text) -> None:
    """Report a file or folder that was written: its counts as JSON, or the line."""
    show_result({"out": str(out), "counts": dict(counts)}, lambda: print_line(line))


def show_document(document: "Document", say: Translator, page: Path | None = None) -> None:
    """Print the first part of a document, and where its page is."""
    from rich.console import Console

    from gigamind.reports.terminal import show

    # No markup, highlighting or line breaks.
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    show(document, console, say, page)
    if page:
        console.print(say(_("Report: {file}", file=page)))


def show_warning_lines(warnings: Sequence[Text], *, err: bool = True) -> None:
    """Print the number of warnings and the first ones."""
    if warnings:
        title = n_("{n} warning:", "{n:,} warnings:", n=len(warnings))
        show_first(title, warnings, err=err)


def show_first(title: Message, lines: Sequence[Text], *, err: bool) -> None:
    """Print a title and the first lines below it."""
    from gigamind.text import printable_lines

    print_line(title, err=err)
    for line in lines[:_MAX_LINES]:
        print_line(textwrap.indent(printable_lines(translated(line)), "  "), err=err)
    if len(lines) > _MAX_LINES:
        more = _("... and {n:,} more problems", n=len(lines) - _MAX_LINES)
        print_line(f"  {translated(more)}", err=err)


def progress_bar() -> "AbstractContextManager[Progress]":
    """Show a bar on a terminal, in the language of the running command; elsewhere a line now and then."""
    from rich.console import Console

    from gigamind.evaluation import progress

    return progress.progress_bar(Console(stderr=True), translated)


def show_error(message: Text, language: Language) -> None:
    """Print an error to standard error."""
    from gigamind.text import printable_lines

    # A message may quote a dataset or a model; control characters must not reach the terminal.
    line = translator(language)(_("Error: {message}", message=message))
    click.echo(printable_lines(line), err=True)


def value_demand(kind: "click.ParamType[Any, Any]") -> Message | None:  # noqa: PLR0911  one per type
    """Return which values a type of click takes; None for a type without a message of ours."""
    match kind:
        case click.Choice():
            return _("must be one of {choices}", choices=[str(choice) for choice in kind.choices])
        case click.IntRange(min=int(low), max=int(high)):
            return _("must be an integer from {low:,} to {high:,}", low=low, high=high)
        case click.IntRange(min=int(low)):
            return _("must be an integer of at least {low:,}", low=low)
        case click.FloatRange(min=int() | float() as low, max=int() | float() as high):
            if kind.max_open:
                return _(
                    "must be a number of at least {low:g} and below {high:g}", low=low, high=high
                )
            return _("must be a number from {low:g} to {high:g}", low=low, high=high)
        case click.types.IntParamType():
            return _("must be an integer")
        case click.types.FloatParamType():
            return _("must be a number")
        case click.Path(dir_okay=False):
            return _("must be a file, not a folder")
        case _other:
            return None
