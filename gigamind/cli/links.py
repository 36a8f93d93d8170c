"""`gigamind eval links`."""

from typing import Any

import click
from rich.table import Table

from gigamind.cli.options import options_of
from gigamind.cli.show import plain_console, progress_bar, show_lines
from gigamind.evals.link_options import LinkEvalOptions, read_link_options


@click.command()
@options_of(LinkEvalOptions)
def links(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Measure how many removed links are suggested again: precision, recall, novelty, spans, calibration."""
    from gigamind.evals.links import evaluate_links, prepare_links
    from gigamind.reports.link_report import link_figure_rows

    options = read_link_options(values)
    console, aside = plain_console(), plain_console(stderr=True)
    if options.dry_run:
        prepared = prepare_links(options)
        rows = sum(len(rows) for rows in prepared.rows.values())
        console.print(f"{rows} links ready, in {len(prepared.rows)} notes")
        show_lines(
            console, "problem", [e.describe(options.dataset) for e in prepared.checked.errors]
        )
        show_lines(console, "warning", prepared.checked.warnings)
        return
    with progress_bar() as progress:
        finished = evaluate_links(options, progress)
    table = Table("metric", "value", "95 % interval", "N", box=None, pad_edge=False)
    for row in link_figure_rows(finished.summary.overall):
        table.add_row(row["name"], row["value"], row["interval"], row["n"])
    console.print(table)
    console.print(f"Report: {finished.out}")
    show_lines(aside, "warning", finished.run.warnings)
    if rejected := finished.summary.counts.rows_rejected:
        aside.print(f"rows rejected: {rejected}: see {finished.out / 'errors.jsonl'}")
