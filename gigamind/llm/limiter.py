"""The limiter of requests to one server: how many at a time, how many per minute, how long each may take.

The number of requests that a server computes at a time is unknown.  Any more wait in its queue, time out together and
are sent again, so none ever ends.  The allowed number therefore falls with 429 and time-outs, and rises with answers.
A request that times out although it is alone gets more time, up to a limit.

The speed of a self-hosted server is measured with small requests.  Some servers compute one request at a time and take
minutes for it, others dozens in seconds.  A short reply, a long prompt and, if it matters, four requests at once show
what a request needs and how many run at once.
"""

import asyncio
import heapq
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from gigamind.errors import LlmError
from gigamind.i18n import Message, _, joined, n_
from gigamind.llm.client import Request
from gigamind.llm.ledger import Attempt
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, DEFAULT_TIMEOUT_S, ModelSettings

PROBE = "probe"
_MOST_CALLS = 7
_SHARE = 0.1  # of the remaining calls
_PROBE_TIMEOUT_S = 120.0  # a server may load its model at the first request
_MARGIN = 3.0  # factor of the time limit over the expected time
_REPLY_TOKENS = 48
_LONG_LINES = 40
_BESIDE = 4
_SLOW_S = 0.2  # time of a short reply; below it, client and network dominate
_ALL_AT_ONCE = 2.5  # replies in the time of one; from here on no limit is assumed


@dataclass(frozen=True, slots=True)
class Speed:
    """The measured speed of a server."""

    prompt_s: float  # seconds per token of a prompt
    completion_s: float  # seconds per token of a reply
    at_once: float = 1.0  # concurrent requests in the time of one, at least 1
    slots: int | None = None  # requests accepted at the same time; None if no limit was seen

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the time of a single request with these tokens."""
        return prompt_tokens * self.prompt_s + completion_tokens * self.completion_s

    def limit_s(self, prompt_tokens: float, completion_tokens: float, in_flight: int) -> float:
        """Return a generous time limit for a request among others, at least the default."""
        alone = self.seconds(prompt_tokens, completion_tokens)
        return max(DEFAULT_TIMEOUT_S, _MARGIN * alone * max(1.0, in_flight / self.at_once))

    def describe(self) -> Message:
        """Return a short description."""
        prompt, completion = (_rate(seconds) for seconds in (self.prompt_s, self.completion_s))
        if self.slots is None:
            return _(
                "{prompt} prompt tokens/s and {completion} reply tokens/s, several requests at a time",
                prompt=prompt,
                completion=completion,
            )
        return n_(
            "{prompt} prompt tokens/s and {completion} reply tokens/s, {n} request at a time",
            "{prompt} prompt tokens/s and {completion} reply tokens/s, {n} requests at a time",
            n=self.slots,
            prompt=prompt,
            completion=completion,
        )


def _rate(seconds: float) -> str:
    per_s = 1 / max(seconds, 1e-6)
    return f"{per_s:.1f}" if per_s < 10 else f"{min(per_s, 9999):.0f}"  # noqa: PLR2004


def _request_of(parameters: Mapping[str, int | float], max_tokens: int, lines: int = 0) -> Request:
    """Return a cheap request; no two begin alike, because servers cache prefixes."""
    mark = secrets.token_hex(4)
    text = "\n".join(f"{number}: {secrets.token_hex(4)}" for number in range(lines))
    task = "Write the numbers from one to a hundred, as words."
    content = f"{mark}\n{text}\n{task}" if lines else f"{mark}\n{task}"
    message = {"role": "user", "content": content}
    return Request((message,), None, {**parameters, "max_tokens": max_tokens}, _PROBE_TIMEOUT_S)


async def measure(
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


_MINUTE_S = 60.0
_SLOWLY = 0.05  # increase per answer near a number that was too high
_MOST_PATIENCE = 8.0
_REPORTED_WAIT_S = 5.0
_LONGEST_S = 3600.0  # upper limit for the time of any request


@dataclass(slots=True)
class Place:
    """The slot of one request in the limiter, and the result."""

    patience: float  # factor for the expected time of the request
    crowded: bool  # other requests were in flight
    entries: int
    limit_s: float = 0.0  # of the request

    def within(self, seconds: float) -> float:
        """Set and return the time limit of a request that should need at most this many seconds."""
        self.limit_s = min(_LONGEST_S, seconds * self.patience)
        return self.limit_s


class _Pace:
    """Spreads an amount per minute evenly over time, in seconds of any clock."""

    def __init__(self, per_minute: int | None) -> None:
        self._seconds_each = _MINUTE_S / per_minute if per_minute else 0.0
        self._free_at = 0.0

    def wait_s(self, now: float, amount: float = 1) -> float:
        """Take `amount` and return the seconds until it can be used."""
        start = max(now, self._free_at)
        self._free_at = start + amount * self._seconds_each
        return start - now

    def rest_s(self, now: float) -> float:
        """Return the seconds until the next amount is available."""
        return max(0.0, self._free_at - now)

    def give_back(self, amount: float) -> None:
        """Return an amount that was not needed (or take more, if negative)."""
        self._free_at -= amount * self._seconds_each


class _Concurrency:
    """The allowed number of requests in flight: rises with answers, halves on 429 and on time-outs among others."""

    def __init__(self, most: int) -> None:
        self.allowed = float(most)
        self.most = most
        self._too_many = most + 1.0
        self._halved_at = float("-inf")

    def succeeded(self) -> None:
        """Record an answered request."""
        near = self.allowed + 1 >= self._too_many
        step = _SLOWLY if near else 1.0
        self.allowed = min(self.most, self.allowed + step / self.allowed)

    def refused(self, sent_at: float, now: float) -> None:
        """Record that a request sent at `sent_at` was one too many."""
        if sent_at < self._halved_at:
            return  # sent before the last halving, so it says nothing about the new number
        self._too_many = max(2.0, self.allowed)
        self.allowed = max(1.0, self.allowed / 2)
        self._halved_at = now

    def limit(self, most: int, allowed: int | None = None) -> None:
        """Allow at most this many, and `allowed` at first."""
        self.most = most
        self.allowed = min(self.allowed, float(most if allowed is None else allowed))


_Waiting = Callable[[], AbstractAsyncContextManager[None]]


def _nobody(*_texts: str) -> None:
    """Do nothing."""


class _Limiter:
    """The limiter of all requests to one server, for one event loop; `waiting` is the context of each wait."""

    def __init__(self, settings: ModelSettings, waiting: _Waiting, limiters: "Limiters") -> None:
        self.timeouts = self.refusals = 0
        self.speeds: dict[str, Speed | None] = {}  # by model; None if the measurement failed
        self.probing = asyncio.Lock()  # held during a measurement
        self._waiting_for = waiting
        self._limiters = limiters
        self._max_wait_s = settings.max_wait_s
        self.concurrency = _Concurrency(settings.max_in_flight)
        self._requests = _Pace(settings.requests_per_minute)
        self._tokens = _Pace(settings.tokens_per_minute)
        self._closed_until = 0.0
        self._in_flight = self._entries = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()
        self._patience = 1.0
        self._answered = False
        self._silence = ""

    @property
    def allowed(self) -> int:
        """Number of requests that can be in flight at present."""
        return int(self.concurrency.allowed)

    def describe(self) -> Message:
        """Return a summary of problems with the server; empty without problems."""
        phrases: list[Message] = []
        if self.timeouts:
            phrases.append(n_("{n} request timed out", "{n} requests timed out", n=self.timeouts))
        if self.refusals:
            phrases.append(
                n_(
                    "{n} request rejected by the server's rate limit (429)",
                    "{n} requests rejected by the server's rate limit (429)",
                    n=self.refusals,
                )
            )
        closed_s = self._closed_until - time.monotonic()
        if closed_s > 1:
            phrases.append(
                _("waiting for {seconds:.0f} s, as requested by the server", seconds=closed_s)
            )
        if phrases and (allowed := self.allowed) < self.concurrency.most:
            phrases.append(
                _(
                    "slow server: concurrent requests reduced to {allowed} (--max-in-flight)",
                    allowed=allowed,
                )
            )
        return joined(phrases, separator=", ")

    @asynccontextmanager
    async def slot(self, tokens: int, turn: int = 0) -> AsyncGenerator[Place]:
        """Hold a slot for a request of up to `tokens` tokens, and learn from its result; the lowest `turn` comes first.

        Raises LlmError (`not_asked`) if the server has never answered even a single request.
        """
        async with self._waiting_for():
            await self._enter(turn)
        try:
            async with self._waiting_for():
                await self._wait_for_pace(tokens)
            if self._silence:
                raise LlmError(_("request not sent: {reason}", reason=self._silence), "not_asked")
            self._entries += 1
            place = Place(self._patience, self._in_flight > 1, self._entries)
            sent_at = time.monotonic()
            try:
                yield place
            except LlmError as error:
                self._learn(error, place, sent_at)
                self._limiters.changed()
                raise
            self._answered = True
            self.concurrency.succeeded()
        finally:
            self._in_flight -= 1
            self._wake()

    @property
    def rest_s(self) -> float:
        """Return the seconds until the rate allows the next request."""
        now = time.monotonic()
        return max(self._requests.rest_s(now), self._tokens.rest_s(now))

    def correct(self, tokens: int, used: int) -> None:
        """Correct the reserved tokens of a request to those used."""
        self._tokens.give_back(tokens - used)

    def wait_longer(self, place: Place, waited_s: float) -> bool:
        """Return whether a request that timed out alone can have more time; raise its limit if so."""
        if place.patience < self._patience:
            return True  # raised since that request was sent
        if place.patience >= _MOST_PATIENCE or waited_s >= _LONGEST_S:
            return False
        self._patience *= 2
        message = _(
            "the server did not answer the only running request within {seconds:.4g} s, so gigamind doubles the"
            " time limit (--model-timeout-s)",
            seconds=waited_s,
        )
        self._limiters.tell(message)
        return True

    def give_up(self, why: str) -> None:
        """Stop sending requests if the server has never answered, not even a single request."""
        if not self._answered:
            self._silence = why

    def _learn(self, error: LlmError, place: Place, sent_at: float) -> None:
        now = time.monotonic()
        if error.code == "timeout":
            self.timeouts += 1
            place.crowded |= self._in_flight > 1 or self._entries > place.entries
            if place.crowded:
                self.concurrency.refused(sent_at, now)
            return
        self._answered |= error.status is not None
        if error.code != "rate_limited":  # HTTP status 429
            return
        self.refusals += 1
        self.concurrency.refused(sent_at, now)
        requested_s = error.retry_after_s or 0.0
        if requested_s > self._max_wait_s:
            return  # that request fails and need not delay the others
        if requested_s >= _REPORTED_WAIT_S and now + requested_s > self._closed_until + 1:
            self._limiters.tell(
                _("the server requests a wait of {seconds:g} s (Retry-After)", seconds=requested_s)
            )
        self._closed_until = max(self._closed_until, now + requested_s)

    async def _wait_for_pace(self, tokens: int) -> None:
        now = time.monotonic()
        wait = max(self._requests.wait_s(now), self._tokens.wait_s(now, tokens))
        if wait > 0:
            await asyncio.sleep(wait)
        # The wait can be extended meanwhile, which a single event would not show.
        while (closed := self._closed_until - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(closed)

    async def _enter(self, turn: int) -> None:
        if self._in_flight < self.allowed and not self._waiting:
            self._in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (turn, next(self._arrivals), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it had just got a slot
                self._in_flight -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._in_flight < self.allowed:
            _turn, _arrival, place = heapq.heappop(self._waiting)
            if not place.done():
                self._in_flight += 1
                place.set_result(None)


@dataclass(eq=False)
class Limiters:
    """The limiters of a run: one for each server named by address, and for each model of a provider."""

    tell: Callable[[str], None] = _nobody  # receives messages for a waiting user
    alone: bool = True  # no other process works on the run, so speed can be measured
    changed: Callable[[], None] = _nobody  # called when `describe` may have changed
    by_server: dict[str, _Limiter] = field(default_factory=dict[str, _Limiter])

    def of(self, settings: ModelSettings, waiting: _Waiting) -> _Limiter:
        """Return the limiter of a model."""
        server = settings.api_base or settings.model
        if server not in self.by_server:
            self.by_server[server] = _Limiter(settings, waiting, self)
        return self.by_server[server]

    def describe(self) -> Message:
        """Return a summary of problems with the servers; empty without problems."""
        return joined(filter(None, (limiter.describe() for limiter in self.by_server.values())))
