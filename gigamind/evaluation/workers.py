"""Evaluate many items concurrently: bounded workers, a time limit per item, results in item order; and measure speed.

No thread can be stopped: that of an item beyond its limit is abandoned, and a new worker replaces it.
"""

import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from queue import Empty, Queue
from statistics import median
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from gigamind.errors import GigamindError, QueryTimeoutError
from gigamind.i18n import _
from gigamind.outcome import Failure, Success, attempt
from gigamind.records.schema import SpeedReport

_Result = TypeVar("_Result")
ItemOutcome = Success[_Result] | Failure


@dataclass(eq=False, repr=False)
class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run; `results` are outcomes or results, as its raiser returns, of the items that ended."""

    results: Sequence[Any]


def run_workers(
    tasks: Mapping[str, Callable[[], _Result]],
    *,
    max_concurrency: int,
    timeout_ms: int,
    on_end: Callable[[ItemOutcome[_Result]], None],
) -> list[ItemOutcome[_Result]]:
    """Run every task, by item id, at most `max_concurrency` at a time, and return outcomes in the order of `tasks`.

    Args:
        timeout_ms: limit per task in milliseconds, from its start.
        on_end: called with the outcome of each finished item, never from two threads at a time.

    Raises:
        Interrupted: Ctrl-C; has the outcomes so far.
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
        raise Interrupted(done) from None
    finally:
        run.waiting.clear()
    return [run.outcomes[item] for item in tasks]


class _Workers(Generic[_Result]):
    """The threads of a run, what they run, and the outcomes that were taken from them."""

    def __init__(self, tasks: Mapping[str, Callable[[], _Result]], timeout_ms: int) -> None:
        self._tasks = tasks
        self._timeout_ms = timeout_ms
        self._started: dict[str, float] = {}  # whoever removes a running item gives its outcome
        self.waiting = deque(tasks)
        self.ended: Queue[ItemOutcome[_Result] | BaseException] = Queue()
        self.outcomes: dict[str, ItemOutcome[_Result]] = {}

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

    def next_outcomes(self) -> Iterator[ItemOutcome[_Result]]:
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

    def take(self, outcome: ItemOutcome[_Result] | BaseException) -> ItemOutcome[_Result]:
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


_Input = TypeVar("_Input")
_MOST_QUERIES = 24
_STEPS = 2_500
_SORTED = 6_000
_Numbers = npt.NDArray[np.float32]
_LOAD_MS = 20.0  # maximum load before one query
_QUERIES_PER_UNIT = 4  # the most between two loads; with 6, detected slowdowns fell from 90 to 51 % (keyword search)
_ENOUGH = 6  # passes that a gate on an interval needs


def load() -> float:
    """Run one unit of the fixed load, about two milliseconds on one core; always the same work.

    It uses Python and sorting, memory beyond the caches, and a cached matrix, which a busy machine slows differently.
    Without the latter two, the cost of equal searches drifted by 8 %, with them by 4 %.
    """
    state = 1
    for step in range(_STEPS):
        state = (state * 48_271 + step) % 2_147_483_647
    numbers, matrix, vector = _numbers()
    total = float(np.argsort(numbers[:_SORTED])[0]) + float(numbers.sum())
    for _repeat in range(3):
        # einsum uses no BLAS, which may use other cores
        total += float(np.einsum("ij,j->i", matrix, vector)[0])
    return state + total


@cache
def _numbers() -> tuple[_Numbers, _Numbers, _Numbers]:
    """Return the data of the load: 8 MB that pass through memory, a matrix of 4 MB and a vector. Equal everywhere."""
    period = (np.arange(1_009, dtype=np.int64) * 48_271 % 1_009).astype(np.float32)
    numbers = np.resize(period, 2_000_000)
    return numbers, numbers[:1_048_576].reshape(512, 2_048), numbers[:2_048]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        limit_ms: time limit on the chosen clock. Wall time is longer on a busy machine: after three times the limit the
            measurement ends with at least six passes.
    """

    passes: int  # after one warm-up pass; fewer if the time is over
    seed: int  # of the order of the queries
    limit_ms: float
    clock: Literal["cpu", "wall"] = "cpu"  # see the module

    @classmethod
    def within(cls, run_ms: float, passes: int, seed: int, clock: Literal["cpu", "wall"]) -> Self:
        """Use a quarter of the run's time, between 0.3 and 2 seconds; a twentieth of runs over 40 seconds."""
        limit_ms = max(300.0, min(2_000.0, run_ms / 4), run_ms / 20)
        return cls(passes, seed, limit_ms, clock)

    def measure(
        self, queries: Mapping[str, _Input], search: Callable[[_Input], object]
    ) -> SpeedReport | None:
        """Measure the cost of some queries by id; None if none can be searched, or Ctrl-C leaves less than two passes.

        Each query of a seeded sample is searched once per pass, alone. Load runs before each query, or before every
        second to fourth if a unit of it takes longer than a query; about half of a pass is load. The cost of a query is
        its time divided by that of one unit, so it does not depend on how busy the machine is. CPU time is
        used, as wall time of equal runs differed by a quarter on two busy cores (`benchmarks/gate_speed.py`); it does
        not include waiting, so wall time is used if a server searches.
        """
        start = time.perf_counter()
        timer = _Timer(time.process_time if self.clock == "cpu" else time.perf_counter)
        ids, took, passes = list[str](), list[float](), list[tuple[float, list[float]]]()
        try:
            # Equal for equal queries, and similar for similar ones.
            seeded = {
                name: hashlib.sha256(f"{self.seed}\0{name}".encode()).digest() for name in queries
            }
            share_ms = self.limit_ms / (2 * (self.passes + 1))  # half of each pass is load
            for name in sorted(queries, key=seeded.__getitem__)[:_MOST_QUERIES]:
                took.append(timer.seconds(partial(search, queries[name])))
                ids.append(name)
                if 1000 * sum(took) > share_ms:
                    break
            unit = timer.unit()
            typical = max(median(took or [0]), unit / _QUERIES_PER_UNIT)
            units = max(1, min(int(_LOAD_MS / 1000 / unit), round(typical / unit)))
            every = max(1, round(unit / typical))
            while ids and len(passes) < self.passes:
                loads, times = list[float](), list[float]()
                for place, name in enumerate(ids):
                    if place % every == 0:
                        loads.append(timer.seconds(lambda: [load() for _unit in range(units)]))
                    times.append(timer.seconds(partial(search, queries[name])))
                passes.append((sum(loads) / (len(loads) * units), times))
                if len(passes) >= _ENOUGH and time.perf_counter() - start > 0.003 * self.limit_ms:
                    break
        except (KeyboardInterrupt, GigamindError):  # the results of the run do not depend on it
            pass
        seen = [(unit, times) for unit, times in passes if unit > 0 and sum(times) > 0]
        if not seen:
            return None
        return SpeedReport(
            clock=self.clock,
            queries=tuple(ids),
            query_ms=1000 * median(sum(times) / len(times) for _, times in seen),
            unit_ms=1000 * median(unit for unit, _ in seen),
            costs=tuple(
                tuple(round(seconds / unit, 6) for seconds in times) for unit, times in seen
            ),
        )


@dataclass(frozen=True, slots=True)
class _Timer:
    """Measures seconds on a clock."""

    clock: Callable[[], float]

    def seconds(self, work: Callable[[], object]) -> float:
        start = self.clock()
        work()
        return self.clock() - start

    def unit(self) -> float:
        """Return the seconds of one unit of the load, above 0 even on a coarse clock such as Windows' (16 ms)."""
        best = min(self.seconds(load) for _ in range(3))
        start, units = self.clock(), 0
        while not best:
            load()
            units += 1
            best = (self.clock() - start) / units
        return best


def latency(times_ms: Sequence[float]) -> dict[str, float]:
    """Return percentiles of wall times by linear interpolation (Hyndman & Fan type 7); empty without times."""
    if not times_ms:
        return {}
    percentiles = np.percentile(times_ms, [50, 95, 99], method="linear").tolist()
    return dict(zip(("p50_ms", "p95_ms", "p99_ms"), percentiles, strict=True))
