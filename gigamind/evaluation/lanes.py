"""Evaluates many items at a time: bounded concurrency, a time limit an item, results in the order of the items.

A thread cannot be stopped from outside.  So an item that passes its limit becomes a `Failure`, its thread is left to
end by itself (it is a daemon and its late result is dropped), and another thread takes its place.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gigamind.errors import QueryTimeoutError
from gigamind.outcome import Failure, Success, attempt

Result = TypeVar("Result")
ItemOutcome = Success[Result] | Failure


@dataclass
class Stopped(KeyboardInterrupt):
    """The run was stopped by Ctrl-C; what had ended by then."""

    outcomes: Sequence[ItemOutcome[Any]]


@dataclass
class _Lane:
    """One worker thread and what it is at."""

    item_id: str | None = None
    started: float = 0.0
    given_up: bool = False


@dataclass
class _Board(Generic[Result]):
    """What the lanes and the coordinator share, guarded by `changed`."""

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


def run_lanes(
    tasks: Mapping[str, Callable[[], Result]],
    *,
    max_concurrency: int,
    timeout_ms: int,
    on_end: Callable[[ItemOutcome[Result]], None],
) -> list[ItemOutcome[Result]]:
    """Run every task, at most `max_concurrency` at a time; outcomes come in the order of `tasks`.

    Args:
        tasks: by item id.
        timeout_ms: limit of one task, in milliseconds, from its start.
        on_end: told the outcome of each item once it has ended, never from two threads at a time.

    Raises:
        Stopped: Ctrl-C; carries the outcomes so far.
        Exception: whatever a task raised that is no GigamindError: a bug, which ends the run.
    """
    board: _Board[Result] = _Board(tasks, timeout_ms, deque(tasks))
    lanes = [_start_lane(board) for _ in range(min(max_concurrency, len(tasks)))]
    try:
        _coordinate(board, lanes, on_end)
    except KeyboardInterrupt:
        with board.changed:
            raise Stopped(board.in_order()) from None
    finally:
        with board.changed:
            board.waiting.clear()
    return board.in_order()


def _coordinate(
    board: _Board[Result], lanes: list[_Lane], on_end: Callable[[ItemOutcome[Result]], None]
) -> None:
    """Wait until every task has ended or one has a bug; replace the lanes that pass the limit."""
    reported = 0
    with board.changed:
        while reported < len(board.tasks) and board.bug is None:
            if not board.ended:
                board.changed.wait(_until_next_limit(lanes, board.timeout_ms))
            lanes = [_limited(lane, board) for lane in lanes]
            while board.ended:
                on_end(board.ended.popleft())
                reported += 1
    if board.bug is not None:
        raise board.bug


def _start_lane(board: _Board[Result]) -> _Lane:
    lane = _Lane()
    threading.Thread(target=_work, args=(lane, board), daemon=True).start()
    return lane


def _work(lane: _Lane, board: _Board[Result]) -> None:
    while True:
        with board.changed:
            if lane.given_up or board.bug is not None or not board.waiting:
                lane.item_id = None
                return
            item = board.waiting.popleft()
            lane.item_id, lane.started = item, time.perf_counter()
        try:
            outcome = attempt(item, board.tasks[item])
        except BaseException as bug:  # noqa: BLE001  handed to the coordinator, which raises it
            with board.changed:
                board.bug = board.bug or bug
                board.changed.notify()
            return
        with board.changed:
            if lane.given_up:
                return
            board.end(_in_time(outcome, board.timeout_ms))
            lane.item_id = None
            board.changed.notify()


def _until_next_limit(lanes: list[_Lane], timeout_ms: int) -> float:
    """Seconds until the first running item reaches its limit."""
    now = time.perf_counter()
    ends = [lane.started + timeout_ms / 1000 for lane in lanes if lane.item_id is not None]
    return max(0.001, min(ends, default=now + timeout_ms / 1000) - now)


def _limited(lane: _Lane, board: _Board[Result]) -> _Lane:
    """The lane itself, or a new one in its place if its item passed the limit."""
    item = lane.item_id
    if item is None or time.perf_counter() - lane.started < board.timeout_ms / 1000:
        return lane
    lane.given_up = True
    board.end(_timed_out(item, board.timeout_ms))
    return _start_lane(board)


def _in_time(outcome: Success[Result] | Failure, timeout_ms: int) -> Success[Result] | Failure:
    """The outcome; a timeout where it came late, though before the coordinator looked."""
    if isinstance(outcome, Success) and outcome.latency_ms > timeout_ms:
        return _timed_out(outcome.item_id, timeout_ms)
    return outcome


def _timed_out(item_id: str, timeout_ms: int) -> Failure:
    message = f"no answer within {timeout_ms} ms; raise --timeout-ms if the query is right"
    return Failure(item_id, QueryTimeoutError.__name__, message)
