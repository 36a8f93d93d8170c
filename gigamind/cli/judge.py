"""`gigamind judge`: fits a judge, and puts it to the test before its verdicts count."""

import click

from gigamind.cli.judge_attack import attack
from gigamind.cli.judge_certify import certify
from gigamind.cli.judge_fit import fit
from gigamind.cli.judge_test import test


@click.group("judge")
def judge() -> None:
    """Fit a judge, and put it to the test before its verdicts count."""


judge.add_command(attack)
judge.add_command(certify)
judge.add_command(fit)
judge.add_command(test)
