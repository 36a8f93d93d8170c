"""`gigamind dataset`: check, describe, sample and label datasets."""

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gigamind.cli.command import Group
from gigamind.cli.errors import print_line, print_warning, translated
from gigamind.cli.output import is_json, prints_json, show_result, show_written
from gigamind.errors import DatasetError, InputError
from gigamind.i18n import _, joined, n_

if TYPE_CHECKING:
    from gigamind.cli.documents import DatasetCheckDocument
    from gigamind.datasets.check import CheckedRows
    from gigamind.datasets.describe import Description
    from gigamind.datasets.jsonl import Dataset

_path, _share = click.Path(path_type=Path), click.FloatRange(0, 1)
_MAX_PROBLEMS = 10  # in one message
_WIDTH = 120  # columns without a terminal
# Values of `Description.counts` that are not from rows.
_OWN_VALUES = {"(none)": _("(none)"), "yes": _("yes"), "no": _("no")}
_FIGURES = {
    "different expected notes": _("different expected notes"),
    "expected spans": _("expected spans"),
    "repeated queries": _("repeated queries"),
    "median query, characters": _("median length of the queries, in characters"),
    "source notes": _("source notes"),
    "median anchor, words": _("median length of the anchor texts, in words"),
}


@click.group(cls=Group)
def dataset() -> None:
    """Check, describe, sample and label datasets of queries, links or answers."""


_dataset_option = click.option(
    "--dataset", "path", type=_path, required=True, help="dataset, one JSON object per line"
)


@dataset.command(
    examples=(
        "gigamind dataset check queries.jsonl links.jsonl answers.jsonl",
        "gigamind dataset check --dataset queries.jsonl --notes vault --strict",
        "gigamind dataset check --dataset queries.jsonl --notes vault --fix fixed.jsonl",
    )
)
@click.argument("files", nargs=-1, type=_path)
@click.option(
    "--dataset",
    "paths",
    type=_path,
    multiple=True,
    help="dataset to check; another way to give FILES; repeatable",
)
@click.option(
    "--notes",
    type=_path,
    help="vault; also check that it contains the notes and text ranges that the dataset names",
)
@click.option(
    "--strict", is_flag=True, help="exit with 1 also if a name in the dataset matches several notes"
)
@click.option(
    "--min-rows",
    type=_share,
    default=0.5,
    show_default=True,
    help="lowest share of usable rows (0 to 1) at which an evaluation runs",
)
@click.option(
    "--fix",
    type=_path,
    help="write the queries to this file, with each expected span moved to the place of its text in --notes",
)
@prints_json
def check(
    files: tuple[Path, ...],
    paths: tuple[Path, ...],
    notes: Path | None,
    *,
    strict: bool,
    min_rows: float,
    fix: Path | None,
) -> None:
    """Check each row of FILES (queries, links or answers).

    Exits with 1 if there is a problem.
    """
    named = (*paths, *files)
    if not named:
        raise InputError(_("Name a dataset, such as gigamind dataset check queries.jsonl."))
    if len(named) > 1 and is_json():
        raise InputError(_("With --json, name only one dataset."))
    if fix is not None:
        _write_fixed(named, notes, fix)
    is_valid = True
    for path in named:
        document = _check(path, notes, min_rows)
        for warning in document.warnings:
            print_warning(warning)
        show_result(document, functools.partial(_show_check, document, named=len(named) > 1))
        is_valid &= not (document.problems or (strict and document.collisions))
    if not is_valid:
        sys.exit(InputError.exit_code)


def _write_fixed(named: tuple[Path, ...], notes: Path | None, out: Path) -> None:
    from gigamind.datasets.check import CheckedDataset, write_reanchored
    from gigamind.datasets.write import refuse_existing_file
    from gigamind.vault.notes import read_vault

    if notes is None or len(named) != 1:
        raise InputError(
            _("--fix needs exactly one dataset of queries, and --notes with the current vault.")
        )
    refuse_existing_file("--fix", out)
    checked = _checked_rows(_read(named[0]), notes)
    if not isinstance(checked, CheckedDataset):
        raise InputError("--fix: {file} is not a dataset of queries.", file=named[0])
    count = write_reanchored(out, checked, read_vault(notes))
    line = _(
        "moved the expected spans of {n:,} of {all:,} rows: {file}",
        n=count,
        all=checked.rows,
        file=out,
    )
    print_line(line, err=True)


def _check(path: Path, notes: Path | None, min_rows: float) -> "DatasetCheckDocument":
    from gigamind.cli.documents import DatasetCheckDocument

    rows = _read(path)
    checked_rows = _checked_rows(rows, notes)
    checked = checked_rows or rows
    bad = {error.line for error in checked.errors}
    total = len(rows.lines) + len({error.line for error in rows.errors})
    return DatasetCheckDocument(
        dataset=str(path),
        rows=total,
        usable=total - len(bad),
        problems=checked.errors,
        warnings=checked.warnings,
        collisions=checked_rows.collisions if checked_rows else (),
        stops=checked_rows.why_unusable(min_rows) if checked_rows and notes else None,
    )


@dataset.command(examples=("gigamind dataset stats --dataset queries.jsonl",))
@_dataset_option
@prints_json
def stats(path: Path) -> None:
    """Describe a dataset: languages, answerable share, spans and difficulty."""
    from gigamind.datasets.describe import describe_links, describe_queries
    from gigamind.datasets.jsonl import dataset_kind, read_links, read_queries

    if dataset_kind(path) == "links":
        description = describe_links(read_links(path))
    else:
        description = describe_queries(read_queries(path))
    show_result(description, lambda: _print(description))


@dataset.command(
    "sample",
    examples=("gigamind dataset sample --dataset queries.jsonl --size 0.2 --out fifth.jsonl",),
)
@_dataset_option
@click.option("--out", type=_path, required=True, help="write the sampled rows to this file")
@click.option(
    "--size",
    required=True,
    help="how many rows to sample: a count such as 50, or a share such as 0.2",
)
@click.option("--seed", type=click.IntRange(0), default=42, show_default=True, help="random seed")
@prints_json
def draw(path: Path, out: Path, size: str, seed: int) -> None:
    """Sample usable rows without replacement, in their original order."""
    from gigamind.datasets.sample import sample, sample_size
    from gigamind.datasets.write import refuse_existing_file, write_lines

    try:
        wanted = sample_size(size)
    except InputError as error:
        demand = error.message
        raise InputError("--size {size}: {demand}", size=size, demand=demand) from error
    refuse_existing_file("--out", out)
    usable = list(_read(path).lines.values())
    if not usable:
        raise DatasetError("{file}: no usable rows. See gigamind dataset check {file}.", file=path)
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    chosen = sample(usable, wanted, seed)
    write_lines(out, [lines[number - 1].decode().strip() for number in chosen])
    counts = {"rows": len(chosen), "usable": len(usable)}
    show_written(
        out, counts, _("sampled {rows:,} of {usable:,} usable rows: {file}", **counts, file=out)
    )


@dataset.command(
    examples=(
        "gigamind dataset label --dataset queries.jsonl --labels run/unjudged.jsonl --out labelled.jsonl",
    )
)
@_dataset_option
@click.option(
    "--labels",
    type=_path,
    required=True,
    help='unjudged.jsonl of a run, in which a person has filled in "gain"',
)
@click.option(
    "--out",
    type=_path,
    required=True,
    help="write the dataset with the added judgments to this file",
)
@prints_json
def label(path: Path, labels: Path, out: Path) -> None:
    """Add human relevance judgments to a dataset of queries; lines of --labels without a "gain" are skipped."""
    from gigamind.datasets.jsonl import read_queries
    from gigamind.datasets.label import labelled, read_gains
    from gigamind.datasets.write import refuse_existing_file, write_rows

    refuse_existing_file("--out", out)
    queries = read_queries(path)
    if queries.errors:
        problems = (error.describe(path) for error in queries.errors[:_MAX_PROBLEMS])
        raise DatasetError(joined(problems, "\n"))
    gains = read_gains(labels, {item.id for item in queries.items})
    write_rows(out, labelled(queries.items, gains))
    counts = {"judgements": sum(map(len, gains.values())), "queries": len(gains)}
    line = _("added {judgements:,} judgments for {queries:,} queries: {file}", **counts, file=out)
    show_written(out, counts, line)


def _show_check(document: "DatasetCheckDocument", *, named: bool) -> None:
    for error in document.problems:
        print_line(error.describe(Path(document.dataset)))
    if document.stops:
        print_line(_("An evaluation of this dataset would stop: {reason}", reason=document.stops))
    usable = _("{usable:,} of {rows:,} rows are usable", usable=document.usable, rows=document.rows)
    print_line(joined((document.dataset, usable), ": ") if named else usable)


def _read(path: Path) -> "Dataset[Any]":
    from gigamind.datasets import jsonl

    kind = jsonl.dataset_kind(path)
    if kind == "links":
        return jsonl.read_links(path)
    if kind == "queries":
        return jsonl.read_queries(path)
    questions = jsonl.read_questions(path)
    answered = any(item.answer is not None for item in questions.items)
    return jsonl.read_answers(path) if answered else questions


def _checked_rows(rows: "Dataset[Any]", notes: Path | None) -> "CheckedRows[Any] | None":
    """Check the rows against a vault; without one, check queries among themselves and other rows not at all."""
    from gigamind.datasets.check import check_queries
    from gigamind.datasets.check_answers import check_answers
    from gigamind.datasets.check_links import check_links
    from gigamind.datasets.jsonl import dataset_kind
    from gigamind.evidence.again import find_again
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import read_vault

    kind = dataset_kind(rows.path)
    vault = read_vault(notes) if notes else None
    identities = Identities(vault.notes if vault else ())
    if kind == "queries":
        return check_queries(rows, vault, identities, find_again)
    if vault is None:
        return None
    if kind == "links":
        return check_links(rows, vault, identities)
    answered = any(item.answer is not None for item in rows.items)
    return check_answers(rows, vault, identities, answered=answered)


def _print(description: "Description") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH
    line = n_("{n} row", "{n:,} rows", n=description.rows)
    if description.kind == "queries":
        line = n_("{n} query", "{n:,} queries", n=description.rows)
    elif description.kind == "links":
        line = n_("{n} link", "{n:,} links", n=description.rows)
    if rejected := description.rejected:
        line = _("{rows} and {rejected:,} unusable rows", rows=line, rejected=rejected)
    console.print(translated(line))
    heads = map(translated, (_("field"), _("value"), _("rows"), _("share")))
    table = Table(*heads, box=None, pad_edge=False)
    for field, values in description.counts.items():
        for number, (value, rows) in enumerate(values.items()):
            share = f"{rows / description.rows:.0%}" if description.rows else ""
            table.add_row(
                "" if number else field, translated(_OWN_VALUES.get(value, value)), str(rows), share
            )
    console.print(table)
    for name, figure in description.figures.items():
        console.print(f"{translated(_FIGURES.get(name, name))}: {figure:g}")
