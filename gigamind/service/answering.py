"""A question with its notes, and its answer as events: metadata, chunks, [DONE], quality, qa_evaluation.

The notes are given with the question or found by search. One model answers, the others check and evaluate; a failed
step stops no other step.
"""

import asyncio
import functools
import hashlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.client import HTTPException
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.request import ProxyHandler, build_opener

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from gigamind.assets import asset
from gigamind.errors import GigamindError, InputError, LlmError
from gigamind.evaluation.inputs import context_of
from gigamind.i18n import LANGUAGES, Language, _, translator
from gigamind.judges.protocol import AnswerCase, Asking
from gigamind.judges.quality_gate import QualityGate
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.llm.ask import LanguageModel
from gigamind.llm.budget import Budget
from gigamind.llm.client import on_loopback
from gigamind.llm.ledger import PICO_PER_MICRO, SCRIPTED, Attempt, Ledger
from gigamind.llm.limiter import Limiters
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.prompting.fences import Source, fence_key
from gigamind.prompting.prompts import Prompt, as_json
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.service.options import PAGE_LANGUAGES, ServiceOptions
from gigamind.spans import Span
from gigamind.tasks.answers import NO_NOTES
from gigamind.vault.identity import Identities
from gigamind.vault.language import question_language
from gigamind.vault.notes import Note, Vault

_Feature = Literal["search_qa", "insight", "writing", "summary"]
_MAX_CHARS = 200_000  # of notes given with a question
_Question = Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]
if TYPE_CHECKING:
    _Language = str
else:
    _Language = Literal[LANGUAGES]
_Texts = Annotated[tuple[str, ...], Field(max_length=50)]


class AskOptions(BaseModel, extra="ignore", frozen=True):
    """How to answer a question.

    Attributes:
        mode: "search" lets the service find the notes.
        context_notes: texts of the notes to answer from; `note_titles` are their titles in the same order.
        note_id: answer only from this note.
        lang: language of the answer; by default that of the question.
    """

    mode: Literal["search"] | None = None
    context_notes: _Texts = ()
    note_titles: _Texts = ()
    note_id: str | None = None
    lang: _Language | None = None


_EXAMPLE: JsonDict = {
    "feature": "search_qa",
    "content": "연차는 며칠인가요?",
    "options": {"mode": "search"},
}


class Ask(BaseModel, frozen=True, json_schema_extra={"examples": [_EXAMPLE]}):
    """One question."""

    feature: _Feature = "search_qa"
    content: _Question
    options: AskOptions = AskOptions()
    quality_gate_enabled: bool = True

    @property
    def language(self) -> Language:
        return self.options.lang or question_language(self.content)

    @property
    def searches(self) -> bool:
        """Whether the service searches for notes, which search_qa always does for a question without notes."""
        options = self.options
        if options.note_id or options.context_notes:
            return False
        return options.mode == "search" or self.feature == "search_qa"

    @property
    def is_evaluated(self) -> bool:
        return self.feature == "search_qa" or (
            self.feature == "insight" and self.options.mode == "search"
        )


@dataclass(frozen=True, slots=True)
class _Context:
    """The notes shown to a model, kept until its answer is judged."""

    sources: tuple[Source, ...]
    ids: tuple[str | None, ...]  # paths in the vault; None for a note given with the question
    scores: tuple[float | None, ...]
    shifts: tuple[int, ...]  # UTF-16 code units of the note's file before the part that is shown

    def matched(self) -> list[dict[str, object]]:
        return [
            {"note_id": name, "title": source.title, "score": score}
            for source, name, score in zip(self.sources, self.ids, self.scores, strict=True)
        ]


@dataclass
class _Desk:
    """The vault and its search, one at a time: parallel searches are not faster and slow the streams."""

    options: ServiceOptions
    vault: Vault
    retriever: Retriever

    def __post_init__(self) -> None:
        self._searching = ThreadPoolExecutor(1, "search")

    async def search(self, query: str) -> list[Hit]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searching, self.retriever.search, query)

    async def context(self, ask: Ask) -> _Context:
        """Return the notes to show to the model.

        Raises:
            InputError: the note does not exist, or the given notes are too long.
            EmbeddingError, IndexingError: search failed.
        """
        if ask.searches:
            hits = await self.search(ask.content)
            found = [(note, hit) for hit in hits if (note := self.vault.note(hit.note)) is not None]
            return self._shown(
                [(note, hit.passage.span) for note, hit in found],
                [round(hit.base_score, 4) for _note, hit in found],
            )
        if ask.options.note_id is not None:
            note = self.vault.note(ask.options.note_id)
            if note is None:
                raise InputError(
                    "{note}: the vault has no note with this path", note=ask.options.note_id
                )
            return self._shown([(note, Span(0, 0))], [None])
        return _given(ask.options)

    def _shown(
        self, notes: Sequence[tuple[Note, Span]], scores: Sequence[float | None]
    ) -> _Context:
        options = self.options
        context = context_of(notes, options.context_notes, options.context_chars)
        return _Context(
            tuple(context_note.source for context_note in context),
            tuple(context_note.path for context_note in context),
            tuple(scores[: len(context)]),
            tuple(
                len(note.text[: part.start].encode("utf-16-le")) // 2
                for (note, _span), part in zip(notes, context, strict=False)
            ),
        )

    def close(self) -> None:
        self._searching.shutdown(cancel_futures=True)
        self.retriever.close()


def _given(options: AskOptions) -> _Context:
    texts, titles = options.context_notes, options.note_titles
    if sum(map(len, texts)) > _MAX_CHARS:
        raise InputError(
            "options.context_notes: all texts together have more than {limit:,} characters",
            limit=_MAX_CHARS,
        )
    named = [titles[place] if place < len(titles) else "" for place in range(len(texts))]
    sources = tuple(Source(title, text) for title, text in zip(named, texts, strict=True))
    none = (None,) * len(texts)
    return _Context(sources, none, none, (0,) * len(texts))


def _open_desk(options: ServiceOptions) -> _Desk:
    """Open the vault of the options for search; NotesError, IndexingError or EmbeddingError if that fails."""
    vault = Vault.read(options.notes)
    retriever = open_retriever(
        vault, Identities(vault.notes), options.retrieval, lambda _done, _total: None
    )
    return _Desk(options, vault, retriever)


_SECONDS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
_MICRO_PER_USD = 10**6


class _Tally(Ledger):
    """A ledger that keeps no rows, because the service runs without end: it passes each row on."""

    def __init__(self, on_row: Callable[[Attempt], None]) -> None:
        super().__init__()
        self._on_row = on_row

    def append(self, attempt: Attempt) -> None:
        self._on_row(attempt)


class Figures:
    """The metrics of one service."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._day, self._usd_of_day = "", 0.0
        self.scripted = False
        """Whether a script plays the model (`examples/fake_model.py`), which every page says."""
        count = functools.partial(Counter, registry=registry)
        time_of = functools.partial(Histogram, buckets=_SECONDS, registry=registry)
        self.asks = count("gigamind_asks", "Questions", ["feature", "status"])
        self.streams = Gauge("gigamind_streams", "Answers in progress", registry=registry)
        self.first_byte = time_of("gigamind_first_text_seconds", "Time until the first text")
        text = "Time of quality check and evaluation"
        self.evaluating = time_of("gigamind_evaluation_seconds", text)
        text = "Evaluations by confidence"
        self.evaluations = count("gigamind_evaluations", text, ["confidence"])
        self.calls = count("gigamind_model_calls", "Requests to models", ["role", "status"])
        self.usd = count("gigamind_cost_usd", "Cost of requests with known prices", ["role"])

    def count(self, row: Attempt) -> None:
        self.scripted = self.scripted or row.fingerprint == SCRIPTED
        self.calls.labels(row.role, row.status).inc()
        usd = (row.cost_pico_usd or 0) / PICO_PER_MICRO / _MICRO_PER_USD
        self.usd.labels(row.role).inc(usd)
        if row.role != "answer":
            self._usd_of_day = self.spent_today() + usd

    def spent_today(self) -> float:
        """Return the cost of evaluations since midnight UTC, in USD."""
        if (today := f"{datetime.now(UTC):%F}") != self._day:
            self._day, self._usd_of_day = today, 0.0
        return self._usd_of_day

    def text(self) -> bytes:
        return generate_latest(self.registry)


_TIMEOUT_S = 60.0
_MODELS_S = 2.0
_ANSWER_TEMPERATURE = 0.3
# One id for all: turns are taken by item, and the service has no last item.
_ITEM = "service"
_SHORTER = _("start the service with a smaller --context-chars.")
_SEARCH_CHAT, _ASSIST = "search_chat/v1", "assist/v2"  # prompts


@dataclass(slots=True)
class _Judged:
    """The evaluation of an answer as JSON values; None if there is none, with the reason in `why` by name."""

    quality: dict[str, Any] | None
    evaluation: dict[str, Any] | None
    why: dict[str, str]


def _is_scripted(api_base: str | None) -> bool:
    """Return whether a server on this machine says that it plays a model."""
    if not api_base or not on_loopback(api_base):
        return False
    try:
        address = f"{api_base.rstrip('/')}/models"
        with build_opener(ProxyHandler({})).open(address, timeout=_MODELS_S) as answer:
            return SCRIPTED.encode() in answer.read(1_000_000)
    except (OSError, ValueError, HTTPException):
        return False


class _Models:
    """The models of the service; created and used in one event loop."""

    def __init__(self, options: ServiceOptions, figures: Figures) -> None:
        store = options.store or options.cache / "replies"
        self._fence_key = fence_key(store, options.store_mode)
        judge = options.judge or asset("judges") / "search_qa.toml"
        self._judge = SearchQA.load(judge, options.judge_lang)
        if not options.second_look:
            self._judge = self._judge.looking_once()
        self._gates_of: dict[_Feature, QualityGate] = {
            feature: QualityGate.load(
                asset("judges") / "quality_gate.toml", feature, options.judge_lang
            )
            for feature in ("search_qa", "insight", "writing", "summary")
        }
        self._prompts = {
            (name, language): Prompt.included(
                name, language, ("nonce", "notes", "question", "task")
            )
            for name in (_SEARCH_CHAT, _ASSIST)
            for language in PAGE_LANGUAGES
        }
        figures.scripted = _is_scripted(options.api_base)
        limiters, ledger, budget = Limiters(), _Tally(figures.count), Budget.of(options)
        limits = {
            "max_in_flight": options.max_in_flight or options.max_streams,
            "model_timeout_s": options.model_timeout_s or _TIMEOUT_S,
            "model": options.judge_model or options.model,
        }
        own = {name: getattr(options, name) for name in ModelOptions.model_fields}
        judging = ModelOptions.model_validate(own | limits)

        def opened(
            role: str, model: str | None, adjust: Callable[[ModelSettings], ModelSettings]
        ) -> LanguageModel:
            def with_role(settings: ModelSettings) -> ModelSettings:
                # A live answer must not wait until the server is measured.
                fixed = replace(settings, role=role, timeout_fixed=True, in_flight_fixed=True)
                return adjust(fixed)

            paid = ledger, store, with_role, budget
            return LanguageModel.open(judging, *paid, model=model, limiters=limiters)

        self.judge_name = judging.model or ""
        self._answering = opened(
            "answer",
            options.model,
            lambda s: s.spoken(_ANSWER_TEMPERATURE, options.answer_tokens, "--answer-tokens"),
        )
        judge, gate = self._judge, self._gates_of["search_qa"]
        self._judging = {
            name: opened("judge", name, judge.settings) for name in judge.models(judging)
        }
        self._checking = {
            name: opened("quality_gate", name, gate.settings) for name in gate.models(judging)
        }

    async def answer(
        self, ask: Ask, context: _Context, on_text: Callable[[str], Awaitable[None]]
    ) -> str:
        """Return the answer to a question, and pass it on chunk by chunk; LlmError if it is missing or incomplete."""
        language = ask.language
        if ask.is_evaluated and not context.sources:
            answer = translator(language)(NO_NOTES)
            await on_text(answer)
            return answer
        prompt = self._prompts[_SEARCH_CHAT if ask.feature == "search_qa" else _ASSIST, language]
        question, key = as_json(ask.content), self._fence_key
        messages = prompt.about(context.sources, key, question=question, task=ask.feature)
        return await self._answering.tell(messages, on_text, item_id=_ITEM)

    async def check(self, ask: Ask, case: AnswerCase) -> dict[str, Any]:
        """Return the checklist result as JSON values of a `QualityReport`; LlmError without a usable reply."""
        asking = Asking(self._checking, _ITEM, self._fence_key, shorter=_SHORTER)
        verdict = await self._gates_of[ask.feature].judge(case, asking)
        return verdict.detail.model_dump(mode="json")

    async def evaluate(self, case: AnswerCase) -> dict[str, Any]:
        """Return the evaluation as JSON values of a `SearchQAEvaluation`; LlmError without a usable reply."""
        asking = Asking(self._judging, _ITEM, self._fence_key, shorter=_SHORTER)
        verdict = await self._judge.judge(case, asking)
        if verdict.detail is None:
            raise LlmError(_("The judge gave no verdict on the answer."), "invalid_output")
        return verdict.detail.model_dump(mode="json")

    async def close(self) -> None:
        for model in (self._answering, *self._judging.values(), *self._checking.values()):
            await model.close()


_MAX_ANSWERS = 500  # kept for feedback and `why`
_BUFFERED = 32  # chunks between a model and a client
_OFF = "off"
_HASH_BITS = 64
_MAIN = ("correctness", "utility", "confidence", "source_coverage", "grounding_issues", "summary")


_DONE = b"data: [DONE]\n\n"


def _sent_event(name: str, value: object) -> bytes:
    """Return a server-sent event; without a name it is only a `data:` line, for JSON has no line breaks."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


@dataclass(slots=True)
class Answered:
    """An answer with its question, context and evaluation."""

    ask: Ask
    context: _Context
    text: str = ""
    judged: _Judged | None = None
    error: LlmError | None = None


@dataclass
class Answering:
    """Answers questions in one event loop."""

    options: ServiceOptions
    figures: Figures
    desk: _Desk
    models: _Models
    _answers: OrderedDict[str, Answered] = field(default_factory=OrderedDict[str, Answered])

    @classmethod
    async def open(cls, options: ServiceOptions, figures: Figures) -> Self:
        """Open the vault and the models; GigamindError if that fails."""
        desk = await asyncio.to_thread(_open_desk, options)
        return cls(options, figures, desk, _Models(options, figures))

    async def close(self) -> None:
        await self.models.close()
        self.desk.close()

    def answered(self, answer_id: str) -> Answered | None:
        return self._answers.get(answer_id)

    async def begin(self, ask: Ask) -> tuple[str, Answered]:
        """Find the notes for a question; return the answer's id and the answer. GigamindError if the search fails."""
        context = await self.desk.context(ask)
        answer_id, answered = secrets.token_hex(8), Answered(ask, context)
        self._answers[answer_id] = answered
        while len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)
        return answer_id, answered

    async def whole(self, answered: Answered) -> None:
        """Answer and judge completely, without streaming; LlmError if there is no answer."""
        async for _piece in self._pieces(answered):
            pass
        if answered.error:
            raise answered.error
        async for _name, _value in self._judged(answered):
            pass

    async def events(self, answer_id: str, answered: Answered) -> AsyncIterator[bytes]:
        ask, context = answered.ask, answered.context
        question = {"answer_id": answer_id, "feature": ask.feature, "lang": ask.language}
        by = {"scripted": True} if self.figures.scripted else {}
        yield _sent_event("metadata", {**question, **by, "matched_notes": context.matched()})
        start, first = time.monotonic(), True
        async for piece in self._pieces(answered):
            if first:
                self.figures.first_byte.observe(time.monotonic() - start)
                first = False
            yield _sent_event("", {"chunk": piece})
        if error := answered.error:
            message = translator(ask.language)(error.message)
            yield _sent_event("error", {"code": error.code, "message": message})
        yield _DONE
        async for name, value in self._judged(answered):
            if name == "qa_evaluation" and value:
                main = {key: value[key] for key in _MAIN}
                yield _sent_event(name, {**main, "details": f"api/ai/answers/{answer_id}"})
            else:
                yield _sent_event(name, value)

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

    async def _judged(self, answered: Answered) -> AsyncIterator[tuple[str, dict[str, Any] | None]]:
        """Yield name and value of each step as it ends; None if there is none, with the reason in `judged.why`."""
        ask, start = answered.ask, time.monotonic()
        judged = answered.judged = _Judged(None, None, {})
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
            lambda: self.models.evaluate(case), why, judged.why, "qa_evaluation"
        )
        if evaluation:
            uses = zip(answered.context.ids, answered.context.shifts, strict=True)
            for use, (name, shift) in zip(evaluation["source_coverage"], uses, strict=True):
                use |= {"note_id": name, "utf16_shift": shift}
        judged.evaluation = evaluation
        if not why:
            self.figures.evaluating.observe(time.monotonic() - start)
        self.figures.evaluations.labels((evaluation or {}).get("confidence") or "none").inc()
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
