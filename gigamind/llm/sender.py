"""Brings one request through: budget, limiter, client, retries; and books every attempt.

An answer that is refused, filtered or cut off is paid for, booked with its code, and raised.  A good one is booked by
the caller, who alone knows whether it passed validation.
"""

import time
from dataclasses import dataclass, field, replace

from gigamind.errors import LlmError
from gigamind.llm import tokens
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Client, Request, Usage
from gigamind.llm.faults import fault_of
from gigamind.llm.ledger import HTTP, Attempt, Ledger
from gigamind.llm.limiter import Limiter
from gigamind.llm.prices import Price
from gigamind.llm.retry import with_retries
from gigamind.llm.settings import ModelSettings


@dataclass(slots=True)
class Call:
    """One logical call: all attempts that serve one question.

    Attributes:
        attempts: made so far.
    """

    item_id: str
    key: str
    attempts: int = 0
    open_row: Attempt | None = field(default=None)


class Sender:
    """Sends the requests of one model."""

    def __init__(
        self,
        settings: ModelSettings,
        client: Client,
        budget: Budget,
        ledger: Ledger,
        price: Price | None,
    ) -> None:
        self._settings = settings
        self._client = client
        self._budget = budget
        self._ledger = ledger
        self._price = price
        self._limiter = Limiter(settings)

    async def send(self, request: Request, call: Call) -> Answer:
        """The answer to a request; its row is left open in `call`.

        Raises:
            LlmError: no answer, or one that is none.
        """

        async def attempt() -> Answer:
            return await self._attempt(request, call)

        return await with_retries(attempt, self._settings)

    def close_row(self, call: Call, status: str) -> None:
        """Book the answer of a call, now that its validation is known; nothing if there is none to book."""
        if call.open_row:
            self._ledger.append(replace(call.open_row, status=status))
            call.open_row = None

    async def _attempt(self, request: Request, call: Call) -> Answer:
        prompt_tokens = tokens.most(request)
        worst = Usage(prompt_tokens, request.max_tokens)
        reserved = self._price.cost_pico_usd(worst) if self._price else 0
        await self._budget.reserve(reserved)
        call.attempts += 1
        row = Attempt(call.item_id, call.attempts, HTTP, "ok", self._settings.model, call.key)
        row = replace(row, cost_pico_usd=0 if self._price else None, role=self._settings.role)
        try:
            answer, row = await self._through(request, row, prompt_tokens + request.max_tokens)
        except BaseException:
            await self._budget.settle(reserved, 0)
            raise
        await self._budget.settle(reserved, row.cost_pico_usd or 0)
        fault = fault_of(answer)
        if fault:
            self._ledger.append(replace(row, status=fault.code))
            raise fault
        call.open_row = row
        return answer

    async def _through(self, request: Request, row: Attempt, most: int) -> tuple[Answer, Attempt]:
        """The answer and its row, charged."""
        asked = sent = time.perf_counter()
        try:
            async with self._limiter.slot(most):
                sent = time.perf_counter()
                answer = await self._client.send(request)
        except LlmError as error:
            row = replace(row, status=error.code, http_status=error.status)
            self._ledger.append(_timed(row, asked, sent))
            raise
        usage = answer.usage or _guessed(request, answer)
        self._limiter.correct(most, usage.prompt_tokens + usage.completion_tokens)
        row = row.charged(usage, self._price, told=answer.usage is not None)
        row = replace(row, answered_by=answer.model, fingerprint=answer.fingerprint)
        return answer, _timed(row, asked, sent)


def _guessed(request: Request, answer: Answer) -> Usage:
    return Usage(tokens.likely(request), tokens.likely_in(answer.text or ""))


def _timed(row: Attempt, asked: float, sent: float) -> Attempt:
    wait_ms = 1000 * (sent - asked)
    latency_ms = 1000 * (time.perf_counter() - sent)
    return replace(row, wait_ms=round(wait_ms, 3), latency_ms=round(latency_ms, 3))
