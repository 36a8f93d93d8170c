"""The interface of judges, included and custom: from a case to scores, proofs, the model's text and flags."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from gigamind.errors import InputError, text_of
from gigamind.evidence.result import Aligned, Alignment
from gigamind.i18n import Language
from gigamind.judges.asking import Asking, PlannedCall
from gigamind.judges.spec import (
    Chosen,
    LlmJudge,
    LlmJudgeFile,
    fingerprint_of,
    learned_from,
    short_name,
)
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.metrics.spec import Metric
from gigamind.metrics.table import adopt
from gigamind.prompting.fences import Flag, Source, flags
from gigamind.prompting.prompts import Prompt
from gigamind.records.judged import JudgeReport, MetricReport

Scale = Literal["binary", "graded"]
KEY = bytes(32)  # for prompts that are only counted; their length does not depend on the key


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
    def of(cls, note: int, place: Alignment, *, proven: bool) -> "Proof":
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
    flags: Mapping[int, tuple[Flag, ...]] = field(default_factory=dict[int, tuple[Flag, ...]])


class Judge(ABC, Generic[_Case_contra, _Detail_co]):
    """A judge; `kind` is its name in its file and run.json, `scales` are those for certification.

    A custom judge has its own `metrics`, one per score; included judges have theirs in the metrics table.
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
        """Return a hash of everything that may change a verdict, including the models (`named`)."""

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
    model = named(models)
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
        """Return the language of the prompt for an item of this language."""
        known = list(self.by_language)
        return next((own for own in known if own == language), known[0])

    def judge_in(self, language: str) -> _Spoken:
        return self.by_language[self.language_in(language)]

    @property
    def file(self) -> LlmJudgeFile:
        return self.judge_in("").file

    def fingerprint(self, model: str) -> str:
        marks = (judge.fingerprint for judge in self.by_language.values())
        return fingerprint_of(self.file, model, *marks)

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        return (options.settings().model,)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return self.judge_in("").settings(settings)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.by_language)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(prompt for judge in self.by_language.values() for prompt in judge.prompts)


def named(models: Sequence[str]) -> str:
    """Return the names of models as reports show them."""
    return ", ".join(models)
