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
