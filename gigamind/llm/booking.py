"""One call and the account: the most that it may cost is reserved, every attempt is a row, the rest is given back.

How a request travels, one by one (`sender.py`) or in a batch file (`batches/sender.py`), is left to others.
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

LONGEST_S = 3600.0  # that any request may take


@dataclass(slots=True)
class Place:
    """Where one request goes through, and how it fared.

    Attributes:
        patience: how many times as long as it should need it may take.
        crowded: others were in flight at some time while it was.
        timed_out: it had no answer in its time, of `limit_s` seconds.
    """

    patience: float
    crowded: bool
    entries: int
    timed_out: bool = False
    limit_s: float = 0.0

    def within(self, seconds: float) -> float:
        """As long as a request may take here that should need so many seconds at most."""
        self.limit_s = min(LONGEST_S, seconds * self.patience)
        return self.limit_s


@dataclass(slots=True)
class Call:
    """One logical call: all attempts that serve one question.

    Attributes:
        fresh: asked anew on purpose.
        attempts: made so far.
        place: of the last of them.
        crowded: those of them that had no answer in time, beside others.
        hopeless: no other attempt would end otherwise.
        role: what it is made for; that of the settings without it.
    """

    item_id: str
    key: str
    fresh: bool = False
    attempts: int = 0
    open_row: Attempt | None = field(default=None)
    place: Place | None = None
    crowded: int = 0
    hopeless: bool = False
    role: str = ""


class Booking(ABC):
    """Sends the requests of one model: each within the budget, each booked.  How they travel is left to others."""

    def __init__(
        self, settings: ModelSettings, budget: Budget, ledger: Ledger, price: Price | None
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.ledger = ledger
        self.price = price
        self._counted = tokens.Counted()

    async def ready(self) -> None:  # noqa: B027  most are ready at once
        """Wait until it may be asked.

        Raises:
            LlmError: it cannot be.
        """

    async def measure(self, request: Request) -> Speed | None:
        """The speed of the server, for requests such as this one; None where nobody knows it."""
        del request
        return None

    @abstractmethod
    async def send(self, request: Request, call: Call) -> Answer:
        """The answer to a request; its row is left open in `call`.

        Raises:
            LlmError: no answer, or one that is none.
        """

    @abstractmethod
    async def close(self) -> None:
        """Close its connections."""

    @abstractmethod
    async def _through(
        self, request: Request, worst: Attempt, call: Call
    ) -> tuple[Answer | BaseException, Attempt]:
        """How a request ended, and its row, charged; raises only what keeps it from being sent."""

    def close_row(self, call: Call, status: str) -> None:
        """Book the answer of a call, now that its validation is known; nothing if there is none to book."""
        if call.open_row:
            self.ledger.append(replace(call.open_row, status=status))
            call.open_row = None

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
        await self.budget.settle(reserved, row.cost_pico_usd or 0)
        if isinstance(ended, Answer):
            return ended
        raise ended

    def _answered(
        self, request: Request, answer: Answer, worst: Attempt
    ) -> tuple[Answer | BaseException, Attempt]:
        usage, counted = self._counted.usage(request, answer)
        row = worst.charged(usage, self.price, counted=counted)
        fault = None  # a probe is cut off on purpose
        if worst.role != PROBE:
            fault = fault_of(answer, self.settings.raised_by)
        status = fault.code if fault else "ok"
        row = replace(row, status=status, answered_by=answer.model, fingerprint=answer.fingerprint)
        return fault or answer, row


def timed(row: Attempt, queued: float, sent: float) -> Attempt:
    """The row with how long it waited, by `time.perf_counter()`, and was on its way since."""
    wait_ms = 1000 * (sent - queued)
    latency_ms = 1000 * (time.perf_counter() - sent)
    return replace(row, wait_ms=round(wait_ms, 3), latency_ms=round(latency_ms, 3))
