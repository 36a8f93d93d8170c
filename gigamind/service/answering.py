"""One question from its notes to its evaluation, as events in the seed's order; a failure ends nothing but itself.

metadata, chunks, [DONE], quality, qa_evaluation.  Who leaves stops the models; who reads slowly slows them down.
"""

import asyncio
import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gigamind.errors import GigamindError, LlmError
from gigamind.judges.protocol import AnswerCase
from gigamind.service.account import Figures, Since
from gigamind.service.asking import Ask, Context, Desk
from gigamind.service.models import Judged, Models
from gigamind.service.options import ServiceOptions

_KEPT = 500  # answers that feedback and `why` may speak of
_BUFFERED = 32  # pieces between a model and a reader
_OFF = "off"
_HASH_BITS = 64


class Event(NamedTuple):
    """A server-sent event; without a name it is a `data:` line alone."""

    name: str
    data: str

    def encode(self) -> bytes:
        """As it is sent; JSON has no line breaks."""
        head = f"event: {self.name}\n" if self.name else ""
        return f"{head}data: {self.data}\n\n".encode("utf-8", "replace")


DONE = Event("", "[DONE]")
HEARTBEAT = b": heartbeat\n\n"


def _event(name: str, value: object) -> Event:
    return Event(name, json.dumps(value, ensure_ascii=False))


@dataclass(slots=True)
class Answered:
    """What is known of an answer, for as long as it is kept."""

    ask: Ask
    context: Context
    text: str = ""
    judged: Judged | None = None
    error: LlmError | None = None
    said: set[str] = field(default_factory=set[str])


class Answering:
    """Answers questions; one event loop."""

    def __init__(
        self, options: ServiceOptions, desk: Desk, models: Models, figures: Figures
    ) -> None:
        self.options = options
        self.desk = desk
        self.models = models
        self.figures = figures
        self._kept: OrderedDict[str, Answered] = OrderedDict()

    def answered(self, answer_id: str) -> Answered | None:
        """One of the last answers."""
        return self._kept.get(answer_id)

    async def begin(self, ask: Ask) -> tuple[str, Answered]:
        """The notes for a question, and the id of its answer.

        Raises:
            GigamindError: they cannot be had.
        """
        context = await self.desk.context(ask)
        answer_id, answered = secrets.token_hex(8), Answered(ask, context)
        self._kept[answer_id] = answered
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return answer_id, answered

    async def whole(self, answered: Answered) -> None:
        """Answer and judge, for a caller that waits for all of it.

        Raises:
            LlmError: there is no answer.
        """

        async def no_one(_: str) -> None:
            return

        answered.text = await self.models.answer(answered.ask, answered.context, no_one)
        answered.judged = await self.judge(answered)

    async def events(self, answer_id: str, answered: Answered) -> AsyncIterator[Event]:
        """The events of a stream."""
        ask, context = answered.ask, answered.context
        yield _event(
            "metadata",
            {
                "answer_id": answer_id,
                "feature": ask.feature,
                "lang": ask.language,
                "matched_notes": context.matched(),
            },
        )
        since, first = Since(), True
        async for piece in self._pieces(answered):
            if first:
                self.figures.first_byte.observe(since())
                first = False
            yield _event("", {"chunk": piece})
        if answered.error:
            error = answered.error
            yield _event("error", {"code": error.code, "message": str(error)})
        yield DONE
        judged = answered.judged = Judged(None, None, {})
        async for name, value in self._judged(answered, judged):
            yield _event(name, value)

    async def _pieces(self, answered: Answered) -> AsyncIterator[str]:
        """The pieces of the answer as they come; where the model fails, `error` says so."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(_BUFFERED)

        async def tell(piece: str) -> None:
            answered.text += piece
            await queue.put(piece)

        async def run() -> None:
            try:
                await self.models.answer(answered.ask, answered.context, tell)
            except LlmError as error:
                answered.error = error
            finally:
                await queue.put(None)

        task = asyncio.create_task(run())
        try:
            while (piece := await queue.get()) is not None:
                yield piece
            await task
        finally:
            task.cancel()

    async def judge(self, answered: Answered) -> Judged:
        """The check, then the evaluation, whatever the check says."""
        judged = Judged(None, None, {})
        async for _ in self._judged(answered, judged):
            pass
        return judged

    async def _judged(
        self, answered: Answered, judged: Judged
    ) -> AsyncIterator[tuple[str, dict[str, Any] | None]]:
        """Name and value of each, as they end; None where there is none, and `judged.why` says why."""
        ask, since = answered.ask, Since()
        case = AnswerCase(ask.content, answered.text, answered.context.sources, ask.language)
        why = self._why_not(answered)
        judged.quality = await _unless_failed(
            lambda: self.models.check(ask, case), why, judged.why, "quality"
        )
        yield "quality", judged.quality
        if not why and not ask.is_evaluated:
            why = "not_search"
        if not why and not case.has_context:
            why = "no_notes"
        evaluation = await _unless_failed(
            lambda: self.models.evaluate(case, ask.language), why, judged.why, "qa_evaluation"
        )
        if evaluation:
            uses = zip(answered.context.ids, answered.context.shifts, strict=True)
            for use, (name, shift) in zip(evaluation["source_coverage"], uses, strict=True):
                use |= {"note_id": name, "utf16_shift": shift}
        judged.evaluation = evaluation
        if not why:
            self.figures.evaluating.observe(since())
        confidence = (evaluation or {}).get("confidence") or "none"
        self.figures.evaluations.labels(confidence).inc()
        yield "qa_evaluation", evaluation

    def _why_not(self, answered: Answered) -> str:
        """Why an answer is not to be judged; "" where it is."""
        options = self.options
        if answered.error:
            return "no_answer"
        if not answered.ask.quality_gate_enabled:
            return _OFF
        drawn = hashlib.sha256(f"{answered.ask.content}\n{answered.text}".encode()).digest()
        if int.from_bytes(drawn[:8]) / 2**_HASH_BITS >= options.evaluate_share:
            return "not_drawn"
        if options.daily_usd is not None and self.figures.spent_today() >= options.daily_usd:
            return "daily_budget"
        return ""


async def _unless_failed(
    judge: Callable[[], Awaitable[dict[str, Any]]], why: str, reasons: dict[str, str], name: str
) -> dict[str, Any] | None:
    """What a judge says; None where it is not asked or fails, which `reasons` then says: an answer is never harmed."""
    if why:
        reasons[name] = why
        return None
    try:
        return await judge()
    except LlmError as error:
        reasons[name] = error.code
    except GigamindError:
        reasons[name] = "error"
    return None
