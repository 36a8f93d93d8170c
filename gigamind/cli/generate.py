"""`gigamind eval generate-links` and `gigamind eval generate-queries`: datasets from a vault."""

from pathlib import Path

import click

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
def generate_queries(notes: Path, out: Path, max_per_note: int, *, include_headers: bool) -> None:
    """Make a search dataset from titles and headings, for review."""
    from gigamind.datasets.generate_queries import generate_queries as generate

    made = generate(notes, out, max_per_note=max_per_note, include_headers=include_headers)
    for warning in made.warnings:
        click.echo(f"warning: {warning}", err=True)
    for path in made.empty_notes:
        click.echo(f"warning: {path}: has no text, so nothing is asked about it", err=True)
    click.echo(f"{len(made.rows)} questions, for review: {out}")
