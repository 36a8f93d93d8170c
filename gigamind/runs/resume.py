"""Evaluates the items of a run that have no final result yet, several at a time, and keeps each result as it ends.

A process killed in the middle loses the items that were being evaluated, no others.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

from gigamind.errors import GigamindError, LlmError
from gigamind.runs.store import ItemResult, Outcome, RunStore, Unscored

Item = TypeVar("Item")
_OUTCOMES: dict[str, Outcome] = {
    "refused": "refused",
    "content_filtered": "refused",
    "invalid_output": "unscored",
    "truncated": "unscored",
    "context_too_long": "unscored",
    "panel_incomplete": "unscored",
    "panel_tied": "unscored",
    "budget_exceeded": "skipped_budget",
}


def outcome_of(code: str) -> Outcome:
    """How an item ends with an error of this code."""
    return _OUTCOMES.get(code, "error")


async def evaluate_all(
    items: Mapping[str, Item],
    evaluate: Callable[[str, Item], Awaitable[Any]],
    store: RunStore,
    *,
    max_in_flight: int,
) -> list[ItemResult]:
    """One result an item, by id, in the order of `items`; `evaluate` gives JSON values, or `Unscored`.

    A known error ends its item, and is tried again by a resumed run if that may help.  Anything else is a bug, and ends
    the run; what has ended before is kept.
    """
    waiting = iter([item_id for item_id in items if store.final(item_id) is None])
    skipped: dict[str, ItemResult] = {}
    async with asyncio.TaskGroup() as group:
        for _ in range(max_in_flight):
            group.create_task(_work(waiting, items, evaluate, store, skipped))
    known = {**store.results, **skipped}
    return [known[item_id] for item_id in items]


async def _work(
    waiting: Iterator[str],
    items: Mapping[str, Item],
    evaluate: Callable[[str, Item], Awaitable[Any]],
    store: RunStore,
    skipped: dict[str, ItemResult],
) -> None:
    for item_id in waiting:  # shared by all workers
        result = await _result(item_id, evaluate(item_id, items[item_id]))
        if result.outcome == "skipped_budget":
            skipped[item_id] = result  # nothing happened that would be worth keeping
        else:
            store.append(result)


async def _result(item_id: str, evaluation: Awaitable[Any]) -> ItemResult:
    start = time.perf_counter()
    try:
        value = await evaluation
    except GigamindError as error:
        code = error.code if isinstance(error, LlmError) else type(error).__name__
        return ItemResult(item_id, outcome_of(code), code, str(error), None, _ms(start))
    if isinstance(value, Unscored):
        return ItemResult(
            item_id, "unscored", value.code, value.message, value.kept, _ms(start), value.passing
        )
    return ItemResult(item_id, "scored", value=value, latency_ms=_ms(start))


def _ms(start: float) -> float:
    return round(1000 * (time.perf_counter() - start), 3)
