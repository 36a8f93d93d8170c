"""`gigamind eval answers`."""

from typing import Any

import click

from gigamind.cli.options import options_of
from gigamind.evals.answer_options import AnswerEvalOptions, read_answer_options


@click.command()
@options_of(AnswerEvalOptions)
@click.option("--flow", is_flag=True, help="run as a Prefect flow, with its artifacts")
def answers(*, flow: bool, **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Judge answers claim by claim: correctness by quotes that stand in the notes, utility, coverage, grounding."""
    from gigamind.cli.run import run_and_show
    from gigamind.evals.answers import evaluate_answers

    options = read_answer_options(values)
    if options.dry_run:
        _show_checked(options)
        return
    run_and_show(options, evaluate_answers, flow=flow)


def _show_checked(options: AnswerEvalOptions) -> None:
    """The outcome of `--dry-run`: what would be asked, and what it would cost at most."""
    from gigamind.cli.show import plain_console, show_lines
    from gigamind.evals.answer_estimate import estimate
    from gigamind.evals.answer_prepare import prepare_answers

    prepared = prepare_answers(options)
    console = plain_console()
    for line in estimate(prepared).lines():
        console.print(line)
    show_lines(console, "problem", [error.message for error in prepared.errors])
    show_lines(console, "warning", prepared.warnings)
    console.print(
        f"dataset_hash {prepared.dataset_hash}\nnotes_hash   {prepared.notes_hash or '–'}"
    )
