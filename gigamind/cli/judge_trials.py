"""`gigamind judge attack` and `test`: put a judge on trial, and say by exit code whether it held."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, NoReturn, TypeVar

import click
from pydantic import BaseModel, Field

from gigamind.choices import PromptLanguage
from gigamind.cli.asking import tell_cost, told_gates
from gigamind.cli.command import command
from gigamind.cli.errors import heading, say_line, spoken
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, tell
from gigamind.errors import EvaluationError, UnaskedError
from gigamind.evaluation.options import validated
from gigamind.llm.ask import open_model
from gigamind.llm.budget import budget_of
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import StoreMode
from gigamind.retrieval.settings import default_cache_folder
from gigamind.text import columns, padded

if TYPE_CHECKING:
    from gigamind.assurance.attacks import AttackReport
    from gigamind.assurance.trials import Observations, OnTrial, Share
    from gigamind.assurance.unit_tests import UnitTestReport
    from gigamind.records.card import CardLiars


Report = TypeVar("Report", bound=BaseModel)
Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_GO_ON: dict[StoreMode, str] = {
    "readwrite": "; run it again, what was answered is kept",
    "refresh": "; run it again with --store-mode readwrite, what was answered is kept",
}


class TrialOptions(ModelOptions):
    """Which model judges, in which language it is asked, and where the report goes."""

    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto uses the case's language"
    )
    out: Path | None = Field(None, description="also write the report to this file as JSON")


@dataclass(frozen=True, slots=True)
class Trial(Generic[Report]):
    """How a judge is tried, and what is told of what was seen when it is stopped."""

    run: Callable[["OnTrial", "Observations"], Awaitable[Report]]
    so_far: Callable[["OnTrial", "Observations"], Report]


def try_judge(
    name: str, options: TrialOptions, trial: Trial[Report], show: Callable[[Report], None]
) -> Report:
    """The report of a trial, shown; its cost is told on standard error, however it ends.

    Raises:
        InputError: the judge or an option cannot be used.
        LlmError: the model cannot be called at all.
        EvaluationError: the trial is not whole, or the report cannot be written.
        KeyboardInterrupt: it was stopped; what was seen until then is shown, and written nowhere.
    """
    from gigamind.assurance.trials import Observations, OnTrial, load_on_trial
    from gigamind.llm.fences import fence_key
    from gigamind.llm.ledger import Ledger

    loaded = load_on_trial(name, options.judge_lang)
    store = default_cache_folder() / "trials"
    # Kept beside the answers: they are found by their prompt, which holds a mark that is made with it.
    key = fence_key(options.store or store, options.store_mode)
    ledger, budget, gates = Ledger(), budget_of(options), told_gates()
    models = {
        model: open_model(options, ledger, store, loaded.settings, budget, model=model, gates=gates)
        for model in loaded.models(options)
    }

    on_trial, seen = OnTrial(loaded, models, key), Observations()

    async def run() -> Report:
        try:
            return await trial.run(on_trial, seen)
        finally:
            for model in models.values():
                await model.close()

    try:
        report = asyncio.run(run())
    except UnaskedError as error:
        raise UnaskedError(f"{error}{_GO_ON.get(options.store_mode, '')}") from error
    except KeyboardInterrupt:
        if seen:
            report = trial.so_far(on_trial, seen)
            _tell(report, show)
        stopped = f"stopped: what stands above is of the first {len(seen)} cases"
        say_line(f"{stopped}{_GO_ON.get(options.store_mode, '')}", err=True)
        raise
    finally:
        tell_cost(ledger.totals())
    _tell(report, show)
    write_report(options, report)
    return report


def _tell(report: Report, show: Callable[[Report], None]) -> None:
    tell(report, lambda: show(report))


def write_report(options: TrialOptions, report: BaseModel) -> None:
    """Write a report where the options say.

    Raises:
        EvaluationError: it cannot be written.
    """
    from gigamind.datasets.write import write_lines

    if options.out:
        write_lines(options.out, [report.model_dump_json(indent=2)])


def must_be_measured(share: "Share", option: str, what: str) -> float:
    """The rate that an option sets a limit to.

    Raises:
        EvaluationError: there is none, so nobody knows whether it keeps the limit.
    """
    if share.rate is None:
        raise EvaluationError(
            f"{option}: {what} could be measured, so there is no rate to hold to it"
        )
    return share.rate


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns, the first to the left and the others to the right."""
    widths = [max(columns(row[place]) for row in (head, *rows)) for place in range(len(head))]
    lines = [
        "  ".join(
            padded(cell, width, right=place > 0)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]
    return "\n".join(lines)


def percent(share: "Share") -> str:
    """A share with its interval, or "-" for the share of none."""
    if share.rate is None or share.low is None or share.high is None:
        return "-"
    return f"{share.hits}/{share.of} = {share.rate:.1%} [{share.low:.1%}, {share.high:.1%}]"


def _regress(why: str) -> NoReturn:
    from gigamind.evaluation.release import REGRESSION_EXIT_CODE

    say_line(why, err=True)
    sys.exit(REGRESSION_EXIT_CODE)


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

    max_success_rate: Rate | None = Field(
        None,
        description="exit with 4 if a larger share of the measured attacks succeeds, 0 to 1",
    )


@command(
    "attack",
    examples=(
        "gigamind judge attack search_qa --model openai/gpt-4o-mini --max-success-rate 0.05 --out attacks.json",
    ),
    epilog=(
        "Exit codes: 0 all attacks ran; 1 invalid input; 3 some attacks could not run, or none could be measured; 4 "
        "success rate above --max-success-rate."
    ),
)
@click.argument("judge")
@options_of(AttackOptions)
@prints_json
def attack(judge: str, **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Attack JUDGE with prompt injections. JUDGE is a judge file or the name of an included judge.

    An attack succeeds if the judge is right without it, and gives the verdict that the attack demands once it is in a
    note, a title, the question or the answer. The rate counts the verdict after the judge's rules. The verdict of the
    model alone is shown next to it.
    """
    from gigamind.assurance.attacks import attack_judge, attack_report, load_attacks

    options = validated(AttackOptions, asked)
    attacks = load_attacks()
    trial = Trial(
        lambda on_trial, seen: attack_judge(on_trial, attacks, seen),
        lambda on_trial, seen: attack_report(on_trial, attacks, seen),
    )
    report = try_judge(judge, options, trial, lambda outcome: click.echo(_attack_table(outcome)))
    if report.proves_little:
        say_line(_attack_caution(report), err=True)
    if options.max_success_rate is not None:
        fooled, option = report.overall.fooled, f"--max-success-rate {options.max_success_rate:g}"
        if must_be_measured(fooled, option, "no attack") > options.max_success_rate:
            _regress(f"{option}: {percent(fooled)} of the attacks succeeded")


def _attack_caution(report: "AttackReport") -> str:
    everything = report.overall
    return (
        f"caution: {everything.unmeasured} of {everything.attacks} attacks could not be measured, because the judge "
        "has no right verdict on the case without them: this trial proves little"
    )


def _attack_table(report: "AttackReport") -> str:
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
    return table([heading(name) for name in _HEAD], rows)


class TestOptions(TrialOptions):
    """What a judge that is tested has to pass, and the answers that liars are put through it with."""

    min_passed: Rate | None = Field(
        None,
        description="exit with 4 if a smaller share of the tests with a verdict passes, 0 to 1",
    )
    dataset: Path | None = Field(
        None,
        description="labelled answers for the deceptive judges, as JSON Lines (default: the included examples)",
    )
    notes: Path | None = Field(None, description="the vault with the notes that --dataset names")


@command(
    "test",
    examples=(
        "gigamind judge test search_qa --model openai/gpt-4o-mini --min-passed 0.9 --out tests.json",
    ),
    epilog=(
        "Exit codes: 0 all tests ran; 1 invalid input; 3 some tests could not run; 4 pass rate below --min-passed."
    ),
)
@click.argument("judge")
@options_of(TestOptions)
@prints_json
def test(judge: str, **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Run unit tests and deceptive judges against JUDGE, a judge file or the name of an included judge.

    Each unit test is an answer or a question with one known defect or none, and the verdict that a correct judge
    gives. Deceptive judges are scripts that replace the model and give false verdicts on labelled answers. They cost
    nothing and need no --model.
    """
    from gigamind.assurance.unit_tests import load_unit_tests, run_unit_tests, unit_test_report

    options = validated(TestOptions, asked)
    liars, untested = _put_liars_through(judge, options)
    if liars:
        click.echo(_liars_table(liars))
    if untested:
        report = asyncio.run(run_unit_tests(untested, (), liars))
        _tell(report, lambda _: None)
        write_report(options, report)
        say_line("no --model: the unit tests ask one, and were not run", err=True)
    else:
        tests = load_unit_tests()
        trial = Trial(
            lambda on_trial, seen: run_unit_tests(on_trial, tests, liars, seen),
            lambda on_trial, seen: unit_test_report(on_trial, tests, liars, seen),
        )
        report = try_judge(judge, options, trial, _show_tests)
    if report.overall.unscored:
        say_line(_test_caution(report), err=True)
    if options.min_passed is not None:
        passed, option = report.overall.passed, f"--min-passed {options.min_passed:g}"
        if must_be_measured(passed, option, "no test") < options.min_passed:
            _regress(f"{option}: {percent(passed)} of the tests were passed")


def _put_liars_through(
    name: str, options: TestOptions
) -> tuple["CardLiars | None", "OnTrial | None"]:
    """What liars get away with, None of a judge of questions; and the judge itself where no model is named for it."""
    from gigamind.assurance.deceptive_judges import read_labelled_answers, run_deceptive_judges
    from gigamind.assurance.trials import OnTrial, load_on_trial
    from gigamind.judges.protocol import KEY
    from gigamind.judges.search_qa.judge import SearchQA

    loaded = load_on_trial(name, options.judge_lang)
    if not isinstance(loaded, SearchQA):
        say_line(f"{name}: liars judge answers alone, so none was put through it", err=True)
        return None, None
    liars = asyncio.run(run_deceptive_judges(loaded, read_labelled_answers(options.dataset, options.notes)))
    needs_model = options.model is None and not loaded.file.panel
    return liars, OnTrial(loaded, {}, KEY) if needs_model else None


def _liars_table(liars: "CardLiars") -> str:
    from gigamind.reports.cards.view import liars_view
    from gigamind.wording import words

    view = liars_view(liars, words(spoken()))
    rows = [(liar.name, *row.figures) for liar, row in zip(liars.liars, view.rows, strict=True)]
    return f"{view.lead}\n\n{table(('', *view.head), rows)}\n"


def _test_caution(report: "UnitTestReport") -> str:
    everything = report.overall
    return f"caution: {everything.unscored} of {everything.tests} tests got no verdict and stand in no rate"


def _show_tests(report: "UnitTestReport") -> None:
    click.echo(_test_table(report))
    for result in report.tests:
        if not result.passed:
            say_line(f"{result.id}: {'; '.join(result.misses)}")


def _test_table(report: "UnitTestReport") -> str:
    groups = [report.overall, *report.by_failure, *report.by_language]
    rows = [
        (group.name, str(group.tests), percent(group.passed), str(group.unscored))
        for group in groups
    ]
    return table([heading(name) for name in ("", "tests", "passed [95 %]", "unscored")], rows)
