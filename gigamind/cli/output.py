"""Results of commands: text for people or, with `--json`, a JSON document for programs."""

import functools
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from gigamind.i18n import Text

if TYPE_CHECKING:
    from gigamind.evaluation.progress import Progress

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
    from gigamind.cli.documents import WrittenDocument
    from gigamind.cli.errors import print_line

    show_result(WrittenDocument(out=str(out), counts=dict(counts)), lambda: print_line(line))


def progress_bar() -> "AbstractContextManager[Progress]":
    """Show a bar on a terminal, in the language of the running command; elsewhere a line now and then."""
    from rich.console import Console

    from gigamind.cli.errors import translated
    from gigamind.evaluation import progress

    return progress.progress_bar(Console(stderr=True), translated)
