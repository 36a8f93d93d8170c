"""Sends requests: as many at a time as the server takes, each within the budget, each booked.

The one owner of retries: faults of the transport are waited out, everything else fails at once.  A time-out beside
others is no fault of the request: it is sent again when fewer are in flight.  Limits are checked when a wait begins and
when it ends; what was sent and never answered is booked with the most that it may have cost.
"""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gigamind.errors import LlmError
from gigamind.llm import tokens
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Client, Request, Usage
from gigamind.llm.faults import TRANSIENT, fault_of
from gigamind.llm.ledger import HTTP, UNFINISHED, Attempt, Ledger
from gigamind.llm.limiter import Gates, Place
from gigamind.llm.prices import Price
from gigamind.llm.settings import DEFAULT_TIMEOUT_S, ModelSettings
from gigamind.llm.speed import MOST_CALLS, PROBE, Speed, measure, told_slots

if TYPE_CHECKING:
    from tenacity import RetryCallState


Result = TypeVar("Result")
_LONGEST_BACKOFF_S = 20.0
_MOST_CROWDED = (
    10  # time-outs beside others, of one request; from 256 in flight to one it takes eight
)
_PROBE_SHARE = 0.1  # of the calls that are left


async def with_retries(
    attempt: Callable[[], Awaitable[Result]],
    settings: ModelSettings,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    hopeless: Callable[[], bool] = lambda: False,
) -> Result:
    """The result of the first attempt that the transport lets through; `attempt` is an `async def`.

    Args:
        hopeless: whether another attempt would end as the last one.

    Raises:
        LlmError: that of the last attempt, or what `sleep` raises.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    # A new one each time: it keeps the state of one call, and shared between tasks all but one fail.
    retrying = AsyncRetrying(
        retry=retry_if_exception(
            lambda error: is_transient(error, settings.max_wait_s) and not hopeless()
        ),
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
        usage, told = self._counted.usage(request, answer)
        row = worst.charged(usage, self.price, counted=told)
        fault = None  # a probe is cut off on purpose
        if worst.role != PROBE:
            fault = fault_of(answer, self.settings.raised_by)
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
        *,
        gates: Gates | None = None,
    ) -> None:
        super().__init__(settings, budget, ledger, price)
        self._client = client
        self.gates = gates or Gates()
        self._limiter = self.gates.gate(settings, budget.waiting)
        self._turns: dict[str, int] = {}

    async def send(self, request: Request, call: Call) -> Answer:
        if self._is_measured:
            await self.measure(request)

        async def attempt() -> Answer:
            while True:
                try:
                    return await self._attempt(request, call)
                except LlmError as error:
                    if not self._may_end_in_time(call, error):
                        raise

        async def sleep(seconds: float) -> None:
            async with self.budget.waiting():
                await asyncio.sleep(seconds)

        try:
            return await with_retries(attempt, self.settings, sleep, lambda: call.hopeless)
        except LlmError as error:
            if not call.place or not call.place.timed_out or call.place.crowded:
                raise
            message = f"{error}; it was sent alone: raise --model-timeout-s, or use a faster server"
            self._limiter.give_up(message)
            raise LlmError(message, *error.args[1:]) from None

    async def measure(self, request: Request) -> Speed | None:
        """The speed of the server, measured once, before the first request; None where that fails, which is told."""
        gate, model = self._limiter, self.settings.model
        async with gate.probing:
            if model not in gate.speeds:
                gate.speeds[model] = await self._probe(request)
            return gate.speeds[model]

    @property
    def _is_measured(self) -> bool:
        """Whether the server is one's own, and leaves anything to be set by its speed."""
        settings = self.settings
        is_fixed = settings.timeout_fixed and settings.in_flight_fixed
        return self.gates.alone and bool(settings.api_base) and not is_fixed

    async def _probe(self, request: Request) -> Speed | None:
        settings, gate = self.settings, self._limiter

        async def send(small: Request) -> Attempt:
            call = Call("", "", role=PROBE)
            await self._attempt(small, call)
            row = call.open_row
            if row is None:
                raise TypeError("an answer without a row")
            self.close_row(call, "ok")
            return row

        def unmeasured(why: object) -> None:
            self.gates.tell(
                f"{settings.model}: its speed could not be measured ({why}):"
                f" {settings.timeout_s:g} s a request (--model-timeout-s),"
                f" {gate.allowed} in flight (--max-in-flight)"
            )

        left = self.budget.calls_left
        if left is not None and _PROBE_SHARE * left < MOST_CALLS:
            unmeasured(f"{left} calls are left, too few for it")
            return None
        prompt, beside = tokens.likely(request), not settings.in_flight_fixed
        try:
            slots = await asyncio.to_thread(told_slots, settings.api_base or "")
            speed = await measure(send, request, prompt, slots, beside=beside)
        except LlmError as error:
            if error.code == "timeout" and not settings.in_flight_fixed:
                gate.begin_with_one()
            unmeasured(error)
            return None
        limit_s = speed.limit_s(prompt, request.max_tokens, settings.max_in_flight)
        if limit_s <= DEFAULT_TIMEOUT_S:
            return speed  # nothing is to be set
        if not settings.in_flight_fixed and speed.slots is not None:
            gate.limit(speed.slots)
        self.gates.tell(
            f"{settings.model}: {speed.describe()}:"
            f" {self._limit_s(request, speed):.0f} s a request (--model-timeout-s),"
            f" {gate.most} in flight (--max-in-flight)"
        )
        return speed

    def _limit_s(self, request: Request, speed: Speed | None) -> float:
        """As long as a request may take, as far as its server was measured."""
        if self.settings.timeout_fixed or speed is None:
            return self.settings.timeout_s
        prompt = tokens.likely(request)
        return speed.limit_s(prompt, request.max_tokens, self._limiter.most)

    def _may_end_in_time(self, call: Call, error: LlmError) -> bool:
        """Whether a request that had no answer in time may have one the next time, at once."""
        place = call.place
        if error.code != "timeout" or place is None or not place.timed_out or call.role == PROBE:
            return False
        if call.hopeless:
            return False
        if place.crowded:
            call.crowded += 1
            return call.crowded <= _MOST_CROWDED
        if self.settings.timeout_fixed or not self.settings.api_base:
            return False  # a provider that stalls will not be faster for more patience
        longer = self._limiter.wait_longer(place, place.limit_s)
        call.hopeless = not longer
        return longer

    async def close(self) -> None:
        await self._client.close()

    async def _through(
        self, request: Request, worst: Attempt, call: Call
    ) -> tuple[Answer | BaseException, Attempt]:
        queued = time.perf_counter()
        sent: float | None = None
        most = worst.prompt_tokens + worst.completion_tokens
        turn = self._turns.setdefault(call.item_id, len(self._turns))
        limited = request
        call.place = None
        try:
            async with self._limiter.slot(most, turn) as place:
                if limited.timeout_s is None:
                    speed = self._limiter.speeds.get(self.settings.model)
                    limited = replace(
                        request, timeout_s=place.within(self._limit_s(request, speed))
                    )
                call.place = place
                self.budget.check_time()
                self.ledger.start(worst)
                sent = time.perf_counter()
                answer = await self._client.send(limited)
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
