"""The limits of a run: dollars, calls, minutes.  The upper bound of a call is reserved before it and settled after it.

Spending can exceed the limit only by the estimation errors of the calls in flight.
A call waits if others may leave room for it, and ends in `budget_exceeded` if not.  A budget belongs to one event loop.

An item with several calls is useful only if all of them succeed.  With limited calls or dollars, an item therefore
starts only if the items in progress can finish, assuming that each call costs as much as the most expensive so far.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

from gigamind.errors import LlmError
from gigamind.i18n import _, n_
from gigamind.llm.ledger import PICO_PER_MICRO, Totals, micro_usd
from gigamind.llm.settings import ModelOptions

_SECONDS = 60.0
_MICRO_PER_USD = 10**6


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run; None means unlimited."""

    micro_usd: int | None = None
    calls: int | None = None  # HTTP attempts, including failed ones
    minutes: float | None = None  # time since the first call

    @property
    def holds_items(self) -> bool:
        """Whether an item waits until the items before it can finish."""
        return self.calls is not None or self.micro_usd is not None


@dataclass(slots=True, eq=False)  # an item removes its own claim, not an equal one
class _Claim:
    calls: int


_claim: ContextVar[_Claim | None] = ContextVar("_claim", default=None)


class Budget:
    """The spent and reserved amounts, and the remaining part of the limits.

    Args:
        spent_pico_usd: Amount spent by the resumed run.
        calls: Calls of the resumed run.
        began: Start of the time limit in seconds since the epoch; None for the time of the first call.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        spent_pico_usd: int = 0,
        calls: int = 0,
        began: float | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.spent_pico_usd = spent_pico_usd
        self._unreported = 0  # of it, upper bounds of unknown outcomes
        self.calls = calls
        self._reserved = 0
        # `began` is from the wall clock; from here on the monotonic clock counts, which nobody can change.
        self._started = None if began is None else time.monotonic() - max(0.0, time.time() - began)
        self._changed = asyncio.Condition()
        self._next = asyncio.Lock()
        self._claims: list[_Claim] = []
        usd = self.limits.micro_usd
        self._cap = math.inf if usd is None else usd * PICO_PER_MICRO
        self._dearest = math.inf  # highest upper bound of a call so far; unknown before the first

    @property
    def calls_left(self) -> int | None:
        """Remaining HTTP attempts; None if unlimited."""
        return None if self.limits.calls is None else max(0, self.limits.calls - self.calls)

    @property
    def left_s(self) -> float | None:
        """Remaining seconds for sending requests; None if unlimited."""
        if self.limits.minutes is None:
            return None
        now = time.monotonic()
        started = now if self._started is None else self._started
        return max(0.0, started + self.limits.minutes * _SECONDS - now)

    @asynccontextmanager
    async def whole(self, calls: int) -> AsyncGenerator[None]:
        """Reserve room for all calls of one item, waiting for it; raise LlmError `budget_exceeded` if time is up."""
        claim = _Claim(calls)
        # In the order of the items, so that none overtakes a larger one.
        async with self._next, self._changed:
            while self._claims and self._lacks(calls + sum(known.calls for known in self._claims)):
                async with self.waiting():
                    await self._changed.wait()
            self._claims.append(claim)
        begun = _claim.set(claim)
        try:
            yield
        finally:
            _claim.reset(begun)
            async with self._changed:
                self._claims.remove(claim)
                self._changed.notify_all()

    def _lacks(self, calls: int) -> bool:
        if self.calls_left is not None and self.calls_left < calls:
            return True
        return self.spent_pico_usd + self._reserved + calls * self._dearest > self._cap

    async def reserve(self, pico_usd: int) -> None:
        """Reserve the upper bound of a call's cost; raise LlmError `budget_exceeded` if a limit has no room."""
        async with self._changed:
            self.start()
            while not self._fits(pico_usd):
                async with self.waiting():
                    await self._changed.wait()
            self._reserved += pico_usd
            self.calls += 1
            self._count(-1)
            if self._dearest == math.inf or pico_usd > self._dearest:
                self._dearest = pico_usd
                self._changed.notify_all()

    def start(self) -> None:
        """Start the time limit, unless it has started."""
        if self._started is None:
            self._started = time.monotonic()

    async def settle(
        self, reserved_pico_usd: int, spent_pico_usd: int, *, is_reported: bool = True
    ) -> None:
        """Release a reservation and record the cost of the call, or its upper bound if the server did not report it."""
        async with self._changed:
            self._reserved -= reserved_pico_usd
            self.spent_pico_usd += spent_pico_usd
            self._unreported += 0 if is_reported else spent_pico_usd
            self._changed.notify_all()

    async def give_back(self, reserved_pico_usd: int) -> None:
        """Undo `reserve` for a call that was never sent."""
        async with self._changed:
            self.calls -= 1
            self._count(1)
            self._reserved -= reserved_pico_usd
            self._changed.notify_all()

    def check_time(self) -> None:
        """Raise LlmError `budget_exceeded` if the time is up."""
        if self.left_s == 0:
            raise self._too_late()

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None]:
        """Wait before a request; raise LlmError `budget_exceeded` when the time is up."""
        limit = asyncio.timeout(self.left_s)
        try:
            async with limit:
                yield
        except TimeoutError:
            if limit.expired():
                raise self._too_late() from None
            raise

    async def sleep(self, seconds: float) -> None:
        """Wait, as in `waiting`."""
        async with self.waiting():
            await asyncio.sleep(seconds)

    def _count(self, calls: int) -> None:
        if claim := _claim.get():
            claim.calls = max(0, claim.calls + calls)

    def _fits(self, pico_usd: int) -> bool:
        """Return whether a call can start; False while other calls may still leave room for it."""
        limits = self.limits
        if limits.calls is not None and self.calls >= limits.calls:
            raise _exceeded(n_("{n} model request", "{n} model requests", n=limits.calls))
        self.check_time()
        if self.spent_pico_usd + pico_usd > self._cap:
            amounts = (self.spent_pico_usd - self._unreported, self._unreported, pico_usd)
            spent, unreported, next_call = (micro_usd(x) / 1e6 for x in amounts)
            message = _(
                "{limit:g} USD ({spent:g} USD reported by servers, {reserved:g} USD reserved for requests of unknown"
                " cost; the next request may cost up to {next_call:g} USD)",
                limit=(limits.micro_usd or 0) / 1e6,
                spent=spent,
                reserved=unreported,
                next_call=next_call,
            )
            raise _exceeded(message)
        return self.spent_pico_usd + self._reserved + pico_usd <= self._cap

    def _too_late(self) -> LlmError:
        return _exceeded(_("{minutes:g} minutes", minutes=self.limits.minutes))

    @classmethod
    def of(cls, options: ModelOptions, spent: Totals | None = None) -> Self:
        """Return the budget of a run, shared by all its models; `spent` are the totals of the resumed run."""
        usd = options.max_cost_usd
        limits = Limits(
            None if usd is None else round(usd * _MICRO_PER_USD),
            options.max_calls,
            options.max_minutes,
        )
        return cls(
            limits,
            spent_pico_usd=spent.pico_usd if spent else 0,
            calls=spent.http_calls if spent else 0,
        )


def _exceeded(limit: str) -> LlmError:
    return LlmError("a limit on model requests is reached: {limit}", "budget_exceeded", limit=limit)
