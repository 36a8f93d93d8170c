"""The interface of judges, included and custom: from a case, by requests, to scores, proofs, texts and flags."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel

from gigamind.errors import InputError, LlmCode, LlmError, text_of
from gigamind.evidence.result import Aligned, Alignment
from gigamind.i18n import Language, Text, _
from gigamind.judges.spec import (
    Chosen,
    LlmJudge,
    LlmJudgeFile,
    learned_from,
    short_name,
)
from gigamind.llm.client import Message, Reply, Request
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.llm.store import Record, Store, key_of
from gigamind.metrics.spec import Metric
from gigamind.metrics.table import adopt
from gigamind.prompting.fences import Flag, Source, flags
from gigamind.prompting.prompts import Prompt
from gigamind.prompting.replies import unread_in
from gigamind.records.judged import JudgeReport, MetricReport

OF_THE_REPLY: frozenset[LlmCode] = frozenset(
    {"invalid_output", "truncated", "refused", "content_filtered"}
)
"""Codes of replies that are the model's own doing; the others are of network, budget or user."""

_ANSWERS = 100  # apart are the numbers of repeated requests, part of the keys of stored replies
_Key = TypeVar("_Key")
_Row = TypeVar("_Row")


def once(rows: Sequence[_Row], key: Callable[[_Row], _Key]) -> dict[_Key, _Row]:
    """Return the rows by their keys, without those that share their key with another row."""
    times = Counter(map(key, rows))
    return {key(row): row for row in rows if times[key(row)] == 1}


class _Asked(Protocol):
    """A model that gives validated replies."""

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        item_id: str,
        fingerprint: str = "",
        repeat: int = 0,
        fresh: bool = False,
        max_tokens: int | None = None,
    ) -> Reply:
        """Return a validated reply as `LanguageModel.ask`; raise LlmError if the model gave none."""
        ...


@dataclass(frozen=True, slots=True)
class Asking:
    """Access to the models for the judgement of one item; the first of `models` judges.

    `repeat` is the number of the answer to its question; a stored reply about another one is not used.
    """

    models: Mapping[str, _Asked]
    item_id: str
    fence_key: bytes  # secret key of the fences around third-party texts
    fresh: bool = False  # send a new request even if a reply is stored
    shorter: str = ""  # advice for prompts that exceed the model's context
    unread: Counter[str] = field(default_factory=Counter[str])  # parts of replies, by field
    store: Store = field(default_factory=Store)  # keeps what judges without an LLM compute
    repeat: int = 1

    def afresh(self) -> "Asking":
        """Return a copy for re-judging the item: it sends new requests and counts its own unread parts."""
        return replace(self, fresh=True, unread=Counter())

    @property
    def first(self) -> str:
        return next(iter(self.models))

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        fingerprint: str,
        model: str = "",
        max_tokens: int | None = None,
    ) -> Reply:
        """Return a validated reply of a model, by default the first; raise LlmError without a usable one."""
        try:
            answer = await self.models[model or self.first].ask(
                messages,
                reply,
                item_id=self.item_id,
                fingerprint=fingerprint,
                repeat=_ANSWERS * (self.repeat - 1),
                fresh=self.fresh,
                max_tokens=max_tokens,
            )
        except LlmError as error:
            if error.code != "context_too_long" or not self.shorter:
                raise
            text = _("{reason} Alternatively: {advice}", reason=error.message, advice=self.shorter)
            raise LlmError(text, *error.args[1:]) from None
        self.unread.update(unread_in(answer))
        return answer

    async def stored(
        self, request: Mapping[str, Any], make: Callable[[], Awaitable[Record]]
    ) -> Record:
        """Return what `make` returns, in JSON values, or the stored result of an earlier run.

        `request` is everything that determines it. Raises LlmError if `make` does, or the mode `replay` finds none.
        """

        async def made() -> tuple[Record, Record]:
            record = await make()
            return record, record

        store = Store() if self.fresh else self.store
        again = {"repeat": self.repeat} if self.repeat > 1 else {}
        return (await store.fetch(key_of({"computed": request, **again}), dict, made))[0]


_JUDGING = _("judging")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A request that judging a case would send, for `what`; its `max_tokens` is not used.

    One that is not `certain` counts only for the upper end of an estimate.
    """

    request: Request
    least: int  # tokens of the reply
    most: int
    what: Text = _JUDGING
    model: str = ""  # the model that receives it, if not the one that judges
    certain: bool = True

    @classmethod
    def of(cls, messages: Sequence[Message], reply: type[BaseModel], least: int, most: int) -> Self:
        """Return a request that is only counted, so that the fences in `messages` need no secret key."""
        request = Request(tuple(messages), reply.model_json_schema(), {"max_tokens": 0})
        return cls(request, least, most)


Scale = Literal["binary", "graded"]


@dataclass(frozen=True, slots=True)
class QuestionCase:
    """A question and the notes that may answer it, numbered from 1 in this order.

    `language` is that of the prompt, such as "ko"; a judge without it uses another language.
    """

    question: str
    notes: Sequence[Source]
    language: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """An answer and the notes that it was generated from; see `QuestionCase`."""

    question: str
    answer: str
    notes: Sequence[Source]
    language: str = ""

    @property
    def has_context(self) -> bool:
        return any(note.text.strip() for note in self.notes)

    @property
    def texts(self) -> list[str]:
        """The texts that may be quoted: the answer, then the notes."""
        return [self.answer, *(note.text for note in self.notes)]

    @property
    def flagged(self) -> dict[int, tuple[Flag, ...]]:
        """Suspicious passages to review: in the answer under 0, in notes and their titles under their numbers."""
        texts = [self.answer, *(f"{note.title}\n{note.text}" for note in self.notes)]
        return {number: marks for number, text in enumerate(texts) if (marks := flags(text))}


@dataclass(frozen=True, slots=True)
class Proof:
    """A quote given by a model; `note` is the number of the quoted note, from 1, or 0 for the answer.

    If it is `proven`, `quote` has the words of the note, else the model's own.
    """

    note: int
    quote: str
    proven: bool

    @classmethod
    def of(cls, note: int, place: Alignment, *, proven: bool) -> Self:
        """Return the proof for an aligned quote, with the source's own words if it is proven."""
        kept = place.selector.exact if isinstance(place, Aligned) and proven else place.quote.text
        return cls(note, kept, proven)


_Case_contra = TypeVar("_Case_contra", contravariant=True)
_Detail_co = TypeVar("_Detail_co", covariant=True)


@dataclass(frozen=True)
class Verdict(Generic[_Detail_co]):
    """The verdict of a judge on a case.

    Attributes:
        scores: scale -> value in [0, 1] by the judge's rules; None if there is nothing to score.
        told: the scores that the model itself reported, if any.
        text: the model's text for readers.
        flags: suspicious passages to review: in the answer under 0, in notes under their numbers from 1.
        detail: further content for the judge's own reports.
    """

    scores: Mapping[str, float | None]
    detail: _Detail_co
    told: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    proof: tuple[Proof, ...] = ()
    text: str = ""
    flags: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])


class Judge(ABC, Generic[_Case_contra, _Detail_co]):
    """A judge; `kind` is its name in its file and run.json, `scales` are those for certification.

    A custom judge has its own `metrics`, one per score; included judges may have them, too.
    """

    kind: ClassVar[str]
    scales: ClassVar[Mapping[str, Scale]]
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """Return the models that it uses, first the one that judges; empty if none. InputError if none is given."""
        del options
        return ()

    def settings(self, settings: ModelSettings) -> ModelSettings:
        """Return the settings of a model with the parameters of the judge."""
        return settings

    @abstractmethod
    def fingerprint(self, model: str) -> str:
        """Return a hash of everything that may change a verdict, including the models as `chosen` joins them."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of its prompts."""
        return ()

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All its prompts; a model that repeats their system messages leaks them."""
        return ()

    def planned(self, case: _Case_contra) -> Iterator[PlannedCall]:
        """Yield the requests for a case, assuming that every first reply is usable."""
        del case
        return iter(())

    def calls(self, case: _Case_contra) -> int:
        """Return the number of requests for a case, assuming that every first reply is usable."""
        return sum(1 for _ in self.planned(case))

    @abstractmethod
    async def judge(self, case: _Case_contra, asking: Asking) -> Verdict[_Detail_co]:
        """Judge a case; raise LlmError if no model gave a usable reply, which leaves the item unscored."""


_AnyAsking = TypeVar("_AnyAsking", bound=Judge[Any, Any])


def chosen(judge: _AnyAsking, path: Path, options: ModelOptions) -> Chosen[_AnyAsking]:
    """Return a judge with its report for run.json; InputError without a model, or if a metric's name is taken."""
    try:
        adopt(judge.metrics)
    except ValueError as error:
        reason = text_of(error)
        raise InputError("--judge {name}: {reason}", name=path, reason=reason) from error
    models = judge.models(options)
    model = ", ".join(models)
    report = JudgeReport(
        kind=judge.kind,
        file=short_name(path),
        fingerprint=judge.fingerprint(model),
        model=model if models else None,
        languages=judge.languages,
        scales=dict(judge.scales) if judge.metrics else {},
        metrics=tuple(map(MetricReport.of, judge.metrics)),
        learned_from=learned_from(judge),
    )
    return Chosen(judge, report)


_Spoken = TypeVar("_Spoken", bound=LlmJudge[LlmJudgeFile])


@dataclass(frozen=True)
class LocalisedJudge(Judge[_Case_contra, _Detail_co], Generic[_Case_contra, _Detail_co, _Spoken]):
    """A judge file that uses a model, with a prompt for each language."""

    by_language: Mapping[Language, _Spoken]

    def language_in(self, language: str) -> Language:
        """Return the language of the prompt for an item of this language: its own, English or another."""
        return next(own for own in (language, "en", *self.by_language) if own in self.by_language)

    def judge_in(self, language: str) -> _Spoken:
        return self.by_language[self.language_in(language)]

    @property
    def file(self) -> LlmJudgeFile:
        return self.judge_in("").file

    def fingerprint(self, model: str) -> str:
        marks = (judge.fingerprint for judge in self.by_language.values())
        return self.file.fingerprint_with(model, *marks)

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        return (options.settings().model,)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return settings.spoken(self.file.temperature, self.file.max_tokens)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.by_language)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(prompt for judge in self.by_language.values() for prompt in judge.prompts)
