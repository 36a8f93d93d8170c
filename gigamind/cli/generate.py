"""`gigamind eval generate-links` and `generate-queries`: datasets made from a vault, by forms or by a model."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from pydantic import Field

from gigamind.choices import FORMS, Form
from gigamind.cli.asking import ask_model
from gigamind.cli.command import command
from gigamind.cli.errors import say_line
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, tell_written
from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.options import validated
from gigamind.llm.options import ModelOptions

if TYPE_CHECKING:
    from gigamind.tasks.search.write_queries import WrittenRows


_FOLDER = Path(".gigamind")
_FAILURES_SHOWN = 5
_path, _count = click.Path(path_type=Path), click.IntRange(min=1)


class QueryWriterOptions(ModelOptions):
    """Which model writes questions, how many, and what it may cost."""

    max_unanswerable: int = Field(
        1,
        ge=0,
        description="limit of unanswerable questions per note, for --model, near misses and --leave-out",
    )
    max_tokens: int = Field(
        4_096, ge=1, description="token limit per reply; doubled once if a reply is cut off"
    )
    ledger: Path | None = Field(
        None, description="log of requests (default: .gigamind/attempts.jsonl)"
    )
    dry_run: bool = Field(default=False, description="count the requests to --model, then stop")


def write_with_model(
    notes: Path, out: Path, max_per_note: int, options: QueryWriterOptions
) -> None:
    """Ask the model about every note with text, and write the rows.

    Raises:
        InputError: an option or a place cannot be, or no note has text.
        NotesError: the vault cannot be read.
        EvaluationError: no reply gave a question, or the file cannot be written.
    """
    from gigamind.datasets.generate_queries import askable_notes, refuse_query_place
    from gigamind.datasets.write import write_rows
    from gigamind.vault.notes import read_vault

    refuse_query_place(notes, out)
    vault = read_vault(notes)
    askable, empty = askable_notes(vault)
    _warn(vault.warnings, empty)
    if options.dry_run:
        characters = sum(len(note.text) for note in askable)
        tell_written(
            out,
            {"calls": len(askable), "characters": characters},
            f"{len(askable)} calls, one a note, of {characters:,} characters in all",
        )
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
    _tell(written)
    if not written.rows:
        raise EvaluationError(f"no question came of {len(askable)} notes, so {out} is not written")
    write_rows(out, written.rows)
    unanswerable = sum(not row.answerable for row in written.rows)
    tell_written(
        out,
        {"rows": len(written.rows), "unanswerable": unanswerable},
        f"{len(written.rows)} questions, {unanswerable} unanswerable, for review: {out}",
    )


def _warn(warnings: Iterable[str], empty_notes: Iterable[str] = ()) -> None:
    """What is odd of a vault, on standard error."""
    unasked = [f"{path}: has no text, so nothing is asked about it" for path in empty_notes]
    for warning in (*warnings, *unasked):
        say_line(f"warning: {warning}", err=True)


def _tell(written: "WrittenRows") -> None:
    """What was lost, on standard error."""
    for reason, count in written.dropped.items():
        say_line(f"dropped: {count}: {reason}", err=True)
    for failure in written.failures[:_FAILURES_SHOWN]:
        say_line(f"failed: {failure.item_id}: {failure.message}", err=True)
    if len(written.failures) > _FAILURES_SHOWN:
        say_line(f"failed: {len(written.failures) - _FAILURES_SHOWN} more notes", err=True)


@command(
    "generate-links",
    context_settings={"show_default": True},
    examples=(
        "gigamind eval generate-links --notes vault --out-notes vault-without-links --dataset links.jsonl",
    ),
)
@click.option("--notes", type=_path, required=True, help="the vault; it is not changed")
@click.option(
    "--out-notes", type=_path, required=True, help="folder for the copy without the links"
)
@click.option(
    "--dataset", type=_path, required=True, help="file for the rows, one per removed link"
)
@click.option("--remove-ratio", default=0.3, help="share of links to remove, above 0 and up to 1")
@click.option(
    "--seed", type=click.IntRange(min=0), default=42, help="random seed for choosing the links"
)
@prints_json
def generate_links(
    notes: Path, out_notes: Path, dataset: Path, remove_ratio: float, seed: int
) -> None:
    """Generate a link dataset: copy a vault, remove some links from the copy and record them."""
    from gigamind.datasets.generate_links import generate_links as generate

    made = generate(notes, out_notes, dataset, remove_ratio=remove_ratio, seed=seed)
    sources = len({row.source_note for row in made.rows})
    _warn(made.warnings)
    tell_written(
        dataset,
        {"rows": len(made.rows), "links": made.links, "notes": sources},
        f"Removed {len(made.rows)} of {made.links} links, from {sources} notes.\n"
        f"Notes: {out_notes}\nDataset: {dataset}",
    )


@command(
    "generate-queries",
    context_settings={"show_default": True},
    examples=(
        "gigamind eval generate-queries --notes vault --out queries.jsonl --forms all --limit 200",
        "gigamind eval generate-queries --notes vault --out queries.jsonl --model openai/gpt-4o-mini --dry-run",
    ),
)
@click.option("--notes", type=_path, required=True, help="the vault; it is not changed")
@click.option("--out", type=_path, required=True, help="file for the rows")
@click.option(
    "--max-per-note", type=_count, default=3, help="limit of answerable questions per note"
)
@click.option(
    "--include-headers", is_flag=True, help="also generate questions from headings of level 1 to 3"
)
@click.option(
    "--forms",
    default="title",
    help="question forms: all, or a comma-separated list of title, heading, list, table, sentence and near-miss;"
    " near misses are unanswerable",
)
@click.option(
    "--leave-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="share of notes to leave out of --out-notes; questions about what only they contain are added as unanswerable",
)
@click.option("--out-notes", type=_path, help="folder for the copy without those notes")
@click.option(
    "--limit", type=_count, help="total number of questions, balanced over notes and forms"
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=42, help="random seed for choosing the questions"
)
@options_of(QueryWriterOptions)
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
    """Generate search questions for review, from titles, headings and other forms, or with a model (--model).

    A model quotes the passage that answers each question; questions whose quote is not in the note are dropped. The
    model also writes questions that the note does not answer. Check during review that no other note answers them.

    Without a model, unanswerable questions are near misses: a year, a version or a name is replaced by one that does
    not occur in the vault. With --leave-out, there are also questions about notes that are missing from the copy. All
    rows are tagged "generated", because generated questions are easier than real ones.
    """
    options = validated(QueryWriterOptions, given)
    if options.model is not None:
        for option in ("include_headers", "forms", "leave_out", "out_notes", "limit", "seed"):
            if context.get_parameter_source(option) == ParameterSource.COMMANDLINE:
                named = "--" + option.replace("_", "-")
                raise InputError(f"{named}: makes no sense with --model, which reads whole notes")
        write_with_model(notes, out, max_per_note, options)
        return
    if options.dry_run:
        raise InputError("--dry-run: counts the calls of a model, so --model must be given")
    from gigamind.datasets.generate_queries import QueryForms
    from gigamind.datasets.generate_queries import generate_queries as generate

    wanted = QueryForms(
        _forms(forms, include_headers=include_headers),
        max_per_note,
        options.max_unanswerable,
        leave_out,
        limit,
        seed,
    )
    made = generate(notes, out, wanted, out_notes)
    _warn(made.warnings, made.empty_notes)
    lines = [f"{len(made.rows)} questions, for review: {out}"]
    for form, (count, able) in made.by_form.items():
        lines.append(f"  {form}: {count}; {able} of {made.notes} notes can give one")
    if out_notes:
        lines.append(f"Notes, without {len(made.left_out)} that are left out: {out_notes}")
    lines.append("They are easier than questions of people, and every report over them says so.")
    counts = {form: count for form, (count, _) in made.by_form.items()}
    tell_written(out, {"rows": len(made.rows), **counts}, "\n".join(lines))


def _forms(named: str, *, include_headers: bool) -> tuple[Form, ...]:
    """The forms of `--forms`, in the order of `FORMS`.

    Raises:
        InputError: there is no such form.
    """
    names = FORMS if named == "all" else [name.strip() for name in named.split(",")]
    if unknown := [name for name in names if name not in FORMS]:
        raise InputError(f'--forms: "{unknown[0]}" is none of all, {", ".join(FORMS)}')
    return tuple(form for form in FORMS if form in names or (include_headers and form == "heading"))
