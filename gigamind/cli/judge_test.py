"""`gigamind judge test`: which kinds of failure a judge sees, and which it is blind to."""

from typing import TYPE_CHECKING, Any

import click

from gigamind.cli.options import options_of
from gigamind.cli.trials import TrialOptions, percent, table, try_judge
from gigamind.evals.option_errors import validated

if TYPE_CHECKING:
    from gigamind.judges.unit_tests import UnitTestReport


@click.command(
    "test", epilog="Exit codes: 0 all were tried; 1 bad input; 3 not all could be tried."
)
@click.argument("judge")
@options_of(TrialOptions)
def test(judge: str, **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Run the unit tests of JUDGE, a judge file or the name of one that comes with gigamind.

    Each is an answer or a question with one known defect, or with none, and the verdict that a fit judge gives.
    """
    from gigamind.judges.unit_tests import load_unit_tests, run_unit_tests

    options = validated(TrialOptions, asked)
    tests = load_unit_tests()
    report = try_judge(judge, options, lambda on_trial: run_unit_tests(on_trial, tests))
    click.echo(_as_table(report))
    for result in report.tests:
        if not result.passed:
            click.echo(f"{result.id}: {'; '.join(result.misses)}")


def _as_table(report: "UnitTestReport") -> str:
    groups = [report.overall, *report.by_failure, *report.by_language]
    rows = [
        (group.name, str(group.tests), percent(group.passed), str(group.unscored))
        for group in groups
    ]
    return table(("", "tests", "passed [95 %]", "unscored"), rows)
