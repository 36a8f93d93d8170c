"""Prometheus metrics of the service, and the cost of its evaluations today."""

import functools
import time
from collections.abc import Callable
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gigamind.llm.ledger import Attempt, Ledger
from gigamind.llm.usage import PICO_PER_MICRO

_SECONDS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
_MICRO_PER_USD = 10**6


class Tally(Ledger):
    """A ledger that keeps no rows, because the service runs without end: it passes each row on."""

    def __init__(self, on_row: Callable[[Attempt], None]) -> None:
        super().__init__()
        self._on_row = on_row

    def append(self, attempt: Attempt) -> None:
        self._on_row(attempt)


class Figures:
    """The metrics of one service."""

    def __init__(self, today: Callable[[], str] = lambda: f"{datetime.now(UTC):%F}") -> None:
        registry = self.registry = CollectorRegistry()
        self._today = today
        self._day, self._usd_of_day = today(), 0.0
        count = functools.partial(Counter, registry=registry)
        time_of = functools.partial(Histogram, buckets=_SECONDS, registry=registry)
        self.asks = count("gigamind_asks", "Questions", ["feature", "status"])
        self.streams = Gauge("gigamind_streams", "Answers in progress", registry=registry)
        self.first_byte = time_of("gigamind_first_text_seconds", "Time until the first text")
        text = "Time of quality check and evaluation"
        self.evaluating = time_of("gigamind_evaluation_seconds", text)
        text = "Evaluations by confidence"
        self.evaluations = count("gigamind_evaluations", text, ["confidence"])
        self.calls = count("gigamind_model_calls", "Requests to models", ["role", "status"])
        self.usd = count("gigamind_cost_usd", "Cost of requests with known prices", ["role"])

    def tally(self) -> Tally:
        return Tally(self._count)

    def _count(self, row: Attempt) -> None:
        self.calls.labels(row.role, row.status).inc()
        usd = (row.cost_pico_usd or 0) / PICO_PER_MICRO / _MICRO_PER_USD
        self.usd.labels(row.role).inc(usd)
        if row.role != "answer":
            self._usd_of_day = self.spent_today() + usd

    def spent_today(self) -> float:
        """Return the cost of evaluations since midnight UTC, in USD."""
        if self._today() != self._day:
            self._day, self._usd_of_day = self._today(), 0.0
        return self._usd_of_day

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Timer:
    """Seconds since its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __call__(self) -> float:
        return time.monotonic() - self._start
