"""Sends requests: as many at a time as the server takes, each within the budget, each booked.

The one owner of retries: faults of the transport are waited out, everything else fails at once.  Limits are checked
when a wait begins and when it ends; what was sent and never answered is booked with the most that it may have cost.
"""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gigamind.errors import LlmError
from gigamind.llm import tokens
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Client, Request, Usage
from gigamind.llm.faults import TRANSIENT, fault_of
from gigamind.llm.ledger import HTTP, UNFINISHED, Attempt, Ledger
from gigamind.llm.prices import Price
from gigamind.llm.settings import ModelSettings

if TYPE_CHECKING:
    from tenacity import RetryCallState


Result = TypeVar("Result")
_LONGEST_BACKOFF_S = 20.0


async def with_retries(
    attempt: Callable[[], Awaitable[Result]],
    settings: ModelSettings,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Result:
    """The result of the first attempt that the transport lets through; `attempt` is an `async def`.

    Raises:
        LlmError: that of the last attempt, or what `sleep` raises.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    # A new one each time: it keeps the state of one call, and shared between tasks all but one fail.
    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: is_transient(error, settings.max_wait_s)),
        stop=stop_after_attempt(settings.attempts),
        wait=lambda state: _wait_s(state, settings.backoff_s),
        sleep=sleep,
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except LlmError as error:
        asked_s = error.retry_after_s or 0.0
        if error.code not in TRANSIENT or asked_s <= settings.max_wait_s:
            raise
        message = (
            f"{error}; the server asks to wait {asked_s:g} s, longer than --max-wait {settings.max_wait_s:g} allows:"
            " go on later, or raise it"
        )
        raise LlmError(message, *error.args[1:]) from None


def is_transient(error: BaseException, max_wait_s: float) -> bool:
    """Whether waiting may mend it: not when the server asks to wait for longer than that."""
    if not isinstance(error, LlmError) or error.code not in TRANSIENT:
        return False
    return (error.retry_after_s or 0.0) <= max_wait_s


def backoff_s(attempt: int, first_s: float, retry_after_s: float | None) -> float:
    """Seconds to wait after an attempt, from 1: doubled each time, less a bit of chance, never below `Retry-After`."""
    doubled = min(_LONGEST_BACKOFF_S, first_s * 2 ** (attempt - 1))
    return max(doubled * random.uniform(0.5, 1.0), retry_after_s or 0.0)  # noqa: S311


def _wait_s(state: "RetryCallState", first_s: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    retry_after_s = error.retry_after_s if isinstance(error, LlmError) else None
    return backoff_s(state.attempt_number, first_s, retry_after_s)


_MINUTE_S = 60.0
_SLOWLY = 0.05  # of a request a success, above what was too many


class Pace:
    """Spreads an amount a minute evenly over time, in seconds of any clock."""

    def __init__(self, per_minute: int | None) -> None:
        self._seconds_each = _MINUTE_S / per_minute if per_minute else 0.0
        self._free_at = 0.0

    def wait_s(self, now: float, amount: float = 1) -> float:
        """Take `amount`; seconds until it may be used."""
        start = max(now, self._free_at)
        self._free_at = start + amount * self._seconds_each
        return start - now

    def give_back(self, amount: float) -> None:
        """Correct an amount taken too large, or too small if negative."""
        self._free_at -= amount * self._seconds_each


class Concurrency:
    """How many may be in flight: rises with success, halves on a 429."""

    def __init__(self, most: int) -> None:
        self.allowed = float(most)
        self._most = most
        self._too_many = most + 1.0
        self._halved_at = float("-inf")

    def succeeded(self) -> None:
        """One more request was answered."""
        near = self.allowed + 1 >= self._too_many
        step = _SLOWLY if near else 1.0
        self.allowed = min(self._most, self.allowed + step / self.allowed)

    def refused(self, sent_at: float, now: float) -> None:
        """A request sent at `sent_at` got a 429."""
        if sent_at < self._halved_at:
            return  # it was sent before the number was halved, and tells nothing of the new one
        self._too_many = max(2.0, self.allowed)
        self.allowed = max(1.0, self.allowed / 2)
        self._halved_at = now


Waiting = Callable[[], AbstractAsyncContextManager[None]]


class Limiter:
    """The gate that every request to one model passes.  One event loop, one limiter.

    Args:
        waiting: what a wait happens within, such as a limit of time.
    """

    def __init__(self, settings: ModelSettings, waiting: Waiting = nullcontext) -> None:
        self._waiting_for = waiting
        self._max_wait_s = settings.max_wait_s
        self._concurrency = Concurrency(settings.max_in_flight)
        self._requests = Pace(settings.requests_per_minute)
        self._tokens = Pace(settings.tokens_per_minute)
        self._closed_until = 0.0
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncGenerator[None]:
        """Wait for a place, hold it for one request that may take `tokens`, and learn from how it ends."""
        async with self._waiting_for():
            await self._enter()
        loop = asyncio.get_running_loop()
        try:
            async with self._waiting_for():
                await self._wait_for_pace(tokens)
            sent_at = loop.time()
            try:
                yield
            except LlmError as error:
                self._learn(error, sent_at, loop.time())
                raise
            self._concurrency.succeeded()
        finally:
            self._in_flight -= 1
            self._wake()

    def correct(self, tokens: int, used: int) -> None:
        """Tell what a request of `tokens` did use."""
        self._tokens.give_back(tokens - used)

    def _learn(self, error: LlmError, sent_at: float, now: float) -> None:
        if error.code != "rate_limited":
            return
        self._concurrency.refused(sent_at, now)
        asked_s = error.retry_after_s or 0.0
        if (
            asked_s <= self._max_wait_s
        ):  # else that request fails, and need not hold the others back
            self._closed_until = max(self._closed_until, now + asked_s)

    async def _wait_for_pace(self, tokens: int) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        wait = max(self._requests.wait_s(now), self._tokens.wait_s(now, tokens))
        if wait > 0:
            await asyncio.sleep(wait)
        # Once closed, it may be closed for longer: one event would not tell that.
        while (closed := self._closed_until - loop.time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(closed)

    async def _enter(self) -> None:
        if self._in_flight < int(self._concurrency.allowed) and not self._waiting:
            self._in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it had just been let in
                self._in_flight -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._in_flight < int(self._concurrency.allowed):
            place = self._waiting.popleft()
            if not place.done():
                self._in_flight += 1
                place.set_result(None)


@dataclass(slots=True)
class Call:
    """One logical call: all attempts that serve one question.

    Attributes:
        fresh: asked anew on purpose.
        attempts: made so far.
    """

    item_id: str
    key: str
    fresh: bool = False
    attempts: int = 0
    open_row: Attempt | None = field(default=None)


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
        worst = replace(worst, role=self.settings.role).charged(most, self.price, counted=False)
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
        usage, told = self._counted.usage(request, answer)
        row = worst.charged(usage, self.price, counted=told)
        fault = fault_of(answer)
        status = fault.code if fault else "ok"
        row = replace(row, status=status, answered_by=answer.model, fingerprint=answer.fingerprint)
        return fault or answer, row


class Sender(Booking):
    """Sends each request by itself, as many at a time as the server takes."""

    def __init__(
        self,
        settings: ModelSettings,
        client: Client,
        budget: Budget,
        ledger: Ledger,
        price: Price | None,
    ) -> None:
        super().__init__(settings, budget, ledger, price)
        self._client = client
        self._limiter = Limiter(settings, budget.waiting)

    async def send(self, request: Request, call: Call) -> Answer:
        async def attempt() -> Answer:
            return await self._attempt(request, call)

        async def sleep(seconds: float) -> None:
            async with self.budget.waiting():
                await asyncio.sleep(seconds)

        return await with_retries(attempt, self.settings, sleep)

    async def close(self) -> None:
        await self._client.close()

    async def _through(
        self, request: Request, worst: Attempt, call: Call
    ) -> tuple[Answer | BaseException, Attempt]:
        del call
        queued = time.perf_counter()
        sent: float | None = None
        most = worst.prompt_tokens + worst.completion_tokens
        try:
            async with self._limiter.slot(most):
                self.budget.check_time()
                self.ledger.start(worst)
                sent = time.perf_counter()
                answer = await self._client.send(request)
        except BaseException as error:
            if sent is None:
                raise
            row = worst
            if isinstance(error, LlmError):
                row = worst if error.may_cost else worst.free()
                row = replace(row, status=error.code, http_status=error.status)
            return error, timed(row, queued, sent)
        ended, row = self._answered(request, answer, worst)
        self._limiter.correct(most, row.prompt_tokens + row.completion_tokens)
        return ended, timed(row, queued, sent)


def timed(row: Attempt, queued: float, sent: float) -> Attempt:
    """The row with how long it waited, by `time.perf_counter()`, and was on its way since."""
    wait_ms = 1000 * (sent - queued)
    latency_ms = 1000 * (time.perf_counter() - sent)
    return replace(row, wait_ms=round(wait_ms, 3), latency_ms=round(latency_ms, 3))
