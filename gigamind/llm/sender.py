"""Send requests: as many at a time as the server handles, each within the budget and recorded.

Transport errors are retried, all others fail at once.  A time-out among other requests is not the request's fault: it
is sent again when fewer are in flight.  Limits are checked at the start and the end of a wait.  A request that was sent
and never answered is charged with its upper bound.
"""

import asyncio
import time
from dataclasses import replace

from gigamind.errors import LlmError
from gigamind.i18n import _, n_
from gigamind.llm import tokens
from gigamind.llm.booking import Booking, Call, timed
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Client, Request
from gigamind.llm.faults import with_retries
from gigamind.llm.ledger import Attempt, Ledger
from gigamind.llm.limiter import Gates
from gigamind.llm.settings import DEFAULT_TIMEOUT_S, ModelSettings
from gigamind.llm.speed import MOST_CALLS, PROBE, Speed, measure, reported_slots
from gigamind.llm.usage import Price

_MOST_CROWDED = 10  # time-outs of one request among others; from 256 in flight to one takes eight
_PROBE_SHARE = 0.1  # of the remaining calls


class Sender(Booking):
    """Sends each request by itself, as many at a time as the server handles."""

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
            message = _(
                "{reason}. The server was slow although no other request was running. Raise --model-timeout-s, or"
                " use a faster server.",
                reason=error.message,
            )
            self._limiter.give_up(message)
            raise LlmError(message, *error.args[1:]) from None

    async def measure(self, request: Request) -> Speed | None:
        """Return the speed of the server, measured once before the first request; None if that fails."""
        gate, model = self._limiter, self.settings.model
        async with gate.probing:
            if model not in gate.speeds:
                gate.speeds[model] = await self._probe(request)
            return gate.speeds[model]

    @property
    def _is_measured(self) -> bool:
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

        def unmeasured(why: str) -> None:
            message = _(
                "{model}: the server's speed could not be measured ({reason}). gigamind uses a time limit of"
                " {seconds:g} s per request (--model-timeout-s) and a maximum of {allowed} concurrent requests"
                " (--max-in-flight)",
                model=settings.model,
                reason=why,
                seconds=settings.timeout_s,
                allowed=gate.allowed,
            )
            self.gates.tell(message)

        left = self.budget.calls_left
        if left is not None and _PROBE_SHARE * left < MOST_CALLS:
            unmeasured(
                n_(
                    "only {n} request is left within --max-calls",
                    "only {n} requests are left within --max-calls",
                    n=left,
                )
            )
            return None
        prompt, beside = tokens.likely(request), not settings.in_flight_fixed
        try:
            slots = await asyncio.to_thread(reported_slots, settings.api_base or "")
            speed = await measure(send, request, prompt, slots, beside=beside)
        except LlmError as error:
            if error.code == "timeout" and not settings.in_flight_fixed:
                gate.start_slowly()
            unmeasured(error.message)
            return None
        limit_s = speed.limit_s(prompt, request.max_tokens, settings.max_in_flight)
        if limit_s <= DEFAULT_TIMEOUT_S:
            return speed  # no setting needs to change
        if not settings.in_flight_fixed and speed.slots is not None:
            gate.limit(speed.slots)
        message = _(
            "{model}: measured speed: {speed}. gigamind uses a time limit of {seconds:.0f} s per request"
            " (--model-timeout-s) and a maximum of {allowed} concurrent requests (--max-in-flight)",
            model=settings.model,
            speed=speed.describe(),
            seconds=self._limit_s(request, speed),
            allowed=gate.most,
        )
        self.gates.tell(message)
        return speed

    def _limit_s(self, request: Request, speed: Speed | None) -> float:
        if self.settings.timeout_fixed or speed is None:
            return self.settings.timeout_s
        prompt = tokens.likely(request)
        return speed.limit_s(prompt, request.max_tokens, self._limiter.most)

    def _may_end_in_time(self, call: Call, error: LlmError) -> bool:
        place = call.place
        if error.code != "timeout" or place is None or not place.timed_out or call.role == PROBE:
            return False
        if call.hopeless:
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
