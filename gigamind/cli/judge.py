"""`gigamind judge`: fits a judge, and puts it to the test before its verdicts count."""

import click

from gigamind.cli.lazy import LazyGroup

_COMMANDS = {
    "fit": ("judge_fit:fit", "Fit a judge to labelled queries."),
    "certify": ("judge_certify:certify", "Say how far the judge of a run agrees with people."),
    "attack": ("judge_trials:attack", "Try whether text in notes and answers can steer a judge."),
    "test": ("judge_trials:test", "Ask a judge about cases whose verdict is known."),
}


@click.group("judge", cls=LazyGroup, lazy=_COMMANDS)
def judge() -> None:
    """Fit a judge, and put it to the test before its verdicts count."""
