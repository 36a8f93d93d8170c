"""`gigamind eval ...`."""

from pathlib import Path
from typing import Any

import click

from gigamind.cli.options import options_of
from gigamind.cli.show import progress_bar, show_checked, show_run
from gigamind.evals.options import SearchEvalOptions, read_options


@click.group(name="eval")
def evaluate() -> None:
    """Evaluate search over a vault."""


@evaluate.command()
@options_of(SearchEvalOptions)
@click.option("--flow", is_flag=True, help="run as a Prefect flow, with its artifacts")
def search(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Measure how well retrieval answers queries: hit@k, MRR, nDCG, spans, unanswerable queries, latency."""
    options = read_options(values)
    if options.dry_run:
        from gigamind.evals.prepare import prepare

        show_checked(prepare(options))
        return
    summary, out = _run_flow(options) if flow else _run(options)
    show_run(summary, out)
    if summary.status == "interrupted":
        raise KeyboardInterrupt


def _run(options: SearchEvalOptions) -> tuple[Any, Path]:
    from gigamind.evals.summary import evaluate as run_evaluation

    with progress_bar() as progress:
        return run_evaluation(options, progress)


def _run_flow(options: SearchEvalOptions) -> tuple[Any, Path]:
    from gigamind.publish import run_search_flow

    return run_search_flow(options)
