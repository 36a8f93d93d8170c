"""Evaluate many items concurrently: bounded workers, a time limit per item, results in item order.

No thread can be stopped: that of an item beyond its limit is abandoned, and a new worker replaces it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gigamind.errors import QueryTimeoutError
from gigamind.i18n import _
from gigamind.outcome import Failure, Success, attempt

Result = TypeVar("Result")
ItemOutcome = Success[Result] | Failure


@dataclass
class Stopped(KeyboardInterrupt):
    """The run was stopped by Ctrl-C; `outcomes` are of the items finished by then."""

    outcomes: Sequence[ItemOutcome[Any]]


@dataclass
class _Worker:
    """A worker thread and its current item."""

    item_id: str | None = None
    started: float = 0.0
    abandoned: bool = False


@dataclass
class _Shared(Generic[Result]):
    """State shared by the workers and the coordinator, guarded by `changed`."""

    tasks: Mapping[str, Callable[[], Result]]
    timeout_ms: int
    waiting: deque[str]
    changed: threading.Condition = field(default_factory=threading.Condition)
    outcomes: dict[str, Success[Result] | Failure] = field(
        default_factory=dict[str, Success[Result] | Failure]
    )
    ended: deque[Success[Result] | Failure] = field(
        default_factory=deque[Success[Result] | Failure]
    )
    bug: BaseException | None = None

    def end(self, outcome: Success[Result] | Failure) -> None:
        self.outcomes[outcome.item_id] = outcome
        self.ended.append(outcome)

    def in_order(self) -> list[ItemOutcome[Result]]:
        return [self.outcomes[item] for item in self.tasks if item in self.outcomes]


def run_workers(
    tasks: Mapping[str, Callable[[], Result]],
    *,
    max_concurrency: int,
    timeout_ms: int,
    on_end: Callable[[ItemOutcome[Result]], None],
) -> list[ItemOutcome[Result]]:
    """Run every task, by item id, at most `max_concurrency` at a time, and return outcomes in the order of `tasks`.

    Args:
        timeout_ms: limit per task in milliseconds, from its start.
        on_end: called with the outcome of each finished item, never from two threads at a time.

    Raises:
        Stopped: Ctrl-C; has the outcomes so far.
        Exception: a task raised something other than a GigamindError: a bug, which ends the run.
    """
    shared: _Shared[Result] = _Shared(tasks, timeout_ms, deque(tasks))
    workers = [_start_worker(shared) for _task in range(min(max_concurrency, len(tasks)))]
    try:
        _coordinate(shared, workers, on_end)
    except KeyboardInterrupt:
        with shared.changed:
            raise Stopped(shared.in_order()) from None
    finally:
        with shared.changed:
            shared.waiting.clear()
    return shared.in_order()


def _coordinate(
    shared: _Shared[Result], workers: list[_Worker], on_end: Callable[[ItemOutcome[Result]], None]
) -> None:
    reported = 0
    with shared.changed:
        while reported < len(shared.tasks) and shared.bug is None:
            if not shared.ended:
                shared.changed.wait(_until_next_limit(workers, shared.timeout_ms))
            workers = [_limited(worker, shared) for worker in workers]
            while shared.ended:
                on_end(shared.ended.popleft())
                reported += 1
    if shared.bug is not None:
        raise shared.bug


def _start_worker(shared: _Shared[Result]) -> _Worker:
    worker = _Worker()
    threading.Thread(target=_work, args=(worker, shared), daemon=True).start()
    return worker


def _work(worker: _Worker, shared: _Shared[Result]) -> None:
    while True:
        with shared.changed:
            if worker.abandoned or shared.bug is not None or not shared.waiting:
                worker.item_id = None
                return
            item = shared.waiting.popleft()
            worker.item_id, worker.started = item, time.perf_counter()
        try:
            outcome = attempt(item, shared.tasks[item])
        except BaseException as bug:  # noqa: BLE001  handed to the coordinator, which raises it
            with shared.changed:
                shared.bug = shared.bug or bug
                shared.changed.notify()
            return
        with shared.changed:
            if worker.abandoned:
                return
            shared.end(_in_time(outcome, shared.timeout_ms))
            worker.item_id = None
            shared.changed.notify()


def _until_next_limit(workers: list[_Worker], timeout_ms: int) -> float:
    """Return the seconds until the first running item reaches its limit."""
    now = time.perf_counter()
    ends = [worker.started + timeout_ms / 1000 for worker in workers if worker.item_id is not None]
    return max(0.001, min(ends, default=now + timeout_ms / 1000) - now)


def _limited(worker: _Worker, shared: _Shared[Result]) -> _Worker:
    item = worker.item_id
    if item is None or time.perf_counter() - worker.started < shared.timeout_ms / 1000:
        return worker
    worker.abandoned = True
    shared.end(_timed_out(item, shared.timeout_ms))
    return _start_worker(shared)


def _in_time(outcome: Success[Result] | Failure, timeout_ms: int) -> Success[Result] | Failure:
    """Return the outcome, or a timeout if it came late but before the coordinator noticed."""
    if isinstance(outcome, Success) and outcome.latency_ms > timeout_ms:
        return _timed_out(outcome.item_id, timeout_ms)
    return outcome


def _timed_out(item_id: str, timeout_ms: int) -> Failure:
    message = _(
        "no answer within {limit} ms. If the query is correct, raise --timeout-ms.",
        limit=timeout_ms,
    )
    return Failure(item_id, QueryTimeoutError.__name__, message)
