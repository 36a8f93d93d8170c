"""What a search costs, so measured that a busy machine makes no difference: in passes, beside a fixed load.

Each query of a seeded sample is searched once a pass, alone, each time after as much of a fixed load; its cost is its
time over that of one unit of the load in the same pass.  The clock is that of the processor, for the wall's is no
measure beside others: on two busy cores the wall time of equal runs went off by a quarter, even over that of the load
(`benchmarks/gate_speed.py` measures what is left).  It does not see waiting, so where a server searches the wall's
is taken.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from gigamind.errors import GigamindError
from gigamind.records.schema import SpeedReport

Asked = TypeVar("Asked")
_MOST_QUERIES = 24
_STEPS = 2_500
_SORTED = 6_000
Numbers = npt.NDArray[np.float32]
_LOAD_MS = 20.0  # of the load before one query, at most


def load() -> float:
    """One unit of the fixed load, about two milliseconds on one core; always the same work.

    A third each of Python and sorting, of a pass through memory that no cache holds, and of products of a matrix that
    one does, for a busy neighbour slows these down by different factors, and a search is made of all of them: without
    the latter two the cost of equal searches drifted by eight percent with what else ran, with them by four.
    """
    state = 1
    for step in range(_STEPS):
        state = (state * 48_271 + step) % 2_147_483_647
    numbers, matrix, vector = _numbers()
    total = float(np.argsort(numbers[:_SORTED])[0]) + float(numbers.sum())
    for _ in range(3):
        total += float(
            np.einsum("ij,j->i", matrix, vector)[0]
        )  # no BLAS, which may take other cores
    return state + total


@cache
def _numbers() -> tuple[Numbers, Numbers, Numbers]:
    """What passes through memory, 8 MB; a matrix of 4 MB; a vector for it.  Equal on any machine."""
    period = (np.arange(1_009, dtype=np.int64) * 48_271 % 1_009).astype(np.float32)
    numbers = np.resize(period, 2_000_000)
    return numbers, numbers[:1_048_576].reshape(512, 2_048), numbers[:2_048]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        passes: after one that only warms up; fewer when the time is over.
        seed: of the order in which queries are taken.
        limit_ms: of the clock, for it all.  A busy machine makes the wall's longer: what lasts three times as long ends
            after six passes.
        clock: see the module.
    """

    passes: int
    seed: int
    limit_ms: float
    clock: Literal["cpu", "wall"] = "cpu"

    @classmethod
    def within(
        cls, run_ms: float, passes: int, seed: int, clock: Literal["cpu", "wall"]
    ) -> "Effort":
        """A quarter of the run's time, from 0.3 seconds to two; a twentieth of one that took over 40."""
        limit_ms = max(300.0, min(2_000.0, run_ms / 4), run_ms / 20)
        return cls(passes, seed, limit_ms, clock)


def measure_speed(
    queries: Mapping[str, Asked], search: Callable[[Asked], object], effort: Effort
) -> SpeedReport | None:
    """The cost of some of the queries; None where none can be searched, or Ctrl-C leaves less than two passes.

    Args:
        queries: by id, those that a run could search, as `search` takes them.
    """
    start = time.perf_counter()
    clock = time.process_time if effort.clock == "cpu" else time.perf_counter
    timer = _Timer(search, clock, queries)
    try:
        ids = timer.warm_up(_in_order(queries, effort.seed), effort)
        while ids and len(timer.passes) < effort.passes:
            timer.run(ids)
            if 1000 * (time.perf_counter() - start) > 3 * effort.limit_ms and timer.is_enough:
                break
    except (KeyboardInterrupt, GigamindError):  # what the run found stands without it
        pass
    return timer.report(effort.clock)


def _in_order(queries: Iterable[str], seed: int) -> list[str]:
    """The same for the same queries, and nearly so for nearly the same."""
    return sorted(queries, key=lambda name: hashlib.sha256(f"{seed}\0{name}".encode()).digest())


_ENOUGH = 6  # passes, as a gate on an interval asks for


class _Timer(Generic[Asked]):
    """Times passes.

    Attributes:
        passes: of each, the seconds of one unit of the load, and those of each query.
    """

    def __init__(
        self,
        search: Callable[[Asked], object],
        clock: Callable[[], float],
        queries: Mapping[str, Asked],
    ) -> None:
        self._search, self._clock, self._queries = search, clock, queries
        self.ids: list[str] = []
        self.units = 1
        self.passes: list[tuple[float, list[float]]] = []

    @property
    def is_enough(self) -> bool:
        return len(self.passes) >= _ENOUGH

    def warm_up(self, ids: Sequence[str], effort: Effort) -> list[str]:
        """As many queries as the time allows, searched once; of the load as much as one takes."""
        share_ms = effort.limit_ms / (2 * (effort.passes + 1))  # half of each pass is load
        took = list[float]()
        for name in ids[:_MOST_QUERIES]:
            took.append(self._timed(lambda name=name: self._search(self._queries[name])))
            self.ids.append(name)
            if 1000 * sum(took) > share_ms:
                break
        unit = self._unit()
        most = max(1, int(_LOAD_MS / 1000 / unit))
        self.units = min(most, max(1, round(median(took) / unit))) if took else 1
        return self.ids

    def run(self, ids: Sequence[str]) -> None:
        """One pass."""
        loads, times = 0.0, list[float]()
        for name in ids:
            loads += self._timed(self._load)
            times.append(self._timed(lambda name=name: self._search(self._queries[name])))
        self.passes.append((loads / (len(ids) * self.units), times))

    def _unit(self) -> float:
        """Seconds of one unit of the load, above 0 on a clock as coarse as that of Windows, too (16 ms)."""
        best = min(self._timed(load) for _ in range(3))
        start, units = self._clock(), 0
        while not best:
            load()
            units += 1
            best = (self._clock() - start) / units
        return best

    def _load(self) -> None:
        for _ in range(self.units):
            load()

    def _timed(self, work: Callable[[], object]) -> float:
        start = self._clock()
        work()
        return self._clock() - start

    def report(self, clock: Literal["cpu", "wall"]) -> SpeedReport | None:
        """Without passes in which a coarse clock saw nothing."""
        seen = [(unit, times) for unit, times in self.passes if unit > 0 and sum(times) > 0]
        if not seen:
            return None
        return SpeedReport(
            clock=clock,
            queries=tuple(self.ids),
            query_ms=1000 * median(sum(times) / len(times) for _, times in seen),
            unit_ms=1000 * median(unit for unit, _ in seen),
            costs=tuple(
                tuple(round(seconds / unit, 6) for seconds in times) for unit, times in seen
            ),
        )
