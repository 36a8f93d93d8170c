"""`gigamind tune search`: compare search settings on your own queries and recommend one."""

from pathlib import Path
from typing import Any

import click

from gigamind.cli.command import Group
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, progress_bar, show_result
from gigamind.evaluation.options import validated
from gigamind.tasks.options import GridOptions, SearchEvalOptions


@click.group(cls=Group)
def tune() -> None:
    """Choose settings with your own queries and see which gains are significant."""


@tune.command(
    examples=(
        "gigamind tune search --dataset queries.jsonl --notes vault",
        "gigamind tune search --dataset queries.jsonl --notes vault --json",
    )
)
@options_of(GridOptions)
@options_of(SearchEvalOptions)
@click.option("--flow", is_flag=True, help="run each evaluation as a Prefect flow")
@prints_json
def search(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options models
    """Compare a grid of search settings with the current one, and recommend a setting and a judge.

    The options of eval search set the current setting. The options that end in s, such as --modes, set the values to
    try.
    """
    from datetime import UTC, datetime

    from gigamind.cli.show import show_document
    from gigamind.evaluation.run import out_folder
    from gigamind.tasks import evaluate
    from gigamind.tasks.search.tune import tune as tune_search

    grid = validated(GridOptions, {name: values.pop(name) for name in GridOptions.model_fields})
    options = validated(SearchEvalOptions, values)
    out: Path = out_folder(options, datetime.now(UTC))
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
        tuned = tune_search(options, grid, out, evaluated, progress)
    show_result(tuned.tuning, lambda: show_document(tuned.document, options.language, tuned.page))
