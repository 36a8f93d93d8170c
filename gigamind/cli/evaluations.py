"""`gigamind eval search`, `links` and `answers`: run an evaluation, here or as a flow, and show what it found."""

import sys
from typing import Any

import click

from gigamind.cli.options import options_of
from gigamind.errors import InputError
from gigamind.evaluation.options import EvalOptions, validated
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.search.options import SearchEvalOptions

_flow = click.option("--flow", is_flag=True, help="run as a Prefect flow, with its artifacts")
_runner = click.option(
    "--runner",
    help="with --flow, where its work runs: threads:4, processes:2, dask:ADDRESS, ray:ADDRESS, dask:local:2, ...",
)


@click.command()
@options_of(SearchEvalOptions)
@_flow
@_runner
def search(*, flow: bool, runner: str | None, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Measure how well retrieval answers queries: hit@k, MRR, nDCG, spans, unanswerable queries, latency."""
    _evaluate(validated(SearchEvalOptions, values), flow=flow, runner=runner)


@click.command()
@options_of(LinkEvalOptions)
@_flow
@_runner
def links(*, flow: bool, runner: str | None, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Measure how many removed links are suggested again: precision, recall, novelty, spans, calibration."""
    _evaluate(validated(LinkEvalOptions, values), flow=flow, runner=runner)


@click.command()
@options_of(AnswerEvalOptions)
@_flow
@_runner
def answers(*, flow: bool, runner: str | None, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Judge answers claim by claim: correctness by quotes that stand in the notes, utility, coverage, grounding."""
    _evaluate(validated(AnswerEvalOptions, values), flow=flow, runner=runner)


def _evaluate(options: EvalOptions, *, flow: bool, runner: str | None) -> None:
    """Evaluate; the figures and the verdict go to standard output.

    Raises:
        GigamindError: as the evaluation raises it.
        KeyboardInterrupt: the run was interrupted; what it had measured is written and shown.
        SystemExit: the exit code of the verdict.
    """
    from gigamind.cli.progress import progress_bar
    from gigamind.cli.show import (
        plain_console,
        show_checked,
        show_lines,
        show_release,
        show_run,
    )
    from gigamind.tasks import TASKS, evaluate

    if runner and not flow:
        raise InputError("--runner: only with --flow; without it, all runs in this process")
    if options.dry_run:
        show_checked(TASKS[options.task].check(options))
        return
    told = TASKS[options.task].forewarn(options)
    show_lines(plain_console(stderr=True), "warning", told)
    if flow:
        from gigamind.publish.flows import run_flow

        finished = run_flow(options, runner)
    else:
        with progress_bar() as progress:
            finished = evaluate(options, progress)
    show_run(TASKS[options.task], finished.summary, finished.out, told)
    if finished.summary.status == "interrupted":
        raise KeyboardInterrupt
    if finished.verdict:
        show_release(finished.verdict, finished.out)
        sys.exit(finished.verdict.exit_code(fail_on_regression=options.fail_on_regression))
