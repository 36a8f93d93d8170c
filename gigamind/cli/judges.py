"""`gigamind judge attack`, `test`, `certify` and `tune`: measure how good a judge is, and improve it by labels."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from operator import ge, le
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import click
from pydantic import BaseModel, Field

from gigamind.assurance.options import CertifyOptions
from gigamind.choices import PromptLanguage, StoreMode
from gigamind.cli.command import command
from gigamind.cli.llm import print_cost, printing_limiters
from gigamind.cli.options import options_of
from gigamind.cli.output import (
    call_translator,
    print_line,
    prints_json,
    show_document,
    show_result,
    show_written,
)
from gigamind.errors import REGRESSION_EXIT_CODE, EvaluationError, UnaskedError
from gigamind.evaluation.options import ModelRunOptions, validated
from gigamind.i18n import Message, _, joined, n_
from gigamind.llm.ask import LanguageModel
from gigamind.llm.budget import Budget
from gigamind.llm.ledger import Ledger
from gigamind.llm.settings import ModelOptions
from gigamind.prompting.fences import fence_key
from gigamind.retrieval.settings import default_cache_folder

if TYPE_CHECKING:
    from gigamind.assurance.scenarios import AttackReport, Share, UnitTestReport
    from gigamind.assurance.trials import Case, Observations, OnTrial
    from gigamind.assurance.tuning import TuneReport
    from gigamind.evaluation.task import Estimate
    from gigamind.judges.protocol import Judge
    from gigamind.judges.spec import JudgeFile
    from gigamind.records.card import JudgeCard
    from gigamind.reports.document import Block, Cell


_Report = TypeVar("_Report", bound=BaseModel)
_Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


_RESUME: dict[StoreMode, Message] = {
    "readwrite": _("Run the command again; it reuses the stored replies."),
    "refresh": _(
        "Run the command again with --store-mode readwrite; it reuses the stored replies."
    ),
}


class _TrialOptions(ModelOptions):
    """Options of a trial: the judging model, the language of its prompt and the report file."""

    judge_lang: PromptLanguage = Field(
        "auto",
        description="language of the judge's prompt; auto uses the language of each test case",
    )
    out: Path | None = Field(None, description="also write the report to this file as JSON")


def _try_judge(
    name: str,
    options: _TrialOptions,
    cases_for: Callable[["OnTrial"], "Sequence[Case]"],
    report_of: Callable[["OnTrial", "Observations"], _Report],
    print_report: Callable[[_Report], None],
) -> _Report:
    """Run a trial, show its report, and print the cost in any case; stored replies make a repetition free.

    Raises:
        InputError: the judge or an option is invalid.
        LlmError: the model cannot be called.
        EvaluationError: the trial is incomplete, or the report cannot be written.
    """
    from gigamind.assurance.trials import OnTrial, load_on_trial
    from gigamind.datasets.write import write_lines

    judge = load_on_trial(name, options.judge_lang)
    ((on_trial, seen),) = _observed([(judge, cases_for(OnTrial(judge, {}, b"")))], options)
    report = report_of(on_trial, seen)
    show_result(report, lambda: print_report(report))
    if options.out:
        write_lines(options.out, [report.model_dump_json(indent=2)])
    return report


def _observed(
    trials: "Sequence[tuple[Judge[Any, Any], Sequence[Case]]]", options: ModelOptions
) -> "list[tuple[OnTrial, Observations]]":
    """Return the verdicts of judges with the same models on cases; raises as `_try_judge`."""
    from gigamind.assurance.trials import OnTrial, observe

    first, _cases = trials[0]
    store = default_cache_folder() / "trials"
    # Stored replies are found by their prompt, which contains a mark made with the key.
    key = fence_key(options.store or store, options.store_mode)
    ledger, budget, limiters = Ledger(), Budget.of(options), printing_limiters()
    models = {
        model: LanguageModel.open(
            options, ledger, store, first.settings, budget, model=model, limiters=limiters
        )
        for model in first.models(options)
    }
    seen: list[tuple[OnTrial, Observations]] = [
        (OnTrial(judge, models, key), {}) for judge, _cases in trials
    ]

    async def run() -> None:
        try:
            for (on_trial, verdicts), (_judge, cases) in zip(seen, trials, strict=True):
                await observe(on_trial, cases, verdicts)
        finally:
            for model in models.values():
                await model.close()

    try:
        asyncio.run(run())
    except UnaskedError as error:
        hint = _RESUME.get(options.store_mode)
        raise UnaskedError(joined(filter(None, (error.message, hint)), ". ")) from error
    finally:
        if models:
            print_cost(ledger.totals())
    return seen


def _show_blocks(*blocks: "Block") -> None:
    """Print the result of a trial."""
    from gigamind.reports.document import Document

    show_document(Document("", "", blocks), call_translator())


def _check_rate(
    option: str, share: "Share", limit: float | None, meets: Callable[[float, float], bool]
) -> None:
    """Exit with the code of a regression if the rate does not meet the limit; without a limit, do nothing."""
    if limit is None:
        return
    if share.rate is None:
        raise EvaluationError(
            "{option} {limit:g} cannot be checked, because no case has a usable verdict",
            option=option,
            limit=limit,
        )
    if not meets(share.rate, limit):
        reason = _(
            "the measured rate ({rate:.3f}) does not meet {option} {limit:g}",
            rate=share.rate,
            option=option,
            limit=limit,
        )
        print_line(reason, err=True)
        sys.exit(REGRESSION_EXIT_CODE)


class _AttackOptions(_TrialOptions):
    """Options of a trial by attacks."""

    max_success_rate: _Rate | None = Field(
        None, description="exit with 4 if a larger share of the measured attacks succeeds, 0 to 1"
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
@options_of(_AttackOptions)
@prints_json
def attack(judge: str, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Attack JUDGE with prompt injections. JUDGE is a judge file or the name of an included judge.

    An attack is text in a note, title, question or answer that demands a verdict. It succeeds if the judge gives this
    verdict but is right without the attack. The success rate counts verdicts after the judge's rules. The rate for
    the model alone, before these rules, is shown in the next column.
    """
    from gigamind.assurance.scenarios import attack_cases, attack_report, load_attacks

    options = validated(_AttackOptions, values)
    attacks = load_attacks()
    report = _try_judge(
        judge,
        options,
        lambda on_trial: attack_cases(on_trial, attacks),
        lambda on_trial, seen: attack_report(on_trial, attacks, seen),
        _show_attacks,
    )
    if report.proves_little:
        caution = _(
            "Caution: {x:,} of {n:,} attacks could not be measured, because the judge is wrong even without them."
            " This trial proves little.",
            x=report.overall.unmeasured,
            n=report.overall.attacks,
        )
        print_line(caution, err=True)
    _check_rate("--max-success-rate", report.overall.fooled, options.max_success_rate, le)


def _rate_cells(share: "Share", of: int) -> tuple["Cell", ...]:
    """Return a rate, its interval, and how many of `of` it is measured on."""
    from gigamind.reports.document import Count, Interval, Proportion

    return Proportion(share.rate), Interval(share.low, share.high), Count(share.of, of)


def _show_attacks(report: "AttackReport") -> None:
    from gigamind.reports.document import Count, Proportion, Table, Verdict

    fooled = report.overall.fooled
    sentence = n_(
        "{succeeded} of {n} measured attack changed the verdict.",
        "{succeeded:,} of {n:,} measured attacks changed the verdict.",
        n=fooled.of,
        succeeded=fooled.hits,
    )
    rows = (
        (
            group.name,
            *_rate_cells(group.fooled, group.attacks),
            Proportion(group.reported_fooled.rate),
            Count(group.flagged),
        )
        for group in (report.overall, *report.by_family, *report.by_language, *report.by_place)
    )
    heads = (
        *(_("attacks"), _("success rate"), _("95% CI"), _("measured")),
        *(_("model alone"), _("flagged as suspicious")),
    )
    _show_blocks(Verdict("measured", sentence), Table.of(heads, rows))


class _TestOptions(_TrialOptions):
    """Options of a trial by unit tests."""

    min_passed: _Rate | None = Field(
        None, description="exit with 4 if a smaller share of tests with a verdict passes, 0 to 1"
    )


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
@options_of(_TestOptions)
@prints_json
def test(judge: str, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Run unit tests against JUDGE, a judge file or the name of an included judge.

    Each unit test is an answer or a question with one known defect or none, and the verdict that a correct judge
    gives.
    """
    from gigamind.assurance.scenarios import load_unit_tests, unit_test_report

    options = validated(_TestOptions, values)
    tests = load_unit_tests()
    report = _try_judge(
        judge,
        options,
        lambda on_trial: [test.case() for test in tests if test.row.kind == on_trial.kind],
        lambda on_trial, seen: unit_test_report(on_trial, tests, seen),
        _show_tests,
    )
    if report.overall.unscored:
        caution = _(
            "Caution: {x:,} of {n:,} tests got no verdict. The rates do not count these tests.",
            x=report.overall.unscored,
            n=report.overall.tests,
        )
        print_line(caution, err=True)
    if report.kind == "search_qa" and not report.rates_utility:
        print_line(_("The judge does not rate utility, so utility is not tested."), err=True)
    _check_rate("--min-passed", report.overall.passed, options.min_passed, ge)


def _show_tests(report: "UnitTestReport") -> None:
    from gigamind.reports.document import Bullets, Table, Verdict

    passed = report.overall.passed
    sentence = n_(
        "{passed} of {n} test with a verdict passed.",
        "{passed:,} of {n:,} tests with a verdict passed.",
        n=passed.of,
        passed=passed.hits,
    )
    rows = (
        (group.name, *_rate_cells(group.passed, group.tests))
        for group in (report.overall, *report.by_failure, *report.by_language)
    )
    heads = _("tests"), _("pass rate"), _("95% CI"), _("with a verdict")
    failed = (
        joined((test.id, joined(test.misses)), ": ") for test in report.tests if not test.passed
    )
    _show_blocks(Verdict("measured", sentence), Table.of(heads, rows), Bullets(tuple(failed)))


@command(
    "certify",
    examples=(
        "gigamind judge certify runs/a --labels people.jsonl --out card",
        "gigamind judge certify runs/a runs/b --attacks attacks.json --out card",
    ),
    epilog="Exit codes: 0 judge report written; 1 invalid input; 3 judge report cannot be written.",
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options_of(CertifyOptions, only=CertifyOptions.model_fields.keys() - {"runs"})
@prints_json
def certify(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Certify the judge of RUN: measure its agreement with human labels.

    RUN is the output folder of an evaluation. Further RUNs repeat the same evaluation.

    Labels are {"id": ..., "unanswerable": true} for a search run and {"id": ..., "correctness": 0.5, "utility": 1.0}
    (or "completeness") for a run over answers. The command writes the judge report: judge_card.json, judge_card.md
    and judge_card.html.
    """
    from gigamind.assurance.certify import write_card
    from gigamind.tasks import judged_kinds
    from gigamind.tasks.promotion import add_card

    options = validated(CertifyOptions, values)
    card, written = write_card(options, judged_kinds())
    add_card(options.runs[0], card)
    show_result(card, lambda: _show_card(card, written))


def _show_card(card: "JudgeCard", out: Path) -> None:
    from gigamind.reports.card import card_document

    show_document(card_document(card, out), call_translator())
    print_line(_("Judge report: {file}", file=out / "judge_card.html"))


class _TuneOptions(ModelOptions):
    """Options of tuning; a model is needed only for a judge of kind `search_qa`."""

    run: Path = Field(description="output folder of a finished run")
    judge: str = Field(
        description="judge file or included judge to tune, such as words or search_qa"
    )
    labels: Path | None = Field(
        None,
        description="file of labels, as for `judge certify` (default: the labels in the dataset)",
    )
    out: Path = Field(description="judge file to write")
    dry_run: bool = Field(
        default=False, description="only estimate the requests to --model and their cost; send none"
    )
    seed: int = Field(42, description="random seed for the confidence interval")


@command(
    "tune",
    examples=(
        "gigamind judge tune runs/a --labels labels.jsonl --judge words --out our-judge.toml",
        "gigamind judge tune runs/a --judge search_qa --model openai/gpt-4o-mini --out ours.toml --dry-run",
    ),
    epilog="Exit codes: 0 judge proposed or kept; 1 invalid input; 3 some labelled items could not be judged.",
)
@click.argument("run", type=click.Path(path_type=Path))
@options_of(_TuneOptions, only=_TuneOptions.model_fields.keys() - {"run"})
@prints_json
def tune(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Propose a better judge from the human labels of RUN, or keep the current one.

    Half of the labelled items choose: thresholds by language (words, nli, free judges of queries), or examples and
    emphasis of the prompt (search_qa). A file is written only if the choice is significantly better in
    cross-validation. The other half is kept: `gigamind judge certify` uses only these labels for the new judge.
    """
    from gigamind.assurance.tuning import Tuning
    from gigamind.datasets.write import refuse_existing_file
    from gigamind.judges.load import write_judge_file
    from gigamind.tasks import judged_kinds

    options = validated(_TuneOptions, values)
    refuse_existing_file("--out", options.out)
    tuning = Tuning(options.run, options.labels, options.judge, judged_kinds(), options.seed)
    trials = [(_loaded(file), tuning.cases(fold)) for file, fold in tuning.trials]
    works = _expected_work(trials, options) if options.model else []
    for work in works:
        print_line(_("expected work: {work}", work=work.describe()), err=True)
    if options.dry_run:
        calls = sum(work.calls for work in works)
        show_written(options.out, {"calls": calls}, _("requests to the model: {n:,}", n=calls))
        return
    seen = [verdicts for _trial, verdicts in _observed(trials, options)] if trials else []
    file, report = tuning.decide(seen)
    if report.decision == "adopt":
        write_judge_file(options.out, file, ("Written by `gigamind judge tune`.",))
        report = report.model_copy(update={"out": str(options.out)})
    show_result(report, lambda: _show_tuning(report))


def _loaded(file: "JudgeFile") -> "Judge[Any, Any]":
    """Return the judge of a file that is not on the disk yet."""
    from gigamind.assurance.trials import load_on_trial
    from gigamind.judges.load import write_judge_file

    with TemporaryDirectory() as folder:
        path = Path(folder) / "judge.toml"
        write_judge_file(path, file)
        return load_on_trial(str(path), "auto")


def _expected_work(
    trials: "Sequence[tuple[Judge[Any, Any], Sequence[Case]]]", options: _TuneOptions
) -> "list[Estimate]":
    from gigamind.evaluation.costs import estimate_calls
    from gigamind.judges.protocol import AnswerCase
    from gigamind.vault.language import question_language

    named = {name: getattr(options, name) for name in ModelOptions.model_fields}
    first, _cases = trials[0]
    calls = [
        call
        for judge, cases in trials
        for case in cases
        for call in judge.planned(
            AnswerCase(case.question, case.answer, case.notes, question_language(case.question))
        )
    ]
    work = n_("judging {n} time", "judging {n:,} times", n=sum(len(own) for _judge, own in trials))
    return [
        estimate_calls(work, model, calls, ModelRunOptions(**named), limiters=printing_limiters())
        for model in first.models(options)[:1]
    ]


def _show_tuning(report: "TuneReport") -> None:
    from gigamind.reports.document import Bullets, Code, Difference, Proportion, Table, Verdict

    if report.decision == "adopt":
        sentence = _("Use the new judge: {file}", file=report.out)
    else:
        sentence = _("Keep the current judge: no change is significantly better.")
    row = (
        *(Code(report.judge), Proportion(report.before), Proportion(report.after)),
        Difference(report.gain, report.low, report.high, better=report.decision == "adopt" or None),
    )
    heads = _("judge"), _("balanced accuracy"), _("tuned"), _("difference")
    lines = (
        *(
            _("{name}: {old} → {new}", name=name, old=str(old), new=str(new))
            for name, (old, new) in report.changes.items()
            if name != "examples"
        ),
        _(
            "Learned from {learned:,} labelled items; {kept:,} others are kept to certify the judge.",
            learned=report.learned,
            kept=report.kept,
        ),
    )
    _show_blocks(Verdict("measured", sentence), Table.of(heads, (row,)), Bullets(lines))
