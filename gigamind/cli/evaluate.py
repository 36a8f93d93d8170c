"""`gigamind eval ...`."""

import sys
from typing import Any

import click

from gigamind.cli.generate import generate_links, generate_queries
from gigamind.cli.links import links
from gigamind.cli.options import options_of
from gigamind.cli.show import progress_bar, show_checked, show_release, show_run
from gigamind.evals.finish import Evaluated
from gigamind.evals.options import SearchEvalOptions, read_options


@click.group(name="eval")
def evaluate() -> None:
    """Evaluate search and links over a vault, and make datasets for it."""


evaluate.add_command(links)
evaluate.add_command(generate_links)
evaluate.add_command(generate_queries)


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
    finished = _run_flow(options) if flow else _run(options)
    show_run(finished.summary, finished.out)
    if finished.summary.status == "interrupted":
        raise KeyboardInterrupt
    if finished.verdict:
        show_release(finished.verdict, finished.out)
        sys.exit(finished.verdict.exit_code(fail_on_regression=options.fail_on_regression))


def _run(options: SearchEvalOptions) -> Evaluated:
    from gigamind.evals.summary import evaluate as run_evaluation

    with progress_bar() as progress:
        return run_evaluation(options, progress)


def _run_flow(options: SearchEvalOptions) -> Evaluated:
    from gigamind.publish import run_search_flow

    return run_search_flow(options)
