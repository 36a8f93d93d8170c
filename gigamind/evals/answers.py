"""The evaluation of answers: are they grounded in their notes, and do they help (seed 004)?

Its steps are plain functions: `prepare_answers`, `judge_answers` and `record_answers`; `evaluate_answers` is all of
them in a row, and a flow runs the same steps as tasks.
"""

import time
from datetime import UTC, datetime
from pathlib import Path

from gigamind.evals.answer_judging import ask_about
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evals.answer_prepare import PreparedAnswers, prepare_answers
from gigamind.evals.answer_summary import AnswerRun, record_answers
from gigamind.evals.finish import Evaluated, check_outputs, finish
from gigamind.evals.model_run import drop_if_final
from gigamind.evals.progress import Progress
from gigamind.evals.summary import default_out
from gigamind.reports.answer_schema import AnswerSummaryReport


def evaluate_answers(
    options: AnswerEvalOptions, progress: Progress | None = None
) -> Evaluated[AnswerSummaryReport]:
    """Run a whole evaluation of answers.

    Raises:
        GigamindError: see `prepare_answers`, `ask_about` and `finish`; its class tells the exit code.
    """
    started = datetime.now(UTC)
    out = options.written_to(options.out) or default_out(started)
    reference = check_outputs(options, out)
    start = time.perf_counter()
    prepared = prepare_answers(options, progress)
    outcome = judge_answers(prepared, out, 1000 * (time.perf_counter() - start), progress)
    finished = finish(record_answers(prepared, outcome, started), options, out, reference)
    drop_if_final(out, outcome.asked)
    return finished


def judge_answers(
    prepared: PreparedAnswers, out: Path, preparing_ms: float, progress: Progress | None = None
) -> AnswerRun:
    """Ask the models about every answer.

    Raises:
        GigamindError: see `ask_about`.
    """
    start = time.perf_counter()
    asked = ask_about(prepared, out, progress)
    return AnswerRun(asked, preparing_ms, 1000 * (time.perf_counter() - start))
