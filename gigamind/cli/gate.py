"""`gigamind gate`: accept a failed release gate by name, until a date."""

from datetime import datetime
from pathlib import Path

import click

from gigamind.cli.command import Group
from gigamind.cli.output import prints_json, show_written
from gigamind.i18n import _


@click.group(cls=Group)
def gate() -> None:
    """Record who accepts a failed release gate, and until when."""


@gate.command(
    examples=(
        'gigamind gate waive eval/out/20261123-101500 --reason "new FAQ" --until 2026-12-05 --by kim',
    )
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--reason", required=True, help="why the release is acceptable")
@click.option(
    "--until", type=click.DateTime(["%Y-%m-%d"]), required=True, help="last day of the waiver"
)
@click.option("--by", required=True, help="name of the person who accepts it")
@prints_json
def waive(run: Path, reason: str, until: datetime, by: str) -> None:
    """Accept the failed gates of RUN, an output folder, until a date.

    The gates stay failed and every page shows the waiver. Later runs with the same dataset, notes, judge and settings
    in the same parent folder are waived as well. A gate that was not failed before is not waived.
    """
    from gigamind.evaluation.attempts import WAIVER_FILE
    from gigamind.tasks.promotion import waive_run

    waiver = waive_run(run, reason=reason, until=until.date(), by=by)
    file = run / WAIVER_FILE
    show_written(file, {"gates": len(waiver.metrics)}, _("Waiver: {file}", file=file))
