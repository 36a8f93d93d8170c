"""The limit of a run: dollars, calls, minutes.  The worst case is reserved before a call and settled after it.

What is spent can pass the limit only by what an estimate was wrong about one call.  A call for which there is room once
others have ended waits for them; one for which there is none ends in `budget_exceeded`.  One event loop, one budget.

An item that is asked about several times is worth nothing until all of it is: where calls or dollars are limited, an
item begins when those that have begun can end with what is left, were each call as dear as the dearest so far may be.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from gigamind.errors import LlmError
from gigamind.llm.ledger import Totals
from gigamind.llm.options import ModelOptions
from gigamind.llm.usage import PICO_PER_MICRO, micro_usd

_SECONDS = 60.0
_MICRO_PER_USD = 10**6


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use; None for any amount.

    Attributes:
        calls: HTTP attempts, failed ones too.
        minutes: from the first call on.
    """

    micro_usd: int | None = None
    calls: int | None = None
    minutes: float | None = None

    @property
    def holds_items(self) -> bool:
        """Whether an item waits until those before it can end."""
        return self.calls is not None or self.micro_usd is not None


@dataclass(slots=True)
class _Claim:
    """The calls that an item which has begun may still need."""

    calls: int


_claim: ContextVar[_Claim | None] = ContextVar("_claim", default=None)


class Budget:
    """What is spent, what is reserved, and what is left of the limits.

    Args:
        spent_pico_usd: by the run that is being resumed.
        calls: of the run that is being resumed.
        began: when the minutes began, in seconds since the epoch; None: with the first call.
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
        self.calls = calls
        self._reserved = 0
        # The clock of the machine, for others have another; from here on it may be set as it likes.
        self._started = None if began is None else time.monotonic() - max(0.0, time.time() - began)
        self._changed = asyncio.Condition()
        self._next = asyncio.Lock()
        self._claims: list[_Claim] = []
        self._dearest: int | None = None  # of the calls so far, at the most that each could cost

    @property
    def calls_left(self) -> int | None:
        """HTTP attempts that may still be made; None for any number."""
        return None if self.limits.calls is None else max(0, self.limits.calls - self.calls)

    @property
    def left_s(self) -> float | None:
        """Seconds in which requests may still be sent; None for any number."""
        if self.limits.minutes is None:
            return None
        now = time.monotonic()
        started = now if self._started is None else self._started
        return max(0.0, started + self.limits.minutes * _SECONDS - now)

    @asynccontextmanager
    async def whole(self, calls: int) -> AsyncGenerator[None]:
        """Hold room for all calls of one item; wait until there is, or no other item could leave any.

        Raises:
            LlmError: with code `budget_exceeded`: the time is up.
        """
        claim = _Claim(calls)
        async with (
            self._next,
            self._changed,
        ):  # in the order of the items, none overtakes a larger one
            while self._claims and self._lacks(calls + sum(held.calls for held in self._claims)):
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
        """Whether what is left may not do for so many calls."""
        left, cap = self.calls_left, self._cap
        if left is not None and left < calls:
            return True
        if cap is None:
            return False
        if self._dearest is None:  # what the first call may cost is not known yet
            return True
        return self.spent_pico_usd + self._reserved + calls * self._dearest > cap

    @property
    def _cap(self) -> int | None:
        limit = self.limits.micro_usd
        return None if limit is None else limit * PICO_PER_MICRO

    async def reserve(self, pico_usd: int) -> None:
        """Set aside the most that a call may cost.

        Raises:
            LlmError: with code `budget_exceeded`: one of the limits leaves no room for it.
        """
        async with self._changed:
            self.start()
            while not self._fits(pico_usd):
                async with self.waiting():
                    await self._changed.wait()
            self._reserved += pico_usd
            self.calls += 1
            self._count(-1)
            if self._dearest is None or pico_usd > self._dearest:
                self._dearest = pico_usd
                self._changed.notify_all()

    def start(self) -> None:
        """Begin to count the minutes, unless they are counted."""
        if self._started is None:
            self._started = time.monotonic()

    async def settle(self, reserved_pico_usd: int, spent_pico_usd: int) -> None:
        """Give back what `reserve` set aside, and book what the call did cost."""
        async with self._changed:
            self._reserved -= reserved_pico_usd
            self.spent_pico_usd += spent_pico_usd
            self._changed.notify_all()

    async def give_back(self, reserved_pico_usd: int) -> None:
        """Undo `reserve`, for a call that was never sent."""
        async with self._changed:
            self.calls -= 1
            self._count(1)
            self._reserved -= reserved_pico_usd
            self._changed.notify_all()

    def check_time(self) -> None:
        """Refuse what would be sent too late.

        Raises:
            LlmError: with code `budget_exceeded`.
        """
        if self.left_s == 0:
            raise self._too_late()

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None]:
        """A wait before a request; it ends when the time does.

        Raises:
            LlmError: with code `budget_exceeded`.
        """
        limit = asyncio.timeout(self.left_s)
        try:
            async with limit:
                yield
        except TimeoutError:
            if limit.expired():
                raise self._too_late() from None
            raise

    def _count(self, calls: int) -> None:
        if claim := _claim.get():
            claim.calls = max(0, claim.calls + calls)

    def _fits(self, pico_usd: int) -> bool:
        """Whether a call may start now; False while others may still leave room for it."""
        limits = self.limits
        if limits.calls is not None and self.calls >= limits.calls:
            raise _exceeded(f"{limits.calls} calls")
        self.check_time()
        cap = self._cap
        if cap is None:
            return True
        if self.spent_pico_usd + pico_usd > cap:
            limit, spent, next_call = (
                micro_usd(x) / 1e6 for x in (cap, self.spent_pico_usd, pico_usd)
            )
            raise _exceeded(
                f"{limit:g} USD: {spent:g} are spent, and the next call may cost {next_call:g}"
            )
        return self.spent_pico_usd + self._reserved + pico_usd <= cap

    def _too_late(self) -> LlmError:
        return _exceeded(f"{self.limits.minutes:g} minutes")


def _exceeded(limit: str) -> LlmError:
    return LlmError(f"the budget is used up: {limit}", "budget_exceeded")


def budget_of(options: ModelOptions, spent: Totals | None = None) -> Budget:
    """The limits of a run, shared by all its models.

    Args:
        spent: by the run that is being resumed; counts towards the limits.
    """
    usd = options.max_cost_usd
    limits = Limits(
        None if usd is None else round(usd * _MICRO_PER_USD), options.max_calls, options.max_minutes
    )
    return Budget(
        limits,
        spent_pico_usd=spent.pico_usd if spent else 0,
        calls=spent.http_calls if spent else 0,
    )
