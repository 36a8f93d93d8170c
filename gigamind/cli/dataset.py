"""`gigamind dataset`: is a dataset sound, what does it hold, and a smaller one of it."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from rich.console import Console
from rich.table import Table

from gigamind.datasets.check import check_queries
from gigamind.datasets.check_links import check_links
from gigamind.datasets.copy_vault import refuse_existing_file
from gigamind.datasets.describe import Description, describe_links, describe_queries
from gigamind.datasets.jsonl import dataset_kind, read_links, read_queries
from gigamind.datasets.row_errors import RowError
from gigamind.datasets.sample import sample, sample_size
from gigamind.datasets.write import write_lines
from gigamind.errors import DatasetError, InputError
from gigamind.vault.identity import Collision, Identities
from gigamind.vault.notes import Vault, read_vault

Command = TypeVar("Command", bound=Callable[..., Any])

_path = click.Path(path_type=Path)
_WIDTH = 120  # columns where there is no terminal to ask


@click.group()
def dataset() -> None:
    """Check, describe and sample datasets of queries or links."""


def _dataset_option(command: Command) -> Command:
    option = click.option(
        "--dataset", "path", type=_path, required=True, help="rows, one JSON object a line"
    )
    return option(command)


@dataset.command()
@_dataset_option
@click.option("--notes", type=_path, help="look every note and range up in this vault, too")
@click.option("--strict", is_flag=True, help="names that mean several notes are problems")
def check(path: Path, notes: Path | None, *, strict: bool) -> None:
    """Say what is wrong with each row; exit code 1 if anything is."""
    rows = _read(path)
    found = rows if notes is None else _held_against(path, read_vault(notes))
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    for error in found.errors:
        click.echo(error.describe(path))
    bad = {error.line for error in found.errors}
    total = len(rows.lines) + len({error.line for error in rows.errors})
    click.echo(f"{total - len(bad)} of {total} rows can be used")
    if bad or (strict and found.collisions):
        sys.exit(InputError.exit_code)


@dataset.command()
@_dataset_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def stats(path: Path, form: str) -> None:
    """Print what a dataset holds: languages, answerable share, spans, difficulty."""
    found = _described(path)
    if form == "json":
        click.echo(json.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        _print(found)


@dataset.command("sample")
@_dataset_option
@click.option("--out", type=_path, required=True, help="file for the drawn rows")
@click.option("--size", required=True, help="how many: 50, or a share: 0.2")
@click.option("--seed", type=click.IntRange(min=0), default=42, show_default=True)
def draw(path: Path, out: Path, size: str, seed: int) -> None:
    """Draw usable rows without replacement, the same ones for the same seed, in their order."""
    try:
        wanted = sample_size(size)
    except InputError as error:
        raise InputError(str(error).replace("--sample", "--size")) from error
    refuse_existing_file("--out", out)
    usable = _read(path).lines
    if not usable:
        raise DatasetError(f"{path}: no row can be used. See gigamind dataset check.")
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    chosen = sample(usable, wanted, seed)
    write_lines(out, [lines[number - 1].decode().strip() for number in chosen])
    click.echo(f"{len(chosen)} of {len(usable)} rows: {out}")


class _Rows(NamedTuple):
    """A dataset of either kind, or what became of it in a vault.

    Attributes:
        lines: of the usable rows, in file order.
    """

    lines: list[int]
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    collisions: tuple[Collision, ...] = ()


def _described(path: Path) -> Description:
    if dataset_kind(path) == "links":
        return describe_links(read_links(path))
    return describe_queries(read_queries(path))


def _read(path: Path) -> _Rows:
    found = read_links(path) if dataset_kind(path) == "links" else read_queries(path)
    return _Rows(list(found.lines.values()), found.errors, found.warnings)


def _held_against(path: Path, vault: Vault) -> _Rows:
    identities = Identities(vault.notes)
    if dataset_kind(path) == "links":
        links = check_links(read_links(path), vault, identities)
        lines = [link.line for link in links.links]
        return _Rows(lines, links.errors, links.warnings, links.collisions)
    checked = check_queries(read_queries(path), vault, identities)
    lines = [query.line for query in checked.queries]
    return _Rows(lines, checked.errors, checked.warnings, checked.collisions)


def _print(found: Description) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH
    more = f", {found.rejected} more cannot be used" if found.rejected else ""
    console.print(f"{found.rows} rows of {found.kind}{more}")
    table = Table("field", "value", "rows", "share", box=None, pad_edge=False)
    for field, values in found.counts.items():
        for number, (value, rows) in enumerate(values.items()):
            share = f"{rows / found.rows:.0%}" if found.rows else ""
            table.add_row("" if number else field, value, str(rows), share)
    console.print(table)
    for name, figure in found.figures.items():
        console.print(f"{name}: {figure:g}")
