"""The limiter of requests to one server: how many at a time, how many per minute, how long each may take.

The number of requests that a server computes at a time is unknown.  Any more wait in its queue, time out together and
are sent again, so none ever ends.  The allowed number therefore falls with 429 and time-outs, and rises with answers.
A request that times out although it is alone gets more time, up to a limit.
"""

import asyncio
import heapq
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from gigamind.errors import LlmError
from gigamind.i18n import Message, _, joined, n_
from gigamind.llm.settings import DEFAULT_TIMEOUT_S, ModelSettings

_MARGIN = 3.0  # factor of the time limit over the expected time


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
