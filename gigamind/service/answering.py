"""One question as events: metadata, chunks, [DONE], quality, qa_evaluation; a failed step stops no other step."""

import asyncio
import hashlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gigamind.errors import GigamindError, LlmError
from gigamind.i18n import translator
from gigamind.judges.protocol import AnswerCase
from gigamind.service.asking import Ask, Context, Desk
from gigamind.service.models import Figures, Judged, Models
from gigamind.service.options import ServiceOptions

_MAX_ANSWERS = 500  # kept for feedback and `why`
_BUFFERED = 32  # chunks between a model and a client
_OFF = "off"
_HASH_BITS = 64
_MAIN = ("correctness", "utility", "confidence", "source_coverage", "grounding_issues", "summary")


class Event(NamedTuple):
    """A server-sent event; without a name it is only a `data:` line."""

    name: str
    data: str

    def encode(self) -> bytes:
        """Return the bytes to send; JSON has no line breaks."""
        head = f"event: {self.name}\n" if self.name else ""
        return f"{head}data: {self.data}\n\n".encode("utf-8", "replace")


DONE = Event("", "[DONE]")
HEARTBEAT = b": heartbeat\n\n"


def _event(name: str, value: object) -> Event:
    return Event(name, json.dumps(value, ensure_ascii=False))


@dataclass(slots=True)
class Answered:
    """An answer with its question, context and evaluation."""

    ask: Ask
    context: Context
    text: str = ""
    judged: Judged | None = None
    error: LlmError | None = None


class Answering:
    """Answers questions in one event loop."""

    def __init__(
        self, options: ServiceOptions, desk: Desk, models: Models, figures: Figures
    ) -> None:
        self.options = options
        self.desk = desk
        self.models = models
        self.figures = figures
        self._answers: OrderedDict[str, Answered] = OrderedDict()

    def answered(self, answer_id: str) -> Answered | None:
        return self._answers.get(answer_id)

    async def begin(self, ask: Ask) -> tuple[str, Answered]:
        """Find the notes for a question; return the id of its answer and the answer.

        Raises:
            GigamindError: the notes cannot be found or searched.
        """
        context = await self.desk.context(ask)
        answer_id, answered = secrets.token_hex(8), Answered(ask, context)
        self._answers[answer_id] = answered
        while len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)
        return answer_id, answered

    async def whole(self, answered: Answered) -> None:
        """Answer and judge completely, without streaming.

        Raises:
            LlmError: there is no answer.
        """

        async def ignore(_chunk: str) -> None:
            return

        answered.text = await self.models.answer(answered.ask, answered.context, ignore)
        judged = Judged(None, None, {})
        async for _name, _value in self._judged(answered, judged):
            pass
        answered.judged = judged

    async def events(self, answer_id: str, answered: Answered) -> AsyncIterator[Event]:
        ask, context = answered.ask, answered.context
        question = {"answer_id": answer_id, "feature": ask.feature, "lang": ask.language}
        by = {"scripted": True} if self.figures.scripted else {}
        yield _event("metadata", {**question, **by, "matched_notes": context.matched()})
        start, first = time.monotonic(), True
        async for piece in self._pieces(answered):
            if first:
                self.figures.first_byte.observe(time.monotonic() - start)
                first = False
            yield _event("", {"chunk": piece})
        if error := answered.error:
            message = translator(ask.language)(error.message)
            yield _event("error", {"code": error.code, "message": message})
        yield DONE
        judged = answered.judged = Judged(None, None, {})
        async for name, value in self._judged(answered, judged):
            if name == "qa_evaluation" and value:
                main = {key: value[key] for key in _MAIN}
                yield _event(name, {**main, "details": f"api/ai/answers/{answer_id}"})
            else:
                yield _event(name, value)

    async def _pieces(self, answered: Answered) -> AsyncIterator[str]:
        queue: asyncio.Queue[str | None] = asyncio.Queue(_BUFFERED)

        async def receive(piece: str) -> None:
            answered.text += piece
            await queue.put(piece)

        async def run() -> None:
            try:
                await self.models.answer(answered.ask, answered.context, receive)
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

    async def _judged(
        self, answered: Answered, judged: Judged
    ) -> AsyncIterator[tuple[str, dict[str, Any] | None]]:
        """Yield name and value of each step as it ends; None if there is none, with the reason in `judged.why`."""
        ask, start = answered.ask, time.monotonic()
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
            self.figures.evaluating.observe(time.monotonic() - start)
        confidence = (evaluation or {}).get("confidence") or "none"
        self.figures.evaluations.labels(confidence).inc()
        yield "qa_evaluation", evaluation

    def _why_not(self, answered: Answered) -> str:
        """Return why an answer is not judged; "" if it is."""
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
    """Return a judge's result; None with a reason in `reasons` if it is skipped or fails."""
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
