"""`gigamind baseline ...`: which run later ones are compared with."""

from pathlib import Path

import click

DEFAULT_FOLDER = Path("eval") / "baselines"


@click.group()
def baseline() -> None:
    """Choose the run that later ones are compared with."""


@baseline.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    help="folder of baselines",
)
def promote(run: Path, folder: Path) -> None:
    """Make RUN (an out folder or a snapshot.json) the baseline that counts in the folder, at once or not at all."""
    from gigamind.reports.release.baseline import promote as promote_snapshot
    from gigamind.reports.release.snapshot import read_snapshot

    file = promote_snapshot(read_snapshot(run), folder)
    click.echo(f"Baseline: {file}")
