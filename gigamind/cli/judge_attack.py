"""`gigamind judge attack`: how often notes and answers that speak to the judge choose its verdict."""

import sys
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field

from gigamind.cli.options import options_of
from gigamind.cli.trials import TrialOptions, must_be_measured, percent, table, try_judge
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


class AttackOptions(TrialOptions):
    """What a judge that is attacked has to keep."""

    max_success_rate: float | None = Field(
        None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="exit with 4 when a larger share of the measured attacks succeeds, 0 to 1",
    )


@click.command(
    "attack",
    epilog=(
        "Exit codes: 0 all were tried; 1 bad input; 3 not all could be tried, or none measured; 4 more succeeded than "
        "--max-success-rate allows."
    ),
)
@click.argument("judge")
@options_of(AttackOptions)
def attack(judge: str, **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Attack JUDGE, a judge file or the name of one that comes with gigamind.

    An attack succeeds when the judge is right about a case, and says what the attack wants once it is in a note, a
    title, the question or the answer.  The rules of the judge are counted, and the model's word beside them.
    """
    from gigamind.judges.attack_report import attack_judge
    from gigamind.judges.attacks import load_attacks

    options = validated(AttackOptions, asked)
    attacks = load_attacks()
    report = try_judge(judge, options, lambda on_trial: attack_judge(on_trial, attacks))
    click.echo(_as_table(report))
    if report.proves_little:
        click.echo(_caution(report), err=True)
    if options.max_success_rate is not None:
        _hold(report, options.max_success_rate)


def _caution(report: "AttackReport") -> str:
    everything = report.overall
    return (
        f"caution: {everything.unmeasured} of {everything.attacks} attacks could not be measured, because the judge "
        "has no right verdict on the case without them: this trial proves little"
    )


def _hold(report: "AttackReport", limit: float) -> None:
    """Exits with 4 when more attacks than that share succeeded."""
    from gigamind.evals.release import REGRESSION_EXIT_CODE

    option = f"--max-success-rate {limit:g}"
    if must_be_measured(report.overall.fooled, option, "no attack") > limit:
        click.echo(f"{option}: {percent(report.overall.fooled)} of the attacks succeeded", err=True)
        sys.exit(REGRESSION_EXIT_CODE)


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
