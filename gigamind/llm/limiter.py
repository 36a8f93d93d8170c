"""How many requests go out at once, and how fast: as many as the server bears.

A 429 halves the number in flight, once for all requests that were sent before it, and holds everything back for as
long as `Retry-After` says; each success then adds a little, less near the number that was too many.  Requests and
tokens a minute are paced evenly, so that a limit below 60 a minute holds as well as one above.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gigamind.errors import LlmError
from gigamind.llm.settings import ModelSettings

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


class Limiter:
    """The gate that every request to one model passes.  One event loop, one limiter."""

    def __init__(self, settings: ModelSettings) -> None:
        self._concurrency = Concurrency(settings.max_in_flight)
        self._requests = Pace(settings.requests_per_minute)
        self._tokens = Pace(settings.tokens_per_minute)
        self._closed_until = 0.0
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncGenerator[None]:
        """Wait for a place, hold it for one request that may take `tokens`, and learn from how it ends."""
        await self._enter()
        loop = asyncio.get_running_loop()
        try:
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
        self._closed_until = max(self._closed_until, now + (error.retry_after_s or 0.0))

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
