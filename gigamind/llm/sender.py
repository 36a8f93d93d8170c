"""Send requests: as many at a time as the server handles, each within the budget and recorded.

Transport errors are retried, all others fail at once.  A time-out among other requests is not the request's fault: it
is sent again when fewer are in flight.  Limits are checked at the start and the end of a wait.  A request that was sent
and never answered is charged with its upper bound.
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

from gigamind.errors import LlmError
from gigamind.i18n import _
from gigamind.llm.budget import Budget
from gigamind.llm.client import (
    Answer,
    Counted,
    ParameterRefusedError,
    Request,
    Usage,
    likely_tokens,
    most_tokens,
)
from gigamind.llm.completion import Completions
from gigamind.llm.faults import fault_of, with_retries
from gigamind.llm.ledger import HTTP, UNFINISHED, Attempt, Ledger, Price
from gigamind.llm.limiter import PROBE, Limiters, Place, Speed, measure
from gigamind.llm.settings import DEFAULT_TIMEOUT_S, ModelSettings


@dataclass(slots=True)
class Call:
    """One logical call: all attempts for one question."""

    item_id: str
    key: str
    fresh: bool = False  # whether the call repeats an earlier one on purpose
    role: str = ""  # purpose of the call; by default the role of the settings
    attempts: int = 0
    custom_id: str = ""  # of the current attempt, in a batch
    sent: float | None = None  # when it was sent, by `time.perf_counter()`
    open_row: Attempt | None = None
    place: Place | None = None
    crowded: int = 0  # attempts that timed out while others were in flight
    hopeless: bool = False  # whether a further attempt would end the same way


@dataclass(eq=False)
class Booking(ABC):
    """Sends the requests of one model within the budget and records each; subclasses define the transport."""

    settings: ModelSettings
    budget: Budget
    ledger: Ledger
    price: Price | None
    # parameters that the model rejected
    refused: set[str] = field(default_factory=set[str], init=False)
    _counted: Counted = field(default_factory=Counted, init=False)

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
    async def _through(self, request: Request, worst: Attempt, call: Call) -> Answer:
        """Return the answer, after `call.sent` was set."""

    def close_row(self, call: Call, status: str) -> None:
        """Write the open row of a call, if any, with the result of the validation."""
        if call.open_row:
            self.ledger.append(replace(call.open_row, status=status))
            call.open_row = None

    def _worst(self, request: Request, call: Call) -> Attempt:
        """Return the row of the next attempt if its outcome stays unknown."""
        most = Usage(most_tokens(request), request.max_tokens)
        number, model = call.attempts + 1, self.settings.model
        row = Attempt(call.item_id, number, HTTP, UNFINISHED, model, call.key)
        role = call.role or self.settings.role
        row = replace(row, role=role, custom_id=call.custom_id)
        return row.charged(most, self.price, counted=False)

    async def _attempt(self, request: Request, call: Call) -> Answer:
        row = self._worst(request, call)
        reserved = row.cost_pico_usd or 0
        await self.budget.reserve(reserved)
        queued, call.sent = time.perf_counter(), None
        ended: Answer | BaseException
        try:
            ended = await self._through(request, row, call)
        except BaseException as error:
            if call.sent is None:
                await self.budget.give_back(reserved)
                raise
            ended = error
        call.attempts += 1
        if isinstance(ended, Answer):
            ended, row = self._answered(request, ended, row)
        elif isinstance(ended, LlmError):
            row = row.failed(ended)
        sent = call.sent or queued
        times_s = sent - queued, time.perf_counter() - sent
        wait_ms, latency_ms = (round(1000 * seconds, 3) for seconds in times_s)
        row = replace(row, wait_ms=wait_ms, latency_ms=latency_ms)
        return await self._booked(call, ended, row, reserved)

    async def _booked(
        self, call: Call, ended: Answer | BaseException, row: Attempt, reserved: int
    ) -> Answer:
        """Record the row of an attempt, settle what was reserved, and return the answer or raise the error."""
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
    ) -> tuple[Answer | LlmError, Attempt]:
        usage, counted = self._counted.usage(request, answer)
        row = worst.charged(usage, self.price, counted=counted)
        fault = None  # a probe is truncated on purpose
        if worst.role != PROBE:
            fault = fault_of(answer, self.settings.raised_by)
        status = fault.code if fault else "ok"
        row = replace(row, status=status, answered_by=answer.model, fingerprint=answer.fingerprint)
        return fault or answer, row


_MOST_CROWDED = 10  # time-outs of one request among others; from 256 in flight to one takes eight


@dataclass(eq=False)
class Sender(Booking):
    """Sends each request by itself, as many at a time as the server handles."""

    client: Completions
    limiters: Limiters
    _turns: dict[str, int] = field(default_factory=dict[str, int], init=False)  # by item

    def __post_init__(self) -> None:
        self._limiter = self.limiters.of(self.settings, self.budget.waiting)

    async def send(self, request: Request, call: Call) -> Answer:
        is_fixed = self.settings.timeout_fixed and self.settings.in_flight_fixed
        if self.limiters.alone and self.settings.api_base and not is_fixed:
            await self.measure(request)

        refused: set[str] = set()

        async def attempt() -> Answer:
            while True:
                try:
                    return await self._attempt(request, call)
                except ParameterRefusedError as error:
                    if error.parameter in refused:
                        raise
                    refused.add(error.parameter)
                    self.refused.add(error.parameter)
                except LlmError as error:
                    if not self._may_end_in_time(call, error):
                        raise

        try:
            return await with_retries(
                attempt, self.settings, self.budget.sleep, lambda: call.hopeless
            )
        except LlmError as error:
            if error.code != "timeout" or not call.place or call.place.crowded:
                raise
            message = _(
                "{reason}. The server was slow although no other request was running. Raise --model-timeout-s, or"
                " use a faster server.",
                reason=error.message,
            )
            self._limiter.give_up(message)
            raise LlmError(message, *error.args[1:]) from None

    async def measure(self, request: Request) -> Speed | None:
        """Return the speed of the server, measured once before the first request; None if that fails."""
        limiter, model = self._limiter, self.settings.model
        async with limiter.probing:
            if model not in limiter.speeds:
                limiter.speeds[model] = await self._probe(request)
            return limiter.speeds[model]

    async def _probe(self, request: Request) -> Speed | None:
        settings, limiter = self.settings, self._limiter

        async def send(small: Request) -> Attempt:
            call = Call("", "", role=PROBE)
            await self._attempt(small, call)
            row = call.open_row
            if row is None:
                raise TypeError("an answer without a row")
            self.close_row(call, "ok")
            return row

        prompt, beside = likely_tokens(request), not settings.in_flight_fixed
        try:
            speed = await measure(send, request, prompt, self.budget.calls_left, beside=beside)
        except LlmError as error:
            if error.code == "timeout" and not settings.in_flight_fixed:
                limiter.concurrency.limit(limiter.concurrency.most, 1)
            message = _(
                "{model}: the server's speed could not be measured ({reason}). gigamind uses a time limit of"
                " {seconds:g} s per request (--model-timeout-s) and a maximum of {allowed} concurrent requests"
                " (--max-in-flight)",
                model=settings.model,
                reason=error.message,
                seconds=settings.timeout_s,
                allowed=limiter.allowed,
            )
            self.limiters.tell(message)
            return None
        limit_s = speed.limit_s(prompt, request.max_tokens, settings.max_in_flight)
        if limit_s <= DEFAULT_TIMEOUT_S:
            return speed  # no setting needs to change
        if not settings.in_flight_fixed and speed.slots is not None:
            limiter.concurrency.limit(speed.slots)
        message = _(
            "{model}: measured speed: {speed}. gigamind uses a time limit of {seconds:.0f} s per request"
            " (--model-timeout-s) and a maximum of {allowed} concurrent requests (--max-in-flight)",
            model=settings.model,
            speed=speed.describe(),
            seconds=self._limit_s(request, speed),
            allowed=limiter.concurrency.most,
        )
        self.limiters.tell(message)
        return speed

    def _limit_s(self, request: Request, speed: Speed | None) -> float:
        if self.settings.timeout_fixed or speed is None:
            return self.settings.timeout_s
        prompt = likely_tokens(request)
        return speed.limit_s(prompt, request.max_tokens, self._limiter.concurrency.most)

    def _may_end_in_time(self, call: Call, error: LlmError) -> bool:
        place = call.place
        if error.code != "timeout" or place is None or call.role == PROBE or call.hopeless:
            return False
        if place.crowded:
            call.crowded += 1
            return call.crowded <= _MOST_CROWDED
        if self.settings.timeout_fixed or not self.settings.api_base:
            return False  # more time does not help with a provider that stalls
        longer = self._limiter.wait_longer(place, place.limit_s)
        call.hopeless = not longer
        return longer

    async def close(self) -> None:
        await self.client.close()

    async def _through(self, request: Request, worst: Attempt, call: Call) -> Answer:
        most = worst.prompt_tokens + worst.completion_tokens
        turn = self._turns.setdefault(call.item_id, len(self._turns))
        call.place = None
        async with self._limiter.slot(most, turn) as place:
            if request.timeout_s is None:
                speed = self._limiter.speeds.get(self.settings.model)
                timeout_s = place.within(self._limit_s(request, speed))
                request = replace(request, timeout_s=timeout_s)
            call.place = place
            self.budget.check_time()
            self.ledger.start(worst)
            call.sent = time.perf_counter()
            return await self.client.send(request)

    def _answered(
        self, request: Request, answer: Answer, worst: Attempt
    ) -> tuple[Answer | LlmError, Attempt]:
        ended, row = super()._answered(request, answer, worst)
        used = row.prompt_tokens + row.completion_tokens
        self._limiter.correct(worst.prompt_tokens + worst.completion_tokens, used)
        return ended, row
