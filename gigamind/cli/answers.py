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
    """The outcome of `--dry-run`: what would be asked, and what it would cost."""
    from gigamind.cli.show import plain_console, show_estimates, show_lines
    from gigamind.evals.answer_estimate import estimate_answers
    from gigamind.evals.answer_prepare import prepare_answers

    # By keywords, for another embedder may be one that is paid for.
    prepared = prepare_answers(options.model_copy(update={"mode": "keyword"}))
    console = plain_console()
    console.print(f"{len(prepared.cases)} answers ready")
    show_lines(console, "problem", [error.message for error in prepared.errors])
    show_lines(console, "warning", prepared.warnings)
    console.print(f"dataset_hash {prepared.dataset_hash}")
    if prepared.notes_hash:
        console.print(f"notes_hash   {prepared.notes_hash}")
    show_estimates([one.describe() for one in estimate_answers(prepared)])
