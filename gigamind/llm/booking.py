"""Accounting of one call: reserve its upper bound, write a row for every attempt, return what was not used.

How a request is sent is left to others: one by one (`sender.py`) or in a batch file (`batches/batcher.py`).
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

from gigamind.llm import tokens
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Request
from gigamind.llm.faults import fault_of
from gigamind.llm.ledger import HTTP, UNFINISHED, Attempt, Ledger
from gigamind.llm.settings import ModelSettings
from gigamind.llm.speed import PROBE, Speed
from gigamind.llm.usage import Price, Usage

LONGEST_S = 3600.0  # upper limit for the time of any request


@dataclass(slots=True)
class Place:
    """The slot of one request in the limiter, and the result."""

    patience: float  # factor for the expected time of the request
    crowded: bool  # other requests were in flight
    entries: int
    timed_out: bool = False  # whether no answer came within `limit_s` seconds
    limit_s: float = 0.0

    def within(self, seconds: float) -> float:
        """Set and return the time limit of a request that should need at most this many seconds."""
        self.limit_s = min(LONGEST_S, seconds * self.patience)
        return self.limit_s


@dataclass(slots=True)
class Call:
    """One logical call: all attempts for one question."""

    item_id: str
    key: str
    fresh: bool = False  # whether the call repeats an earlier one on purpose
    attempts: int = 0
    open_row: Attempt | None = field(default=None)
    place: Place | None = None
    crowded: int = 0  # attempts that timed out while others were in flight
    hopeless: bool = False  # whether a further attempt would end the same way
    role: str = ""  # purpose of the call; by default the role of the settings


class Booking(ABC):
    """Sends the requests of one model within the budget and records each; subclasses define the transport."""

    def __init__(
        self, settings: ModelSettings, budget: Budget, ledger: Ledger, price: Price | None
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.ledger = ledger
        self.price = price
        self._counted = tokens.Counted()

    async def ready(self) -> None:  # noqa: B027  most are ready at once
        """Wait until the model can be called; raise LlmError if it cannot."""

    async def measure(self, request: Request) -> Speed | None:
        """Return the speed of the server for requests like this one; None if unknown."""
        del request
        return None

    @abstractmethod
    async def send(self, request: Request, call: Call) -> Answer:
        """Return the answer, with its ledger row open in `call`; raise LlmError if there is no usable one."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    @abstractmethod
    async def _through(
        self, request: Request, worst: Attempt, call: Call
    ) -> tuple[Answer | BaseException, Attempt]:
        """Return how a request ended and its charged row; raise only if it was not sent."""

    def close_row(self, call: Call, status: str) -> None:
        """Write the open row of a call, if any, with the result of the validation."""
        if call.open_row:
            self.ledger.append(replace(call.open_row, status=status))
            call.open_row = None

    def mark_repaired(self, call: Call, *, is_repaired: bool) -> None:
        """Record whether the JSON of the last answer had to be repaired."""
        if call.open_row and is_repaired:
            call.open_row = replace(call.open_row, repaired=1)

    async def _attempt(self, request: Request, call: Call) -> Answer:
        most = Usage(tokens.most(request), request.max_tokens)
        number, model = call.attempts + 1, self.settings.model
        worst = Attempt(call.item_id, number, HTTP, UNFINISHED, model, call.key)
        role = call.role or self.settings.role
        worst = replace(worst, role=role).charged(most, self.price, counted=False)
        reserved = worst.cost_pico_usd or 0
        await self.budget.reserve(reserved)
        try:
            ended, row = await self._through(request, worst, call)
        except BaseException:
            await self.budget.give_back(reserved)
            raise
        call.attempts += 1
        if isinstance(ended, Answer):
            call.open_row = row
        else:
            self.ledger.append(row)
        is_reported = row.cost_source != "estimated"
        await self.budget.settle(reserved, row.cost_pico_usd or 0, is_reported=is_reported)
        if isinstance(ended, Answer):
            return ended
        raise ended

    def _answered(
        self, request: Request, answer: Answer, worst: Attempt
    ) -> tuple[Answer | BaseException, Attempt]:
        usage, counted = self._counted.usage(request, answer)
        row = worst.charged(usage, self.price, counted=counted)
        fault = None  # a probe is truncated on purpose
        if worst.role != PROBE:
            fault = fault_of(answer, self.settings.raised_by)
        status = fault.code if fault else "ok"
        row = replace(row, status=status, answered_by=answer.model, fingerprint=answer.fingerprint)
        return fault or answer, row


def timed(row: Attempt, queued: float, sent: float) -> Attempt:
    """Return the row with its waiting and network times, from values of `time.perf_counter()`."""
    wait_ms = 1000 * (sent - queued)
    latency_ms = 1000 * (time.perf_counter() - sent)
    return replace(row, wait_ms=round(wait_ms, 3), latency_ms=round(latency_ms, 3))
