"""`gigamind eval generate-links` and `gigamind eval generate-queries`: datasets from a vault."""

from pathlib import Path
from typing import Any

import click

from gigamind.cli.options import options_of
from gigamind.cli.written_queries import QueryWriterOptions
from gigamind.errors import InputError
from gigamind.evals.option_errors import validated

_path = click.Path(path_type=Path)


@click.command("generate-links")
@click.option("--notes", type=_path, required=True, help="the vault; it is only read")
@click.option("--out-notes", type=_path, required=True, help="folder for the changed copy")
@click.option("--dataset", type=_path, required=True, help="file for the rows, one a removed link")
@click.option(
    "--remove-ratio",
    type=float,
    default=0.3,
    show_default=True,
    help="share of the links to remove, above 0 and up to 1",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="which links those are",
)
def generate_links(
    notes: Path, out_notes: Path, dataset: Path, remove_ratio: float, seed: int
) -> None:
    """Make a link dataset: copy a vault, remove some of its links there, and write down which."""
    from gigamind.datasets.generate_links import generate_links as generate

    made = generate(notes, out_notes, dataset, remove_ratio=remove_ratio, seed=seed)
    sources = len({row.source_note for row in made.rows})
    for warning in made.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"Removed {len(made.rows)} of {made.links} links, from {sources} notes.")
    click.echo(f"Notes: {out_notes}\nDataset: {dataset}")


@click.command("generate-queries")
@click.option("--notes", type=_path, required=True, help="the vault; it is only read")
@click.option("--out", type=_path, required=True, help="file for the rows")
@click.option(
    "--max-per-note",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="questions a note at most",
)
@click.option("--include-headers", is_flag=True, help="ask about headings of level 1 to 3, too")
@options_of(QueryWriterOptions)
def generate_queries(
    *,
    notes: Path,
    out: Path,
    max_per_note: int,
    include_headers: bool,
    **asked: Any,  # noqa: ANN401  checked by the options model
) -> None:
    """Make a search dataset for review: from titles and headings, or written by a model (--model).

    A model quotes the passage that answers each question; a question whose quote does not stand in its note is dropped.
    It also writes questions that their note does not answer: see in the review whether another note does.
    """
    options = validated(QueryWriterOptions, asked)
    if options.model is not None:
        if include_headers:
            raise InputError(
                "--include-headers: makes no sense with --model, which reads whole notes"
            )
        from gigamind.cli.written_queries import write_with_model

        write_with_model(notes, out, max_per_note, options)
        return
    if options.dry_run:
        raise InputError("--dry-run: counts the calls of a model, so --model must be given")
    from gigamind.datasets.generate_queries import generate_queries as generate

    made = generate(notes, out, max_per_note=max_per_note, include_headers=include_headers)
    for warning in made.warnings:
        click.echo(f"warning: {warning}", err=True)
    for path in made.empty_notes:
        click.echo(f"warning: {path}: has no text, so nothing is asked about it", err=True)
    click.echo(f"{len(made.rows)} questions, for review: {out}")
