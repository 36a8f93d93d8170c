"""`gigamind judge attack`: how often notes and answers that speak to the judge choose its verdict."""

from typing import TYPE_CHECKING, Any

import click

from gigamind.cli.options import options_of
from gigamind.cli.trials import TrialOptions, percent, table, try_judge
from gigamind.evals.option_errors import validated

if TYPE_CHECKING:
    from gigamind.judges.attack_report import AttackReport

_HEAD = (
    "",
    "attacks",
    "succeeded [95 %]",
    "by the model's word",
    "unmeasured",
    "unscored",
    "flagged",
)


@click.command(
    "attack", epilog="Exit codes: 0 all were tried; 1 bad input; 3 not all could be tried."
)
@click.argument("judge")
@options_of(TrialOptions)
def attack(judge: str, **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Attack JUDGE, a judge file or the name of one that comes with gigamind.

    An attack succeeds when the judge is right about a case, and says what the attack wants once it is in a note, a
    title, the question or the answer.  The rules of the judge are counted, and the model's word beside them.
    """
    from gigamind.judges.attack_report import attack_judge
    from gigamind.judges.attacks import load_attacks

    options = validated(TrialOptions, asked)
    attacks = load_attacks()
    report = try_judge(judge, options, lambda on_trial: attack_judge(on_trial, attacks))
    click.echo(_as_table(report))


def _as_table(report: "AttackReport") -> str:
    groups = [report.overall, *report.by_family, *report.by_language, *report.by_place]
    rows = [
        (
            group.name,
            str(group.attacks),
            percent(group.fooled),
            percent(group.told),
            str(group.unmeasured),
            str(group.unscored),
            str(group.flagged),
        )
        for group in groups
    ]
    return table(_HEAD, rows)
