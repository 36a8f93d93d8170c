"""`gigamind eval links`."""

from typing import Any

import click

from gigamind.cli.options import options_of
from gigamind.evals.link_options import LinkEvalOptions, read_link_options


@click.command()
@options_of(LinkEvalOptions)
@click.option("--flow", is_flag=True, help="run as a Prefect flow, with its artifacts")
def links(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Measure how many removed links are suggested again: precision, recall, novelty, spans, calibration."""
    from gigamind.cli.run import run_and_show
    from gigamind.evals.links import evaluate_links

    options = read_link_options(values)
    if options.dry_run:
        _show_checked(options)
        return
    run_and_show(options, evaluate_links, flow=flow)


def _show_checked(options: LinkEvalOptions) -> None:
    """The outcome of `--dry-run`."""
    from gigamind.cli.show import plain_console, show_lines
    from gigamind.evals.link_prepare import prepare_links

    prepared = prepare_links(options)
    console = plain_console()
    rows = sum(len(rows) for rows in prepared.rows.values())
    console.print(f"{rows} links ready, in {len(prepared.rows)} notes")
    show_lines(console, "problem", [error.message for error in prepared.errors])
    show_lines(console, "warning", prepared.checked.warnings)
    console.print(
        f"dataset_hash {prepared.checked.dataset.sha256}\nnotes_hash   {prepared.notes_hash}"
    )
