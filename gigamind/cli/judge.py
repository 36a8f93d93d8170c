"""`gigamind judge`: how far a judge may be trusted."""

import click

from gigamind.cli.judge_certify import certify


@click.group("judge")
def judge() -> None:
    """Measure judges: how far they agree with labels."""


judge.add_command(certify)
