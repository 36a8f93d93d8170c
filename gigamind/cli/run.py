"""Runs an evaluation, here or as a flow, shows what it found, and leaves with its exit code."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from gigamind.cli.show import progress_bar, show_release, show_run
from gigamind.evals.finish import Evaluated
from gigamind.evals.progress import Progress
from gigamind.evals.run_options import EvalOptions

Options = TypeVar("Options", bound=EvalOptions)


def run_and_show(
    options: Options, evaluate: Callable[[Options, Progress], Evaluated[Any]], *, flow: bool
) -> None:
    """Evaluate; the figures and the verdict go to standard output.

    Raises:
        GigamindError: as the evaluation raises it.
        KeyboardInterrupt: the run was interrupted; what it had measured is written and shown.
        SystemExit: the exit code of the verdict.
    """
    finished = _run_flow(options) if flow else _run(options, evaluate)
    show_run(options.task, finished.summary, finished.out)
    if finished.summary.status == "interrupted":
        raise KeyboardInterrupt
    if finished.verdict:
        show_release(finished.verdict, finished.out)
        sys.exit(finished.verdict.exit_code(fail_on_regression=options.fail_on_regression))


def _run(
    options: Options, evaluate: Callable[[Options, Progress], Evaluated[Any]]
) -> Evaluated[Any]:
    with progress_bar() as progress:
        return evaluate(options, progress)


def _run_flow(options: EvalOptions) -> Evaluated[Any]:
    from gigamind.publish import run_flow

    return run_flow(options)
