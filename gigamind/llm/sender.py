"""Send requests: as many at a time as the server handles, each within the budget and recorded.

Transport errors are retried, all others fail at once.  A request that times out while others are in flight is
sent again when fewer are.  Limits are checked at the start and the end of a wait.  A request that was sent
and never answered is charged with its upper bound.

The speed of a self-hosted server is measured with small requests.  Some servers compute one request at a time and take
minutes for it, others dozens in seconds.  A short reply, a long prompt and, if it matters, four requests at once show
what a request needs and how many run at once.
"""

import asyncio
import json
import math
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from gigamind.errors import LlmError
from gigamind.i18n import _, n_
from gigamind.llm.budget import Budget
from gigamind.llm.client import (
    Answer,
    ParameterRefusedError,
    Request,
    Usage,
    likely_tokens,
    most_tokens,
)
from gigamind.llm.completion import Completions
from gigamind.llm.faults import scrub, with_retries
from gigamind.llm.ledger import HTTP, UNFINISHED, Attempt, Ledger, Price
from gigamind.llm.limiter import Limiters, Place, Speed
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, DEFAULT_TIMEOUT_S, ModelSettings

_PROBE = "probe"
_MOST_CALLS = 7
_SHARE = 0.1  # of the remaining calls
_PROBE_TIMEOUT_S = 120.0  # a server may load its model at the first request
_REPLY_TOKENS = 48
_LONG_LINES = 40
_BESIDE = 4
_SLOW_S = 0.2  # time of a short reply; below it, client and network dominate
_ALL_AT_ONCE = 2.5  # replies in the time of one; from here on no limit is assumed


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


_TEMPLATE = 1_000  # tokens that a server can add to a prompt
_SPARE = 16  # tokens that a server can generate beyond the limit
_MOST_BYTES, _MOST_CHARS = 48, 16  # of a token, on average over a prompt or an answer


class _Counted:
    """Tokens of one model's answers as the server reports them, if plausible; else estimated from those reported."""

    def __init__(self) -> None:
        self._prompt: float | None = None  # highest ratio of reported to likely tokens
        self._completion: float | None = None

    def usage(self, request: Request, answer: Answer) -> tuple[Usage, bool]:
        """Return the tokens of an answer, and whether the server reported all of them plausibly.

        A reported number counts if it is neither above what the request allows nor below what the texts contain.
        """
        reported, text = answer.usage or Usage(0, 0), answer.text or ""
        prompt, completion = reported.prompt_tokens, reported.completion_tokens
        content, form = _bytes(request)  # servers that use the schema as a grammar do not count it
        prompt_fits = content / _MOST_BYTES <= prompt <= content + form + _TEMPLATE
        completion_fits = (
            answer.usage is not None
            and len(text) / _MOST_CHARS <= completion <= request.max_tokens + _SPARE
        )
        cached, written = reported.cached_tokens, reported.written_tokens
        cached_fits = min(cached, written) >= 0 and cached + written <= max(prompt, 0)
        likely_prompt, likely_text = likely_tokens(request), likely_tokens(text)
        if prompt > content + form + _TEMPLATE:
            prompt = content + form
        elif not prompt_fits:
            prompt = _estimate(
                likely_prompt, most_tokens(request), most_tokens(request), self._prompt
            )
        elif cached_fits and completion_fits:
            self._prompt = max(self._prompt or 0.0, prompt / max(likely_prompt, 1))
            self._completion = max(self._completion or 0.0, completion / max(likely_text, 1))
        if completion > request.max_tokens + _SPARE:
            completion = request.max_tokens
        elif not completion_fits:  # the text lacks the thoughts of a reasoning model
            at_most = most_tokens(text)
            limit = max(at_most, request.max_tokens)
            completion = _estimate(likely_text, at_most, limit, self._completion)
        if not cached_fits or not prompt_fits:
            cached = written = 0
        all_fit = prompt_fits and completion_fits and cached_fits
        return Usage(prompt, completion, cached, written), all_fit


def _estimate(likely: int, unknown: int, most: int, ratio: float | None) -> int:
    return unknown if ratio is None else min(most, math.ceil(likely * ratio))


def _bytes(request: Request) -> tuple[int, int]:
    """Return the sizes of the messages and the schema of a request; a token has at least one byte."""
    form = json.dumps(request.form, ensure_ascii=False) if request.form else ""
    texts = (str(message.get("content") or "") for message in request.messages)
    content = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return content, len(form.encode("utf-8", "replace"))


@dataclass(eq=False)
class Booking(ABC):
    """Sends the requests of one model within the budget and records each; subclasses define the transport."""

    settings: ModelSettings
    budget: Budget
    ledger: Ledger
    price: Price | None
    # parameters that the model rejected
    refused: set[str] = field(default_factory=set[str], init=False)
    _counted: _Counted = field(default_factory=_Counted, init=False)

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
        if worst.role != _PROBE:
            fault = _fault_of(answer, self.settings.raised_by)
        status = fault.code if fault else "ok"
        row = replace(row, status=status, answered_by=answer.model, fingerprint=answer.fingerprint)
        return fault or answer, row


def _fault_of(answer: Answer, raised_by: str) -> LlmError | None:
    """Return why an answer is unusable; None if it can be parsed.  `raised_by` raises `max_tokens`."""
    if answer.finish == "none":
        text = _("the server's response contains no model reply (no `choices`)")
        return LlmError(text, "malformed_response")
    if answer.refusal:
        return LlmError(_("the model refused: {reason}", reason=scrub(answer.refusal)), "refused")
    if answer.finish == "content_filter":
        return LlmError(_("the server's content filter blocked the reply"), "content_filtered")
    if answer.finish == "length":
        return LlmError(
            "the model's reply was cut off at the token limit (max_tokens). Raise the limit with {setting}.",
            "truncated",
            setting=raised_by,
        )
    return None


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
            call = Call("", "", role=_PROBE)
            await self._attempt(small, call)
            row = call.open_row
            if row is None:
                raise TypeError("an answer without a row")
            self.close_row(call, "ok")
            return row

        prompt, beside = likely_tokens(request), not settings.in_flight_fixed
        try:
            speed = await _measured(send, request, prompt, self.budget.calls_left, beside=beside)
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
        if error.code != "timeout" or place is None or call.role == _PROBE or call.hopeless:
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


def _request_of(parameters: Mapping[str, int | float], max_tokens: int, lines: int = 0) -> Request:
    """Return a cheap request; no two begin alike, because servers cache prefixes."""
    mark = secrets.token_hex(4)
    text = "\n".join(f"{number}: {secrets.token_hex(4)}" for number in range(lines))
    task = "Write the numbers from one to a hundred, as words."
    content = f"{mark}\n{text}\n{task}" if lines else f"{mark}\n{task}"
    message = {"role": "user", "content": content}
    return Request((message,), None, {**parameters, "max_tokens": max_tokens}, _PROBE_TIMEOUT_S)


async def _measured(
    send: Callable[[Request], Awaitable[Attempt]],
    request: Request,
    prompt_tokens: int,
    calls_left: int | None,
    *,
    beside: bool,
) -> Speed:
    """Return the speed of a server, from the ledger rows of requests like `request`, several `beside` each other.

    Raises LlmError if few calls are left, or as `send`.
    """
    if calls_left is not None and _SHARE * calls_left < _MOST_CALLS:
        reason = n_(
            "only {n} request is left within --max-calls",
            "only {n} requests are left within --max-calls",
            n=calls_left,
        )
        raise LlmError(reason, "not_asked")
    parameters = request.parameters
    await send(_request_of(parameters, 1))  # loads the model and connects
    short = await send(_request_of(parameters, _REPLY_TOKENS))
    long = await send(_request_of(parameters, 1, _LONG_LINES))
    prompt_s, completion_s = _solved(short, long)
    speed = Speed(prompt_s, completion_s)
    alone_s = short.latency_ms / 1000
    usual = speed.limit_s(prompt_tokens, request.max_tokens, DEFAULT_IN_FLIGHT)
    if not beside or alone_s < _SLOW_S or usual <= DEFAULT_TIMEOUT_S:
        return speed  # even if requests queue, each is answered in time
    begun = time.perf_counter()
    sent = [send(_request_of(parameters, _REPLY_TOKENS)) for _number in range(_BESIDE)]
    await asyncio.gather(*sent)
    at_once = max(1.0, _BESIDE * alone_s / (time.perf_counter() - begun))
    limit = None if at_once >= _ALL_AT_ONCE else round(at_once)
    return Speed(prompt_s, completion_s, at_once, limit)


def _solved(short: Attempt, long: Attempt) -> tuple[float, float]:
    """Solve two requests for seconds per token of prompt and of reply; errs towards too long."""
    (p1, c1, t1), (p2, c2, t2) = (
        (row.prompt_tokens, max(1, row.completion_tokens), row.latency_ms / 1000)
        for row in (short, long)
    )
    most_prompt, most_completion = t2 / max(1, p2), t1 / c1
    det = p1 * c2 - p2 * c1
    if det == 0:
        return most_prompt, most_completion
    prompt_s, completion_s = (t1 * c2 - t2 * c1) / det, (p1 * t2 - p2 * t1) / det
    return (
        prompt_s if 0 < prompt_s < most_prompt else most_prompt,
        completion_s if 0 < completion_s < most_completion else most_completion,
    )
