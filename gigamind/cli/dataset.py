"""`gigamind dataset`: is a dataset sound, what does it hold, a smaller one of it, or one with more judgements."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gigamind.cli.command import Group
from gigamind.cli.errors import translated
from gigamind.cli.output import prints_json, tell, tell_written
from gigamind.errors import DatasetError, InputError

if TYPE_CHECKING:
    from gigamind.cli.documents import DatasetCheckDocument
    from gigamind.datasets.check import CheckedRows
    from gigamind.datasets.describe import Description
    from gigamind.datasets.row_errors import RowError
    from gigamind.vault.identity import Collision

_path = click.Path(path_type=Path)
_SHOWN = 10  # problems in one message
_WIDTH = 120  # columns where there is no terminal to ask
_dataset_option = click.option(
    "--dataset", "path", type=_path, required=True, help="rows, one JSON object a line"
)


@click.group(cls=Group)
def dataset() -> None:
    """Check, describe, sample and label datasets of queries or links."""


@dataset.command(
    examples=(
        "gigamind dataset check --dataset queries.jsonl",
        "gigamind dataset check --dataset queries.jsonl --notes vault --strict",
    )
)
@_dataset_option
@click.option("--notes", type=_path, help="look every note and range up in this vault, too")
@click.option("--strict", is_flag=True, help="names that mean several notes are problems")
@click.option(
    "--min-rows",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="share of the rows that an evaluation would ask for",
)
@prints_json
def check(path: Path, notes: Path | None, *, strict: bool, min_rows: float) -> None:
    """Say what is wrong with each row; exit code 1 if anything is."""
    from gigamind.cli.documents import DatasetCheckDocument

    rows = _read(path)
    held = None if notes is None else _held_against(path, notes)
    checked = held or rows
    for warning in checked.warnings:
        click.echo(f"warning: {warning}", err=True)
    bad = {error.line for error in checked.errors}
    total = len(rows.lines) + len({error.line for error in rows.errors})
    found = DatasetCheckDocument(
        dataset=str(path),
        rows=total,
        usable=total - len(bad),
        problems=checked.errors,
        warnings=checked.warnings,
        collisions=checked.collisions,
        stops=held.why_unusable(min_rows) if held else None,
    )
    tell(found, lambda: _show_check(found))
    if bad or (strict and checked.collisions):
        sys.exit(InputError.exit_code)


@dataset.command(examples=("gigamind dataset stats --dataset queries.jsonl",))
@_dataset_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@prints_json
def stats(path: Path, form: str) -> None:
    """Print what a dataset holds: languages, answerable share, spans, difficulty."""
    del form  # says the same as --json
    description = _described(path)
    tell(description, lambda: _print(description))


@dataset.command(
    "sample",
    examples=("gigamind dataset sample --dataset queries.jsonl --size 0.2 --out fifth.jsonl",),
)
@_dataset_option
@click.option("--out", type=_path, required=True, help="file for the drawn rows")
@click.option("--size", required=True, help="how many: 50, or a share: 0.2")
@click.option("--seed", type=click.IntRange(min=0), default=42, show_default=True)
@prints_json
def draw(path: Path, out: Path, size: str, seed: int) -> None:
    """Draw usable rows without replacement, the same ones for the same seed, in their order."""
    from gigamind.datasets.sample import sample, sample_size
    from gigamind.datasets.write import refuse_existing_file, write_lines

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
    counts = {"rows": len(chosen), "usable": len(usable)}
    tell_written(out, counts, f"{len(chosen)} of {len(usable)} rows: {out}")


@dataset.command(
    examples=(
        "gigamind dataset label --dataset queries.jsonl --labels run/unjudged.jsonl --out labelled.jsonl",
    )
)
@_dataset_option
@click.option(
    "--labels", type=_path, required=True, help='unjudged.jsonl of a run, with its "gain" filled in'
)
@click.option(
    "--out", type=_path, required=True, help="file for the rows with their new judgements"
)
@prints_json
def label(path: Path, labels: Path, out: Path) -> None:
    """Add the judgements of people to the rows of queries; a line without a "gain" is left for later."""
    from gigamind.datasets.jsonl import read_queries
    from gigamind.datasets.label import labelled, read_gains
    from gigamind.datasets.write import refuse_existing_file, write_rows

    refuse_existing_file("--out", out)
    queries = read_queries(path)
    if queries.errors:
        raise DatasetError("\n".join(error.describe(path) for error in queries.errors[:_SHOWN]))
    gains = read_gains(labels, {item.id for item in queries.items})
    write_rows(out, labelled(queries.items, gains))
    counts = {"judgements": sum(map(len, gains.values())), "queries": len(gains)}
    tell_written(out, counts, f"{counts['judgements']} judgements of {len(gains)} queries: {out}")


def _show_check(found: "DatasetCheckDocument") -> None:
    for error in found.problems:
        click.echo(translated(error.describe(Path(found.dataset))))
    if found.stops:
        click.echo(translated(f"An evaluation would stop: {found.stops}"))
    click.echo(translated(f"{found.usable} of {found.rows} rows can be used"))


class _Rows(NamedTuple):
    """A dataset of either kind.

    Attributes:
        lines: of the usable rows, in file order.
    """

    lines: list[int]
    errors: "tuple[RowError, ...]"
    warnings: tuple[str, ...]
    collisions: "tuple[Collision, ...]" = ()


def _described(path: Path) -> "Description":
    from gigamind.datasets.describe import describe_links, describe_queries
    from gigamind.datasets.jsonl import dataset_kind, read_links, read_queries

    if dataset_kind(path) == "links":
        return describe_links(read_links(path))
    return describe_queries(read_queries(path))


def _read(path: Path) -> _Rows:
    from gigamind.datasets.jsonl import dataset_kind, read_links, read_queries

    found = read_links(path) if dataset_kind(path) == "links" else read_queries(path)
    return _Rows(list(found.lines.values()), found.errors, found.warnings)


def _held_against(path: Path, notes: Path) -> "CheckedRows[Any]":
    from gigamind.datasets.check import check_links, check_queries
    from gigamind.datasets.jsonl import dataset_kind, read_links, read_queries
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import read_vault

    vault = read_vault(notes)
    identities = Identities(vault.notes)
    if dataset_kind(path) == "links":
        return check_links(read_links(path), vault, identities)
    return check_queries(read_queries(path), vault, identities)


def _print(description: "Description") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH
    more = f", {description.rejected} more cannot be used" if description.rejected else ""
    console.print(f"{description.rows} rows of {description.kind}{more}")
    table = Table("field", "value", "rows", "share", box=None, pad_edge=False)
    for field, values in description.counts.items():
        for number, (value, rows) in enumerate(values.items()):
            share = f"{rows / description.rows:.0%}" if description.rows else ""
            table.add_row("" if number else field, value, str(rows), share)
    console.print(table)
    for name, figure in description.figures.items():
        console.print(f"{name}: {figure:g}")
