"""The steps of an evaluation of answers as a flow needs them: plain JSON values in and out.

All answers are judged in one task: what survives a crash is kept item by item by the run itself (see `model_run`).
"""

import functools
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gigamind.errors import InputError
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evals.answer_prepare import PreparedAnswers, prepare_answers
from gigamind.evals.answer_summary import AnswerRun, record_answers
from gigamind.evals.answers import judge_answers
from gigamind.evals.finish import check_outputs, finish_flow
from gigamind.evals.model_run import ModelRun, attempts_of, drop_if_final
from gigamind.runs.store import ItemResult

_results = TypeAdapter(dict[str, ItemResult])


def _prepared(options: AnswerEvalOptions) -> tuple[PreparedAnswers, float]:
    return _prepared_once(options.model_dump_json())


@functools.lru_cache(maxsize=2)
def _prepared_once(options: str) -> tuple[PreparedAnswers, float]:
    start = time.perf_counter()
    prepared = prepare_answers(AnswerEvalOptions.model_validate_json(options))
    return prepared, 1000 * (time.perf_counter() - start)


def close_run(options: AnswerEvalOptions) -> None:
    """Forget what this process holds of the run, so that the next one reads the dataset anew."""
    del options
    _prepared_once.cache_clear()


def check_input(options: AnswerEvalOptions) -> str:
    """What `--dry-run` finds, in a line.

    Raises:
        GigamindError: see `prepare_answers`.
    """
    prepared, _ = _prepared(options)
    return (
        f"{len(prepared.cases)} answers ready; problems in the dataset: {len(prepared.errors)};"
        f" warnings: {len(prepared.warnings)}"
    )


def prepare_run(options: AnswerEvalOptions, out: Path) -> int:
    """Check the input and what the run is to be compared with; how many answers there are.

    Raises:
        GigamindError: see `check_outputs` and `prepare_answers`.
    """
    check_outputs(options, out)
    return len(_prepared(options)[0].cases)


def prepare_batches(options: AnswerEvalOptions) -> list[tuple[int, int]]:
    """The same for flows that run every task: one batch, of all answers.

    Raises:
        GigamindError: see `prepare_run`; also where no out folder is named, which the answers are kept beside.
    """
    return [(0, prepare_run(options, _named_out(options)))]


def run_batch(options: AnswerEvalOptions, first: int, end: int) -> dict[str, Any]:
    """The same as `judge_run` for such flows; the batch is always the whole."""
    del first, end
    return judge_run(options, _named_out(options))


def _named_out(options: AnswerEvalOptions) -> Path:
    out = options.written_to(options.out)
    if out is None:
        raise InputError("--out: must be given; what a model is paid for is kept beside it")
    return out


def judge_run(options: AnswerEvalOptions, out: Path) -> dict[str, Any]:
    """Ask the models about every answer: `results`, `interrupted` and `runtime_ms`.

    Raises:
        GigamindError: see `ask_about`.
    """
    prepared, preparing_ms = _prepared(options)
    found = judge_answers(prepared, out, preparing_ms)
    return {
        "results": _results.dump_python(dict(found.asked.results), mode="json"),
        "interrupted": found.asked.interrupted,
        "runtime_ms": found.runtime_ms,
    }


def finish_run(
    options: AnswerEvalOptions, pieces: Sequence[Mapping[str, Any]], out: Path, started: datetime
) -> dict[str, Any]:
    """Write the out folder from what `judge_run` gave, the one piece; returns what `finish_flow` does.

    Raises:
        GigamindError: see `finish`.
    """
    (judged,) = pieces
    prepared, preparing_ms = _prepared(options)
    results = _results.validate_python(judged["results"])
    asked = ModelRun(results, attempts_of(out), judged["interrupted"])
    run = AnswerRun(asked, preparing_ms, judged["runtime_ms"])
    finished = finish_flow(record_answers(prepared, run, started), options, out)
    drop_if_final(out, asked)
    return finished
