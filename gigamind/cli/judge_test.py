"""`gigamind judge test`: which kinds of failure a judge sees, and which it is blind to."""

import sys
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field

from gigamind.cli.options import options_of
from gigamind.cli.trials import TrialOptions, must_be_measured, percent, table, try_judge
from gigamind.evals.option_errors import validated

if TYPE_CHECKING:
    from gigamind.judges.unit_tests import UnitTestReport


class TestOptions(TrialOptions):
    """What a judge that is tested has to pass."""

    min_passed: float | None = Field(
        None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="exit with 4 when a smaller share of the tests with a verdict is passed, 0 to 1",
    )


@click.command(
    "test",
    epilog=(
        "Exit codes: 0 all were tried; 1 bad input; 3 not all could be tried; 4 fewer were passed than --min-passed "
        "asks for."
    ),
)
@click.argument("judge")
@options_of(TestOptions)
def test(judge: str, **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Run the unit tests of JUDGE, a judge file or the name of one that comes with gigamind.

    Each is an answer or a question with one known defect, or with none, and the verdict that a fit judge gives.
    """
    from gigamind.judges.unit_tests import load_unit_tests, run_unit_tests

    options = validated(TestOptions, asked)
    tests = load_unit_tests()
    report = try_judge(judge, options, lambda on_trial: run_unit_tests(on_trial, tests))
    click.echo(_as_table(report))
    for result in report.tests:
        if not result.passed:
            click.echo(f"{result.id}: {'; '.join(result.misses)}")
    if report.overall.unscored:
        click.echo(_caution(report), err=True)
    if options.min_passed is not None:
        _hold(report, options.min_passed)


def _caution(report: "UnitTestReport") -> str:
    everything = report.overall
    return f"caution: {everything.unscored} of {everything.tests} tests got no verdict and stand in no rate"


def _hold(report: "UnitTestReport", limit: float) -> None:
    """Exits with 4 when fewer tests than that share were passed."""
    from gigamind.evals.release import REGRESSION_EXIT_CODE

    option = f"--min-passed {limit:g}"
    if must_be_measured(report.overall.passed, option, "no test") < limit:
        click.echo(f"{option}: {percent(report.overall.passed)} of the tests were passed", err=True)
        sys.exit(REGRESSION_EXIT_CODE)


def _as_table(report: "UnitTestReport") -> str:
    groups = [report.overall, *report.by_failure, *report.by_language]
    rows = [
        (group.name, str(group.tests), percent(group.passed), str(group.unscored))
        for group in groups
    ]
    return table(("", "tests", "passed [95 %]", "unscored"), rows)
