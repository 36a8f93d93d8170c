"""The gate of the requests to one server: how many at a time, how many a minute, how long each may take.

Nobody knows beforehand how many requests a server computes at a time.  More of them than that wait in its queue, run
out of time together, are sent again, and none ever ends: so their number falls with 429 and with time-outs, and rises
with answers.  A request that runs out of time though it is alone needs more time, and gets it, up to a limit.
"""

import asyncio
import heapq
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from itertools import count

from gigamind.errors import LlmError
from gigamind.llm.booking import LONGEST_S, Place
from gigamind.llm.settings import ModelSettings
from gigamind.llm.speed import Speed

_MINUTE_S = 60.0
_SLOWLY = 0.05  # of a request a success, above what was too many
_MOST_PATIENCE = 8.0
_WORTH_TELLING_S = 5.0


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

    def rest_s(self, now: float) -> float:
        """Seconds until the next may be taken."""
        return max(0.0, self._free_at - now)

    def give_back(self, amount: float) -> None:
        """Correct an amount taken too large, or too small if negative."""
        self._free_at -= amount * self._seconds_each


class Concurrency:
    """How many may be in flight: rises with success, halves on a 429 and on a time-out in company."""

    def __init__(self, most: int) -> None:
        self.allowed = float(most)
        self.most = most
        self._too_many = most + 1.0
        self._halved_at = float("-inf")

    def succeeded(self) -> None:
        """One more request was answered."""
        near = self.allowed + 1 >= self._too_many
        step = _SLOWLY if near else 1.0
        self.allowed = min(self.most, self.allowed + step / self.allowed)

    def refused(self, sent_at: float, now: float) -> None:
        """A request sent at `sent_at` was one too many."""
        if sent_at < self._halved_at:
            return  # it was sent before the number was halved, and tells nothing of the new one
        self._too_many = max(2.0, self.allowed)
        self.allowed = max(1.0, self.allowed / 2)
        self._halved_at = now

    def limit(self, most: int) -> None:
        """No more than so many from now on."""
        self.most = most
        self.allowed = min(self.allowed, float(most))


Waiting = Callable[[], AbstractAsyncContextManager[None]]
Tell = Callable[[str], None]


def _nobody(*_told: str) -> None:
    """Told something, does nothing."""


class Limiter:
    """The gate that every request to one server passes.  One event loop, one limiter.

    Args:
        waiting: what a wait happens within, such as a limit of time.
        tell: told what a person who waits should know.
        changed: called when `describe` may say something else.

    Attributes:
        timeouts: requests so far that had no answer in their time.
        refusals: the same of 429.
        speeds: of its models, as far as they were measured; None where that failed.
        probing: held while one is.
    """

    def __init__(
        self,
        settings: ModelSettings,
        waiting: Waiting = nullcontext,
        tell: Tell = _nobody,
        changed: Callable[[], None] = _nobody,
    ) -> None:
        self.timeouts = self.refusals = 0
        self.speeds: dict[str, Speed | None] = {}
        self.probing = asyncio.Lock()
        self._waiting_for = waiting
        self.tell = tell
        self._changed = changed
        self._max_wait_s = settings.max_wait_s
        self._concurrency = Concurrency(settings.max_in_flight)
        self._requests = Pace(settings.requests_per_minute)
        self._tokens = Pace(settings.tokens_per_minute)
        self._closed_until = 0.0
        self._in_flight = self._entries = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()
        self._patience = 1.0
        self._answered = False
        self._silence = ""

    @property
    def allowed(self) -> int:
        """Requests that may be in flight now."""
        return int(self._concurrency.allowed)

    @property
    def most(self) -> int:
        """Requests that may be in flight when all goes well."""
        return self._concurrency.most

    def limit(self, most: int) -> None:
        """No more than so many in flight from now on."""
        self._concurrency.limit(most)

    def begin_with_one(self) -> None:
        """One in flight, and more as they are answered: nothing is known of the server, but that it is slow."""
        self._concurrency.allowed = 1.0

    def describe(self) -> str:
        """What is the matter with the server, in a few words; empty when all goes well."""
        troubles = ((self.timeouts, "time-out"), (self.refusals, "refusal (429)"))
        phrases = [
            f"{n} {what}{'s' if n > 1 and what[-1] != ')' else ''}" for n, what in troubles if n
        ]
        closed_s = self._closed_until - time.monotonic()
        if closed_s > 1:
            phrases.append(f"waits for {closed_s:.0f} s, as the server asks")
        if phrases and self.allowed < self.most:
            phrases.append(f"the server is slow: --max-in-flight {self.allowed}")
        return ", ".join(phrases)

    @asynccontextmanager
    async def slot(self, tokens: int, turn: int = 0) -> AsyncGenerator[Place]:
        """Wait for a place, hold it for one request that may take `tokens`, and learn from how it ends.

        Args:
            turn: of those that wait, the lowest comes first.

        Raises:
            LlmError: with code `not_asked`: the server has never answered, however long it was waited for.
        """
        async with self._waiting_for():
            await self._enter(turn)
        try:
            async with self._waiting_for():
                await self._wait_for_pace(tokens)
            if self._silence:
                raise LlmError(f"not asked: {self._silence}", "not_asked")
            self._entries += 1
            place = Place(self._patience, self._in_flight > 1, self._entries)
            sent_at = time.monotonic()
            try:
                yield place
            except LlmError as error:
                self._learn(error, place, sent_at)
                self._changed()
                raise
            self._answered = True
            self._concurrency.succeeded()
        finally:
            self._in_flight -= 1
            self._wake()

    @property
    def rest_s(self) -> float:
        """Seconds until the pace allows the next request."""
        now = time.monotonic()
        return max(self._requests.rest_s(now), self._tokens.rest_s(now))

    def correct(self, tokens: int, used: int) -> None:
        """Tell what a request of `tokens` did use."""
        self._tokens.give_back(tokens - used)

    def wait_longer(self, place: Place, waited_s: float) -> bool:
        """Whether a request that was alone, and had no answer in that time, may take more of it now."""
        if place.patience < self._patience:
            return True  # it was raised since that was sent
        if place.patience >= _MOST_PATIENCE or waited_s >= LONGEST_S:
            return False
        self._patience *= 2
        self.tell(
            f"no answer within {waited_s:.4g} s to one request alone: twice as long from now on (--model-timeout-s)"
        )
        return True

    def give_up(self, why: str) -> None:
        """One request alone was tried in vain: where none was ever answered, no other is sent."""
        if not self._answered:
            self._silence = why

    def _learn(self, error: LlmError, place: Place, sent_at: float) -> None:
        now = time.monotonic()
        if error.code == "timeout":
            self.timeouts += 1
            place.timed_out = True
            place.crowded |= self._in_flight > 1 or self._entries > place.entries
            if place.crowded:
                self._concurrency.refused(sent_at, now)
            return
        self._answered |= error.status is not None
        if error.code != "rate_limited":
            return
        self.refusals += 1
        self._concurrency.refused(sent_at, now)
        asked_s = error.retry_after_s or 0.0
        if asked_s > self._max_wait_s:
            return  # that request fails, and need not hold the others back
        if asked_s >= _WORTH_TELLING_S and now + asked_s > self._closed_until + 1:
            self.tell(f"the server asks to wait for {asked_s:g} s (Retry-After)")
        self._closed_until = max(self._closed_until, now + asked_s)

    async def _wait_for_pace(self, tokens: int) -> None:
        now = time.monotonic()
        wait = max(self._requests.wait_s(now), self._tokens.wait_s(now, tokens))
        if wait > 0:
            await asyncio.sleep(wait)
        # Once closed, it may be closed for longer: one event would not tell that.
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
            if place.done() and not place.cancelled():  # it had just been let in
                self._in_flight -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._in_flight < self.allowed:
            _, _, place = heapq.heappop(self._waiting)
            if not place.done():
                self._in_flight += 1
                place.set_result(None)


class Gates:
    """The gates of a run, one for each server that is named by its address, and for each model of a provider.

    Attributes:
        tell: told what a person who waits should know.
        changed: called when `describe` may say something else.
        alone: no other process asks for the same run: only then can the speed of a server be measured.
    """

    def __init__(self, tell: Tell = _nobody, *, alone: bool = True) -> None:
        self.tell = tell
        self.alone = alone
        self.changed: Callable[[], None] = _nobody
        self._limiters: dict[str, Limiter] = {}

    def gate(self, settings: ModelSettings, waiting: Waiting) -> Limiter:
        """That of a model."""
        server = settings.api_base or settings.model
        if server not in self._limiters:
            # Both may be set later.
            tell: Tell = lambda line: self.tell(line)  # noqa: E731, PLW0108
            self._limiters[server] = Limiter(settings, waiting, tell, lambda: self.changed())  # noqa: PLW0108
        return self._limiters[server]

    @property
    def limiters(self) -> list[Limiter]:
        """All that were opened so far."""
        return list(self._limiters.values())

    def describe(self) -> str:
        """What is the matter with the servers, in a few words; empty when all goes well."""
        return "; ".join(filter(None, (limiter.describe() for limiter in self.limiters)))
