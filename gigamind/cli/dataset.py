"""`gigamind dataset`, `eval generate-links` and `eval generate-queries`: check, label and generate datasets."""

import functools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from pydantic import Field

from gigamind.choices import FORMS, Form
from gigamind.cli.command import Group, command
from gigamind.cli.llm import ask_model
from gigamind.cli.options import options_of
from gigamind.cli.output import (
    is_json,
    print_line,
    print_warning,
    prints_json,
    show_result,
    show_written,
)
from gigamind.errors import DatasetError, EvaluationError, InputError
from gigamind.evaluation.options import validated
from gigamind.i18n import Text, _, joined, n_
from gigamind.llm.settings import ModelOptions

if TYPE_CHECKING:
    from gigamind.cli.documents import DatasetCheckDocument
    from gigamind.datasets.check import CheckedRows
    from gigamind.datasets.jsonl import Dataset

_path, _share, _count = click.Path(path_type=Path), click.FloatRange(0, 1), click.IntRange(min=1)
_FOLDER = Path(".gigamind")
_MAX_PROBLEMS = 10  # in one message
_MAX_FAILURES = 5


@click.group(cls=Group)
def dataset() -> None:
    """Check and label datasets of queries, links or answers."""


@dataset.command(
    "check",
    examples=(
        "gigamind dataset check queries.jsonl links.jsonl answers.jsonl",
        "gigamind dataset check --dataset queries.jsonl --notes vault --strict",
        "gigamind dataset check --dataset queries.jsonl --notes vault --fix fixed.jsonl",
    ),
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
def _check(
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
        document = _document(path, notes, min_rows)
        for warning in document.warnings:
            print_warning(warning)
        show_result(document, functools.partial(_show_check, document, named=len(named) > 1))
        is_valid &= not (document.problems or (strict and document.collisions))
    if not is_valid:
        sys.exit(InputError.exit_code)


def _write_fixed(named: tuple[Path, ...], notes: Path | None, out: Path) -> None:
    from gigamind.datasets.check import write_reanchored
    from gigamind.datasets.jsonl import dataset_kind
    from gigamind.datasets.write import refuse_existing_file
    from gigamind.vault.notes import Vault

    if notes is None or len(named) != 1:
        raise InputError(
            _("--fix needs exactly one dataset of queries, and --notes with the current vault.")
        )
    refuse_existing_file("--fix", out)
    _rows, checked = _checked(named[0], notes)
    if checked is None or dataset_kind(named[0]) != "queries":
        raise InputError("--fix: {file} is not a dataset of queries.", file=named[0])
    count = write_reanchored(out, checked, Vault.read(notes))
    line = _(
        "moved the expected spans of {n:,} of {all:,} rows: {file}",
        n=count,
        all=checked.rows,
        file=out,
    )
    print_line(line, err=True)


def _document(path: Path, notes: Path | None, min_rows: float) -> "DatasetCheckDocument":
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
    "label",
    examples=(
        "gigamind dataset label --dataset queries.jsonl --labels labels.jsonl --out labelled.jsonl",
    ),
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
def _label(path: Path, labels: Path, out: Path) -> None:
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
    from gigamind.datasets.check import check_answers, check_links, check_queries
    from gigamind.evidence.again import find_again
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Vault

    kind = jsonl.dataset_kind(path)
    vault = Vault.read(notes) if notes else None
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


_notes_option = click.option(
    "--notes",
    type=_path,
    required=True,
    help="the vault (folder of Markdown notes), which stays unchanged",
)
_seed_option = click.option(
    "--seed", type=click.IntRange(0), default=42, help="random seed for choosing links or questions"
)


class _QueryWriterOptions(ModelOptions):
    """Options of the model that writes questions: their number and cost limits."""

    max_unanswerable: int = Field(
        1,
        ge=0,
        description=(
            "maximum number of unanswerable questions per note; applies to --model, near misses and --leave-out"
        ),
    )
    max_tokens: int = Field(
        4_096, ge=1, description="maximum tokens per reply; doubled once if a reply is cut off"
    )
    ledger: Path | None = Field(
        None,
        description="file that logs each request to the model (default: .gigamind/attempts.jsonl)",
    )
    dry_run: bool = Field(
        default=False, description="only count the requests to --model; send none"
    )


def _write_with_model(
    notes: Path, out: Path, max_per_note: int, options: _QueryWriterOptions
) -> None:
    """Let the model write questions about every note with text, and write the rows.

    Raises:
        InputError: an option or a path is invalid, or no note has text.
        NotesError: the vault cannot be read.
        EvaluationError: no reply contains a question, or the file cannot be written.
    """
    from gigamind.datasets.generate_queries import askable_notes, refuse_query_place
    from gigamind.datasets.write import write_rows
    from gigamind.vault.notes import Vault

    refuse_query_place(notes, out)
    vault = Vault.read(notes)
    askable, empty = askable_notes(vault)
    _warn(vault.warnings, empty)
    if options.dry_run:
        counts = {"calls": len(askable), "characters": sum(len(note.text) for note in askable)}
        line = _(
            "requests to the model, one per note: {calls:,}; characters of the notes: {characters:,}",
            **counts,
        )
        show_written(out, counts, line)
        return
    from gigamind.tasks.search.write_queries import QuestionLimits, write_queries

    limits = QuestionLimits(max_per_note, options.max_unanswerable)
    written = ask_model(
        options,
        lambda model, key: write_queries(model, askable, key, limits),
        max_tokens=options.max_tokens,
        store=_FOLDER / "replies",
        ledger=options.ledger or _FOLDER / "attempts.jsonl",
    )
    for reason, count in written.dropped.items():
        print_line(_("dropped {count:,}: {reason}", count=count, reason=reason), err=True)
    for failure in written.failures[:_MAX_FAILURES]:
        problem = _("failed: {note}: {reason}", note=failure.item_id, reason=failure.message)
        print_line(problem, err=True)
    if (more := len(written.failures) - _MAX_FAILURES) > 0:
        print_line(n_("failed: {n} more note", "failed: {n:,} more notes", n=more), err=True)
    if not written.rows:
        raise EvaluationError(
            "No questions from {n:,} notes; {file} was not written.", n=len(askable), file=out
        )
    write_rows(out, written.rows)
    unanswerable = sum(not row.answerable for row in written.rows)
    line = n_(
        "{n} question ({unanswerable:,} unanswerable) for review: {file}",
        "{n:,} questions ({unanswerable:,} unanswerable) for review: {file}",
        n=len(written.rows),
        unanswerable=unanswerable,
        file=out,
    )
    show_written(out, {"rows": len(written.rows), "unanswerable": unanswerable}, line)


def _warn(warnings: Iterable[Text], empty_notes: Iterable[str] = ()) -> None:
    empty = [
        _("{note} has no text, so no questions are generated from this note", note=path)
        for path in empty_notes
    ]
    for warning in (*warnings, *empty):
        print_warning(warning)


@command(
    "generate-links",
    context_settings={"show_default": True},
    examples=(
        "gigamind eval generate-links --notes vault --out-notes vault-without-links --dataset links.jsonl",
    ),
)
@_notes_option
@click.option(
    "--out-notes",
    type=_path,
    required=True,
    help="new folder for a copy of the vault without the removed links",
)
@click.option(
    "--dataset",
    type=_path,
    required=True,
    help="write the link dataset to this file, one row per removed link",
)
@click.option("--remove-ratio", default=0.3, help="share of links to remove, above 0 and up to 1")
@_seed_option
@prints_json
def generate_links(
    notes: Path, out_notes: Path, dataset: Path, remove_ratio: float, seed: int
) -> None:
    """Generate a link dataset: copy a vault, remove some links from the copy and record them."""
    from gigamind.datasets.generate_links import generate_links as generate

    generated = generate(notes, out_notes, dataset, remove_ratio=remove_ratio, seed=seed)
    sources = len({row.source_note for row in generated.rows})
    _warn(generated.warnings)
    counts = {"rows": len(generated.rows), "links": generated.links, "notes": sources}
    removed = _("Removed {rows:,} of {links:,} links from {notes:,} notes.", **counts)
    places = (
        _("Copy of the vault without the removed links: {folder}", folder=out_notes),
        _("Dataset: {file}", file=dataset),
    )
    show_written(dataset, counts, joined((removed, *places), "\n"))


@command(
    "generate-queries",
    context_settings={"show_default": True},
    examples=(
        "gigamind eval generate-queries --notes vault --out queries.jsonl --forms all --limit 200",
        "gigamind eval generate-queries --notes vault --out queries.jsonl --model openai/gpt-4o-mini --dry-run",
    ),
)
@_notes_option
@click.option("--out", type=_path, required=True, help="write the questions to this file")
@click.option(
    "--max-per-note", type=_count, default=3, help="maximum number of answerable questions per note"
)
@click.option("--include-headers", is_flag=True, help="also ask about headings of level 1 to 3")
@click.option(
    "--forms",
    default="title",
    help="question forms: all, or a comma-separated list of title, heading and near-miss; near misses are unanswerable",
)
@click.option(
    "--leave-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help=(
        "share of notes (0 to below 1) to leave out of --out-notes; adds unanswerable questions about content that"
        " only the left-out notes have"
    ),
)
@click.option(
    "--out-notes",
    type=_path,
    help="new folder for a copy of the vault without the notes of --leave-out",
)
@click.option(
    "--limit", type=_count, help="total number of questions, spread evenly over notes and forms"
)
@_seed_option
@options_of(_QueryWriterOptions)
@prints_json
@click.pass_context
def generate_queries(
    context: click.Context,
    *,
    notes: Path,
    out: Path,
    max_per_note: int,
    include_headers: bool,
    forms: str,
    leave_out: float,
    out_notes: Path | None,
    limit: int | None,
    seed: int,
    **given: Any,  # noqa: ANN401
) -> None:
    """Generate search questions for review, from titles and headings, or with a model (--model).

    A model quotes the passage that answers each question; questions whose quote is not in the note are dropped. The
    model also writes questions that the note does not answer. Check during review that no other note answers them.

    Without a model, unanswerable questions are near misses: a year, a version or a name is replaced by one that does
    not occur in the vault. With --leave-out, there are also questions about notes that are missing from the copy. All
    rows are tagged "generated", because generated questions are easier than real ones.
    """
    options = validated(_QueryWriterOptions, given)
    if options.model is not None:
        for option in ("include_headers", "forms", "leave_out", "out_notes", "limit", "seed"):
            if context.get_parameter_source(option) == ParameterSource.COMMANDLINE:
                flag = "--" + option.replace("_", "-")
                raise InputError(
                    "{option} cannot be used with --model, because the model reads whole notes.",
                    option=flag,
                )
        _write_with_model(notes, out, max_per_note, options)
        return
    if options.dry_run:
        raise InputError(_("--dry-run counts the requests to a model, so it needs --model."))
    from gigamind.datasets.generate_queries import QueryForms
    from gigamind.datasets.generate_queries import generate_queries as generate

    chosen = _forms(forms, include_headers=include_headers)
    wanted = QueryForms(chosen, max_per_note, options.max_unanswerable, leave_out, limit, seed)
    generated = generate(notes, out, wanted, out_notes)
    _warn(generated.warnings, generated.empty_notes)
    rows = len(generated.rows)
    lines = [
        n_(
            "{n} question for review: {file}",
            "{n:,} questions for review: {file}",
            n=rows,
            file=out,
        )
    ]
    for form, (count, able) in generated.by_form.items():
        line = _(
            "  {form}: {count:,} generated; {able:,} of {notes:,} notes have material for this form",
            form=form,
            count=count,
            able=able,
            notes=generated.notes,
        )
        lines.append(line)
    if out_notes:
        left_out = len(generated.left_out)
        line = _(
            "Copy of the vault, with {n:,} notes left out: {folder}", n=left_out, folder=out_notes
        )
        lines.append(line)
    line = _(
        "Generated questions are easier than real ones. Reports on this dataset repeat this warning."
    )
    lines.append(line)
    counts = {form: count for form, (count, _able) in generated.by_form.items()}
    show_written(out, {"rows": rows, **counts}, joined(lines, "\n"))


def _forms(named: str, *, include_headers: bool) -> tuple[Form, ...]:
    names = FORMS if named == "all" else [name.strip() for name in named.split(",")]
    if unknown := [name for name in names if name not in FORMS]:
        raise InputError(
            "--forms: unknown form {form!r}. Use all or {forms}.", form=unknown[0], forms=FORMS
        )
    return tuple(form for form in FORMS if form in names or (include_headers and form == "heading"))
