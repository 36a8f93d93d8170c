"""`gigamind tune search`: what other settings that cost nothing would change."""

from pathlib import Path
from typing import Any

import click

from gigamind.cli.options import options_of
from gigamind.evaluation.options import validated
from gigamind.tasks.search.options import SearchEvalOptions


@click.group()
def tune() -> None:
    """Hold settings that cost nothing against each other, over your own queries."""


@tune.command()
@options_of(SearchEvalOptions)
@click.option("--flow", is_flag=True, help="run each evaluation as a Prefect flow")
def search(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Evaluate search as it is and with the other fusion, compare both, and say which to take, and which judge."""
    from datetime import UTC, datetime

    from gigamind.cli.progress import progress_bar
    from gigamind.cli.show import plain_console
    from gigamind.evaluation.run import out_folder
    from gigamind.tasks import evaluate
    from gigamind.tasks.search.tune import tune as tune_search

    options = validated(SearchEvalOptions, values)
    out: Path = out_folder(options, datetime.now(UTC))
    if flow:
        from gigamind.publish.flows import run_flow

        tuned = tune_search(options, out, run_flow)
    else:
        with progress_bar() as progress:
            tuned = tune_search(options, out, lambda chosen: evaluate(chosen, progress))
    console = plain_console()
    for line in tuned.finding:
        console.print(line)
    console.print(f"Report: {tuned.page}")
