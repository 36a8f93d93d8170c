"""`gigamind eval search`, `links`, `answers` and `gigamind tune search`: evaluate, here or as a flow, and show it."""

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from gigamind.cli.command import Command, Group, GroupedOption, command
from gigamind.cli.config import config_used
from gigamind.cli.options import options_of
from gigamind.cli.output import (
    call_translator,
    is_json,
    print_line,
    prints_json,
    progress_bar,
    show_document,
    show_first,
    show_result,
    show_warning_lines,
)
from gigamind.errors import BrokenBoundError, GigamindError, InputError
from gigamind.evaluation.options import EvalOptions, validated
from gigamind.i18n import Message, Text, _, joined, n_, translator
from gigamind.loading import ConfigReport
from gigamind.tasks.options import (
    AnswerEvalOptions,
    GridOptions,
    LinkEvalOptions,
    SearchEvalOptions,
)

if TYPE_CHECKING:
    from gigamind.cli.documents import EvaluationDocument
    from gigamind.evaluation.finish import Evaluated
    from gigamind.evaluation.task import Checked

_option = functools.partial(click.option, cls=GroupedOption, group="Prefect", first=False)
_flow = _option("--flow", is_flag=True, help="run as a Prefect flow and publish artifacts")
_runner = _option(
    "--runner",
    help="with --flow, where the work runs: threads:4, processes:2, dask:ADDRESS, ray:ADDRESS, dask:local:2, ...",
)


def _command_of(model: type[EvalOptions], text: Message, *examples: str) -> Command:
    @command(model.model_fields["task"].default, examples=examples, help=text)
    @options_of(model)
    @_flow
    @_runner
    @prints_json
    def evaluation(*, flow: bool, runner: str | None, **values: Any) -> None:  # noqa: ANN401  checked by the options model
        _evaluate(model, values, flow=flow, runner=runner)

    return evaluation


def _evaluate(
    model: type[EvalOptions], values: Mapping[str, object], *, flow: bool, runner: str | None
) -> None:
    from gigamind.evaluation.finish import Evaluated
    from gigamind.evaluation.release import announcing_failure
    from gigamind.tasks import KINDS, TASKS, evaluate

    config = config_used()
    options = validated(model, {**values, "config": config})
    if runner and not flow:
        raise InputError(
            _("--runner needs --flow. Without --flow, everything runs in this process.")
        )
    if options.dry_run:
        from gigamind.cli.documents import DryRunDocument

        checked = TASKS[options.task].check(options)
        computed = {"estimate": checked.estimate(), "least_calls": checked.least_calls()}
        document = DryRunDocument.like(checked, problems=checked.errors, config=config, **computed)
        show_result(document, lambda: _show_checked(checked, config))
        return
    # A CI job that reads the JUnit file finds the reason, whatever stopped the run.
    with announcing_failure(options):
        warnings = TASKS[options.task].forewarn(options)
    show_warning_lines(warnings)
    refused: GigamindError | None = None
    try:
        if flow:
            from gigamind.publish.here import run_flow

            finished = run_flow(options, runner)
        else:
            with progress_bar() as progress:
                finished = evaluate(options, progress)
    except GigamindError as error:
        has_result = error.run and (isinstance(error, BrokenBoundError) or is_json())
        written = (
            Evaluated[Any].read(TASKS[options.task], error.run)
            if error.run and has_result
            else None
        )
        if written is None:
            raise
        finished, refused = written, error
    shown = finished.with_page(options, TASKS[options.task], KINDS)
    document = _evaluation_document(shown, refused)
    show_result(document, lambda: _show_finished(options, shown, warnings))
    if refused:
        raise refused
    if finished.summary.status == "interrupted":
        raise KeyboardInterrupt
    if finished.verdict:
        sys.exit(finished.verdict.exit_code(fail_on_regression=options.fail_on_regression))


def _evaluation_document(
    finished: "Evaluated[Any]", refused: GigamindError | None = None
) -> "EvaluationDocument[Any]":
    """Return the document of a run."""
    from gigamind.cli.documents import EvaluationDocument, RefusalDocument

    verdict, refusal = finished.verdict, None
    if refused:
        refusal = RefusalDocument(exit_code=refused.exit_code, message=str(refused))
    return EvaluationDocument[Any](
        out=str(finished.out),
        summary=finished.summary,
        comparison=verdict.comparison if verdict else None,
        gate=verdict.gate if verdict else finished.bounds,
        refused=refusal,
    )


def _show_checked(checked: "Checked", config: ConfigReport | None) -> None:
    """Print the result of `--dry-run` and the expected work of a first run."""
    from gigamind.records.schema import by_item

    print_line(checked.terminal)
    rows = [joined((error.message for error in row), "\n") for row in by_item(checked.errors)]
    if rows:
        title = n_(
            "{n} unusable row of the dataset:", "{n:,} unusable rows of the dataset:", n=len(rows)
        )
        show_first(title, rows, err=False)
    show_warning_lines(checked.warnings, err=False)
    print_line(f"dataset_hash {checked.dataset_hash}")
    if checked.notes_hash:
        print_line(f"notes_hash   {checked.notes_hash}")
    for work in checked.estimate():
        print_line(_("expected work: {work}", work=work.describe()))
    if least := checked.least_calls():
        line = _(
            "judging one item takes {n:,} requests; with a smaller --max-calls, possibly no item is judged",
            n=least,
        )
        print_line(line)
    if config:
        print_line(_("options from {file}: {options}", file=config.file, options=config.options))


def _show_finished(
    options: EvalOptions, finished: "Evaluated[Any]", shown_warnings: Sequence[Text]
) -> None:
    """Print the first part of the run's page, its cost, and where its report is."""
    from gigamind.reports.document import Document
    from gigamind.reports.run import terminal_blocks
    from gigamind.tasks import TASKS

    llm = TASKS[options.task].view.llm(finished.summary)
    page = finished.page or Document("", "", ())
    blocks = (*page.blocks, *(terminal_blocks(llm) if llm else ()))
    files = (finished.out / name for name in ("report.html", "summary.md", "summary.json"))
    report = next(file for file in files if file.exists())
    shown = replace(page, blocks=blocks).without(*shown_warnings)
    show_document(shown, translator(options.language), report)


search = _command_of(
    SearchEvalOptions,
    _("Measure retrieval: hit@k, MRR, nDCG, evidence spans, unanswerable queries and latency."),
    "gigamind eval search --dataset queries.jsonl --notes vault",
    "gigamind eval search --dataset queries.jsonl --system run:mine.trec --json",
    "gigamind eval search --dataset queries.jsonl --notes vault --compare eval/baselines --fail-on-regression",
)
links = _command_of(
    LinkEvalOptions,
    _(
        "Measure how many removed links gigamind suggests again: precision, recall, novelty, spans, calibration."
    ),
    "gigamind eval links --dataset links.jsonl --notes vault-without-links",
    "gigamind eval links --dataset links.jsonl --notes vault-without-links --topk 3 --json",
)
answers = _command_of(
    AnswerEvalOptions,
    _("Judge answers claim by claim: correctness by quotes, utility, use of sources, grounding."),
    "gigamind eval answers --dataset answers.jsonl --notes vault --model openai/gpt-4o-mini --max-cost-usd 2",
    "gigamind eval answers --dataset answers.jsonl --notes vault --model openai/gpt-4o-mini --dry-run",
)


@click.group(cls=Group)
def tune() -> None:
    """Choose settings with your own queries and see which gains are significant."""


@tune.command(
    "search",
    examples=(
        "gigamind tune search --dataset queries.jsonl --notes vault",
        "gigamind tune search --dataset queries.jsonl --notes vault --json",
    ),
)
@options_of(GridOptions)
@options_of(SearchEvalOptions)
@click.option("--flow", is_flag=True, help="run each evaluation as a Prefect flow")
@prints_json
def _tune_search(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options models
    """Compare a grid of search settings with the current one, and recommend a setting and a judge.

    The options of eval search set the current setting. The options that end in s, such as --modes, set the values to
    try.
    """
    from gigamind.evaluation.run import out_folder
    from gigamind.tasks import evaluate
    from gigamind.tasks.search import tune as tuning

    grid = validated(GridOptions, {name: values.pop(name) for name in GridOptions.model_fields})
    options = validated(SearchEvalOptions, values)
    out = out_folder(options, datetime.now(UTC))
    if flow:
        from gigamind.publish.here import prepare_flows, run_flow

        wait = prepare_flows()  # the server starts while settings are compared

        def evaluated(chosen: SearchEvalOptions) -> Any:  # noqa: ANN401  an Evaluated
            wait()
            return run_flow(chosen)
    else:

        def evaluated(chosen: SearchEvalOptions) -> Any:  # noqa: ANN401  an Evaluated
            return evaluate(chosen, progress)

    with progress_bar() as progress:
        tuned = tuning.tune(options, grid, out, evaluated, progress)
    show_result(tuned.tuning, lambda: show_document(tuned.document, call_translator(), tuned.page))
