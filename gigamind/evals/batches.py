"""The steps of a search evaluation as a flow needs them: by options and numbers, from any thread or process.

A task gives and takes plain JSON values only, so each process opens the evaluation once and keeps it until `close_run`.
"""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gigamind.evals.finish import check_outputs, finish_flow
from gigamind.evals.measure import ItemResult
from gigamind.evals.model_judging import ask_model, with_verdicts
from gigamind.evals.model_run import ModelRun, attempts_of, drop_if_final
from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.prepare import prepare
from gigamind.evals.runner import Interrupted
from gigamind.evals.search import (
    Run,
    SearchEvaluation,
    judge_and_measure,
    open_search,
    retrieve,
    warm_up,
)
from gigamind.evals.summary import record_run
from gigamind.runs.store import ItemResult as StoredResult

# Prefect costs some 6 ms a task and shows at most a hundred well: batches are long enough to drown that in work.
_MIN_BATCH_MS = 650
_MOST_BATCHES = 64

_results = TypeAdapter(list[ItemResult])
_verdicts = TypeAdapter(dict[str, StoredResult])
_open: dict[str, SearchEvaluation] = {}
_opening = threading.Lock()


def _evaluation(options: SearchEvalOptions) -> SearchEvaluation:
    key = options.model_dump_json()
    with _opening:  # two threads would index twice
        if key not in _open:
            _open[key] = open_search(options)
        return _open[key]


def close_run(options: SearchEvalOptions) -> None:
    """Close the evaluation that this process holds for a run, so that the next one reads the vault anew."""
    with _opening:
        evaluation = _open.pop(options.model_dump_json(), None)
    if evaluation:
        evaluation.retriever.close()


def check_input(options: SearchEvalOptions) -> str:
    """What `--dry-run` finds, in a line.

    Raises:
        GigamindError: see `prepare`.
    """
    found = prepare(options)
    return (
        f"{len(found.queries)} queries ready over {len(found.vault.notes)} notes;"
        f" problems in the dataset: {len(found.errors)}; warnings: {len(found.warnings)}"
    )


def prepare_batches(options: SearchEvalOptions) -> list[tuple[int, int]]:
    """Check the input, build the index, warm up; the batches of queries to run, each from and to (exclusive).

    Raises:
        GigamindError: see `open_search`.
    """
    if options.out:
        check_outputs(options, options.out)
    evaluation = _evaluation(options)
    start = time.perf_counter()
    warm_up(evaluation)
    count = len(evaluation.prepared.queries)
    ms_per_query = 1000 * (time.perf_counter() - start) / max(1, min(options.warmup, count))
    size = batch_size(count, ms_per_query)
    return [(first, min(first + size, count)) for first in range(0, count, size)]


def batch_size(count: int, ms_per_query: float) -> int:
    """Queries a batch: at least 650 ms of work, and at most 64 batches."""
    return max(math.ceil(_MIN_BATCH_MS / max(ms_per_query, 0.1)), math.ceil(count / _MOST_BATCHES))


def run_batch(options: SearchEvalOptions, first: int, end: int) -> dict[str, Any]:
    """Retrieve, judge and measure the queries `first` to `end` (exclusive): `results` and `runtime_ms`.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    evaluation = _evaluation(options)
    start = time.perf_counter()
    try:
        outcomes = retrieve(evaluation, evaluation.prepared.queries[first:end])
    except Interrupted as stop:  # an Exception: a task that fails with one is tried again
        raise KeyboardInterrupt from stop
    runtime_ms = 1000 * (time.perf_counter() - start)
    results = judge_and_measure(evaluation, outcomes)
    return {"results": _results.dump_python(results, mode="json"), "runtime_ms": runtime_ms}


def judge_run(
    options: SearchEvalOptions, batches: Sequence[Mapping[str, Any]], out: Path
) -> dict[str, Any] | None:
    """Ask the model about what the batches found: `results` and `interrupted`; None if the judge asks no model.

    Raises:
        GigamindError: see `ask_all`.
    """
    asked = ask_model(_evaluation(options), _put_together(batches), out)
    if asked is None:
        return None
    results = _verdicts.dump_python(dict(asked.results), mode="json")
    return {"results": results, "interrupted": asked.interrupted}


def finish_run(
    options: SearchEvalOptions,
    batches: Sequence[Mapping[str, Any]],
    out: Path,
    started: datetime,
    judged: Mapping[str, Any] | None = None,
    *,
    interrupted: bool = False,
) -> dict[str, Any]:
    """Put the batches together, with what `judge_run` gave, and write the out folder; returns what `finish_flow` does.

    Raises:
        GigamindError: see `finish`.
    """
    evaluation = _evaluation(options)
    run = replace(_put_together(batches), interrupted=interrupted)
    if judged is not None:
        verdicts = _verdicts.validate_python(judged["results"])
        asked = ModelRun(verdicts, attempts_of(out), judged["interrupted"])
        run = with_verdicts(run, asked, options.seed)
    record = record_run(evaluation, run, started)
    finished = finish_flow(record, options, out)
    if run.asked:
        drop_if_final(out, run.asked)
    return finished


def _put_together(batches: Sequence[Mapping[str, Any]]) -> Run:
    return Run(
        results=[
            found for batch in batches for found in _results.validate_python(batch["results"])
        ],
        runtime_ms=sum(float(batch["runtime_ms"]) for batch in batches),
    )
