"""`gigamind dataset`: check and label datasets."""

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gigamind.cli.command import Group
from gigamind.cli.output import (
    is_json,
    print_line,
    print_warning,
    prints_json,
    show_result,
    show_written,
)
from gigamind.errors import DatasetError, InputError
from gigamind.i18n import _, joined

if TYPE_CHECKING:
    from gigamind.cli.documents import DatasetCheckDocument
    from gigamind.datasets.check import CheckedRows
    from gigamind.datasets.jsonl import Dataset

_path, _share = click.Path(path_type=Path), click.FloatRange(0, 1)
_MAX_PROBLEMS = 10  # in one message


@click.group(cls=Group)
def dataset() -> None:
    """Check and label datasets of queries, links or answers."""


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
    _rows, checked = _checked(named[0], notes)
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

    rows, checked_rows = _checked(path, notes)
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


@dataset.command(
    examples=(
        "gigamind dataset label --dataset queries.jsonl --labels labels.jsonl --out labelled.jsonl",
    )
)
@click.option(
    "--dataset", "path", type=_path, required=True, help="dataset, one JSON object per line"
)
@click.option(
    "--labels",
    type=_path,
    required=True,
    help="file of `gigamind label` for a search run over the dataset",
)
@click.option(
    "--out",
    type=_path,
    required=True,
    help="write the dataset with the added judgments to this file",
)
@prints_json
def label(path: Path, labels: Path, out: Path) -> None:
    """Add labels of search results by people to a dataset of queries, as relevance grades."""
    from gigamind.assurance.label_file import gains_of
    from gigamind.datasets.jsonl import read_queries
    from gigamind.datasets.labels import labelled
    from gigamind.datasets.write import refuse_existing_file, write_rows

    refuse_existing_file("--out", out)
    queries = read_queries(path)
    if queries.errors:
        problems = (error.describe(path) for error in queries.errors[:_MAX_PROBLEMS])
        raise DatasetError(joined(problems, "\n"))
    gains = gains_of(labels, {item.id for item in queries.items})
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


def _checked(path: Path, notes: Path | None) -> "tuple[Dataset[Any], CheckedRows[Any] | None]":
    """Read a dataset and check it against a vault; without one, queries are checked among themselves, others not."""
    from gigamind.datasets import jsonl
    from gigamind.datasets.check import check_links, check_queries
    from gigamind.datasets.check_answers import check_answers
    from gigamind.evidence.again import find_again
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import read_vault

    kind = jsonl.dataset_kind(path)
    vault = read_vault(notes) if notes else None
    identities = Identities(vault.notes if vault else ())
    if kind == "queries":
        queries = jsonl.read_queries(path)
        return queries, check_queries(queries, vault, identities, find_again)
    if kind == "links":
        links = jsonl.read_links(path)
        return links, check_links(links, vault, identities) if vault else None
    questions = jsonl.read_questions(path)
    answered = any(item.answer is not None for item in questions.items)
    answers = jsonl.read_answers(path) if answered else questions
    return answers, check_answers(answers, vault, identities, answered=answered) if vault else None
