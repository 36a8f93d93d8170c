"""The steps of a link evaluation as a flow needs them: by options and numbers, from any thread or process.

A task gives and takes plain JSON values only, so each process opens the evaluation once and keeps it until `close_run`.
"""

import functools
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gigamind.evals.batches import batch_size
from gigamind.evals.finish import check_outputs, finish_flow
from gigamind.evals.link_options import LinkEvalOptions
from gigamind.evals.link_prepare import prepare_links
from gigamind.evals.link_summary import EvaluatedNote, LinkRun, record_links
from gigamind.evals.links import LinkEvaluation, open_links, suggest_for

_TIMED = 10  # notes by which the time of one is estimated

_results = TypeAdapter(list[EvaluatedNote])


def _evaluation(options: LinkEvalOptions) -> LinkEvaluation:
    return _opened(options.model_dump_json())


@functools.lru_cache(maxsize=2)
def _opened(options: str) -> LinkEvaluation:
    return open_links(LinkEvalOptions.model_validate_json(options))


def close_run(options: LinkEvalOptions) -> None:
    """Forget the evaluation that this process holds, so that the next one reads the vault anew."""
    del options
    _opened.cache_clear()


def check_input(options: LinkEvalOptions) -> str:
    """What `--dry-run` finds, in a line.

    Raises:
        GigamindError: see `prepare_links`.
    """
    found = prepare_links(options)
    rows = sum(len(rows) for rows in found.rows.values())
    return (
        f"{rows} links ready, in {len(found.rows)} notes;"
        f" problems in the dataset: {len(found.errors)}; warnings: {len(found.checked.warnings)}"
    )


def prepare_batches(options: LinkEvalOptions) -> list[tuple[int, int]]:
    """Check the input, learn the vault; the batches of notes to run, each from and to (exclusive).

    Raises:
        GigamindError: see `open_links`.
    """
    if options.out:
        check_outputs(options, options.out)
    evaluation = _evaluation(options)
    paths = list(evaluation.prepared.rows)
    start = time.perf_counter()
    timed = list(suggest_for(evaluation, paths[:_TIMED]))
    ms_per_note = 1000 * (time.perf_counter() - start) / len(timed)
    size = batch_size(len(paths), ms_per_note)
    return [(first, min(first + size, len(paths))) for first in range(0, len(paths), size)]


def run_batch(options: LinkEvalOptions, first: int, end: int) -> dict[str, Any]:
    """Suggest links for the notes `first` to `end` (exclusive): `results` and `runtime_ms`."""
    evaluation = _evaluation(options)
    start = time.perf_counter()
    found = list(suggest_for(evaluation, list(evaluation.prepared.rows)[first:end]))
    runtime_ms = 1000 * (time.perf_counter() - start)
    return {"results": _results.dump_python(found, mode="json"), "runtime_ms": runtime_ms}


def finish_run(
    options: LinkEvalOptions,
    batches: Sequence[Mapping[str, Any]],
    out: Path,
    started: datetime,
    *,
    interrupted: bool = False,
) -> dict[str, Any]:
    """Put the batches together and write the out folder; returns what `finish_flow` does.

    Raises:
        GigamindError: see `finish`.
    """
    evaluation = _evaluation(options)
    run = LinkRun(
        results=[
            found for batch in batches for found in _results.validate_python(batch["results"])
        ],
        runtime_ms=sum(float(batch["runtime_ms"]) for batch in batches),
        interrupted=interrupted,
    )
    record = record_links(evaluation.prepared, evaluation.indexing_ms, run, started)
    return finish_flow(record, options, out)
