"""`gigamind judge ...`."""

import click

from gigamind.cli.judge_fit import fit


@click.group()
def judge() -> None:
    """Fit the judges that need no model."""


judge.add_command(fit)
