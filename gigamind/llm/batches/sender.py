"""Send the requests of one model in batches, within the budget and recorded; none is paid for twice."""

import time
from dataclasses import replace

from gigamind.errors import LlmError
from gigamind.llm.batches.batcher import Batcher, Batches, Entry, provider_of
from gigamind.llm.booking import Booking, Call, timed
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Request
from gigamind.llm.faults import fault_of
from gigamind.llm.ledger import STORE, UNFINISHED, Attempt, Ledger
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import key_of
from gigamind.llm.usage import Price


class BatchSender(Booking):
    """Sends in batches.  A failed request is not retried; `--resume` requests it again.

    Raises:
        InputError: The provider has no batches.
        LlmError: The key is not in the environment.
    """

    def __init__(
        self,
        settings: ModelSettings,
        batches: Batches,
        budget: Budget,
        ledger: Ledger,
        price: Price | None,
    ) -> None:
        super().__init__(settings, budget, ledger, price)
        self._batcher = Batcher(provider_of(settings), batches, self)

    async def ready(self) -> None:
        await self._batcher.ready()

    async def close(self) -> None:
        await self._batcher.close()

    async def send(self, request: Request, call: Call) -> Answer:
        answer = self._batcher.kept(_identity(request, call))
        if answer is None:
            return await self._attempt(request, call)
        call.attempts += 1
        row = Attempt(call.item_id, call.attempts, STORE, "ok", self.settings.model, call.key)
        row = replace(row, role=self.settings.role)
        if fault := fault_of(answer, self.settings.raised_by):
            self.ledger.append(replace(row, status=fault.code))
            raise fault
        call.open_row = row
        return answer

    async def _through(
        self, request: Request, worst: Attempt, call: Call
    ) -> tuple[Answer | BaseException, Attempt]:
        self.budget.check_time()
        entry = Entry(request, worst, _identity(request, call))
        queued = time.perf_counter()
        try:
            answer = await self._batcher.ask(entry)
        except BaseException as error:
            if not entry.started:
                raise
            row = entry.worst
            if isinstance(error, LlmError):
                status = UNFINISHED if error.may_cost else error.code
                row = row if error.may_cost else row.free()
                row = replace(row, status=status, http_status=error.status)
            return error, timed(row, queued, queued)
        ended, row = self._answered(request, answer, entry.worst)
        return ended, timed(row, queued, queued)


def _identity(request: Request, call: Call) -> str:
    return key_of({
        "messages": [dict(message) for message in request.messages],
        "schema": request.form,
        "parameters": dict(request.parameters),
        "item": call.item_id,
        "key": call.key,
        "fresh": call.fresh,
    })  # fmt: skip
