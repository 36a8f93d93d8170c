"""`gigamind judge`: fits a judge, and puts it to the test before its verdicts count."""

import click

from gigamind.cli.lazy import LazyGroup

_COMMANDS = {
    "attack": (
        "gigamind.cli.judge_attack",
        "attack",
        "Attack a judge with texts that speak to it.",
    ),
    "certify": (
        "gigamind.cli.judge_certify",
        "certify",
        "Certify the judge of a run: hold its verdicts against labels.",
    ),
    "fit": ("gigamind.cli.judge_fit", "fit", "Fit a judge to labelled queries."),
    "test": ("gigamind.cli.judge_test", "test", "Run the unit tests of a judge."),
}


@click.group("judge", cls=LazyGroup, at=_COMMANDS)
def judge() -> None:
    """Fit a judge, and put it to the test before its verdicts count."""
