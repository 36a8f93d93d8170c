"""`gigamind judge`: puts a judge to the test before its verdicts count."""

import click

from gigamind.cli.judge_attack import attack
from gigamind.cli.judge_test import test


@click.group("judge")
def judge() -> None:
    """Put a judge to the test before its verdicts count."""


judge.add_command(attack)
judge.add_command(test)
