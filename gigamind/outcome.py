"""The outcome of one item: a `Success` with its value, or a `Failure` with its reason.

A failure is counted and listed, never turned into a zero or a pass.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gigamind.errors import GigamindError, IndexingError
from gigamind.i18n import Text

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Success(Generic[_Result]):
    """One evaluated item."""

    item_id: str  # id of the dataset row
    value: _Result
    latency_ms: float  # wall time of the evaluation in milliseconds


@dataclass(frozen=True, slots=True)
class Failure:
    """One item that could not be evaluated."""

    item_id: str  # id of the dataset row
    error: str  # class name of the error, stable enough to group by
    message: Text  # what went wrong and how to fix it


def attempt(item_id: str, evaluate: Callable[[], _Result]) -> Success[_Result] | Failure:
    """Evaluate one item; a known error becomes a `Failure`, any other is a bug and ends the run.

    Raises:
        IndexingError: the index cannot be reached, so that all other items would fail, too.
    """
    start = time.perf_counter()
    try:
        value = evaluate()
    except IndexingError:
        raise
    except GigamindError as error:
        return Failure(item_id, type(error).__name__, error.message)
    return Success(item_id, value, latency_ms=1000 * (time.perf_counter() - start))
