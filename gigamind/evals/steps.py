"""The steps of an evaluation for flows that run every task: those of `batches`, or of the module beside it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from gigamind.evals import answer_batches, batches, link_batches
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evals.link_options import LinkEvalOptions
from gigamind.evals.options import SearchEvalOptions

AnyOptions = SearchEvalOptions | LinkEvalOptions | AnswerEvalOptions
_STEPS: dict[str, ModuleType] = {
    "search": batches,
    "links": link_batches,
    "answers": answer_batches,
}


def prepare_batches(options: AnyOptions) -> list[tuple[int, int]]:
    """Check the input and get ready; the batches of items to run, each from and to (exclusive).

    Raises:
        GigamindError: the input cannot be used.
    """
    return _STEPS[options.task].prepare_batches(options)


def run_batch(options: AnyOptions, first: int, end: int) -> dict[str, Any]:
    """Evaluate the items `first` to `end` (exclusive)."""
    return _STEPS[options.task].run_batch(options, first, end)


def finish_run(
    options: AnyOptions, pieces: Sequence[Mapping[str, Any]], out: Path, started: datetime
) -> dict[str, Any]:
    """Write the out folder; returns what `finish_flow` does.

    Raises:
        GigamindError: see `finish`.
    """
    return _STEPS[options.task].finish_run(options, pieces, out, started)


def close_run(options: AnyOptions) -> None:
    """Let go of what this process holds of the run."""
    _STEPS[options.task].close_run(options)
