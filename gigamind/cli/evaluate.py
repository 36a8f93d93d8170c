"""`gigamind eval ...`."""

from typing import Any

import click

from gigamind.cli.answers import answers
from gigamind.cli.generate import generate_links, generate_queries
from gigamind.cli.links import links
from gigamind.cli.options import options_of
from gigamind.cli.run import run_and_show
from gigamind.cli.show import show_checked, show_estimates
from gigamind.evals.options import SearchEvalOptions, read_options


@click.group(name="eval")
def evaluate() -> None:
    """Evaluate search, links and answers over a vault, and make datasets for it."""


evaluate.add_command(links)
evaluate.add_command(answers)
evaluate.add_command(generate_links)
evaluate.add_command(generate_queries)


@evaluate.command()
@options_of(SearchEvalOptions)
@click.option("--flow", is_flag=True, help="run as a Prefect flow, with its artifacts")
def search(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Measure how well retrieval answers queries: hit@k, MRR, nDCG, spans, unanswerable queries, latency."""
    options = read_options(values)
    if options.dry_run:
        from gigamind.evals.estimate import estimate
        from gigamind.evals.prepare import prepare

        prepared = prepare(options)
        show_checked(prepared)
        show_estimates([one.describe() for one in estimate(prepared)])
        return
    from gigamind.evals.summary import evaluate as run_evaluation

    run_and_show(options, run_evaluation, flow=flow)
