"""What a command found, shown to people or, with `--json`, written for a program."""

import functools
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import click

_STDOUT = "gigamind.stdout"  # where the document goes; absent where people read


def prints_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--json`, which `--format json` means, too, where a command has it.

    Standard output is then what `tell` is given, one JSON document; whatever else is printed goes to standard error.
    """

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
        help="print one JSON document to standard output and everything else to standard error",
    )
    return option(run)


def is_json() -> bool:
    """Whether the running command prints JSON, which a program reads."""
    return _STDOUT in click.get_current_context().meta


def tell(document: object, show: Callable[[], None]) -> None:
    """Print the document for a program, or show it to people.

    Args:
        document: JSON values, models, dataclasses, or these in lists and mappings.
    """
    stdout: TextIO | None = click.get_current_context().meta.get(_STDOUT)
    if stdout is None:
        show()
    else:
        click.echo(_text(document, stdout.encoding), file=stdout)


def tell_written(out: Path, counts: Mapping[str, int], line: str) -> None:
    """Tell of a file or folder that was written: what is in it for a program, the line for people."""
    from gigamind.cli.documents import WrittenDocument
    from gigamind.cli.errors import translated

    tell(WrittenDocument(out=str(out), counts=dict(counts)), lambda: click.echo(translated(line)))


def _text(document: object, encoding: str | None) -> str:
    from pydantic_core import to_jsonable_python

    values = to_jsonable_python(document)
    plain = (
        not (encoding or "utf-8").lower().startswith("utf")
    )  # escaped by Python, it were no JSON
    return json.dumps(values, ensure_ascii=plain, indent=2, allow_nan=False)
