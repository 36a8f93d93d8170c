"""Evaluate many items concurrently: bounded workers, a time limit per item, results in item order.

No thread can be stopped: that of an item beyond its limit is abandoned, and a new worker replaces it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
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
    run = _Workers(tasks, timeout_ms)
    try:
        for _worker in range(min(max_concurrency, len(tasks))):
            run.start()
        while len(run.outcomes) < len(tasks):
            for outcome in run.next_outcomes():
                on_end(outcome)
    except KeyboardInterrupt:
        while not run.ended.empty():
            run.take(run.ended.get())
        done = [run.outcomes[item] for item in tasks if item in run.outcomes]
        raise Stopped(done) from None
    finally:
        run.waiting.clear()
    return [run.outcomes[item] for item in tasks]


class _Workers(Generic[Result]):
    """The threads of a run, what they run, and the outcomes that were taken from them."""

    def __init__(self, tasks: Mapping[str, Callable[[], Result]], timeout_ms: int) -> None:
        self._tasks = tasks
        self._timeout_ms = timeout_ms
        self._started: dict[str, float] = {}  # whoever removes a running item gives its outcome
        self.waiting = deque(tasks)
        self.ended: Queue[ItemOutcome[Result] | BaseException] = Queue()
        self.outcomes: dict[str, ItemOutcome[Result]] = {}

    def start(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                item = self.waiting.popleft()
            except IndexError:
                return
            self._started[item] = time.perf_counter()
            try:
                outcome = attempt(item, self._tasks[item])
            except BaseException as bug:  # noqa: BLE001  raised where it is taken
                self.waiting.clear()
                self.ended.put(bug)
                return
            if self._started.pop(item, None) is None:
                return  # abandoned, and replaced by a new worker
            self.ended.put(outcome)

    def next_outcomes(self) -> Iterator[ItemOutcome[Result]]:
        """Wait until an item ends or reaches its limit, and yield the new outcomes."""
        now, limit_s = time.perf_counter(), self._timeout_ms / 1000
        next_limit = min(self._started.copy().values(), default=now) + limit_s
        with suppress(Empty):
            yield self.take(self.ended.get(timeout=max(0.001, next_limit - now)))
        for item, start in self._started.copy().items():
            is_late = time.perf_counter() - start >= limit_s
            if is_late and self._started.pop(item, None) is not None:
                self.start()
                yield self.take(_timed_out(item, self._timeout_ms))

    def take(self, outcome: ItemOutcome[Result] | BaseException) -> ItemOutcome[Result]:
        """Return and keep an outcome, which is a timeout if it came late; raise a bug."""
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, Success) and outcome.latency_ms > self._timeout_ms:
            outcome = _timed_out(outcome.item_id, self._timeout_ms)
        self.outcomes[outcome.item_id] = outcome
        return outcome


def _timed_out(item_id: str, timeout_ms: int) -> Failure:
    message = _(
        "no answer within {limit} ms. If the query is correct, raise --timeout-ms.",
        limit=timeout_ms,
    )
    return Failure(item_id, QueryTimeoutError.__name__, message)
