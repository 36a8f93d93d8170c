"""What a judge is: a case in; scores, proof, what the model told, and flags out.  Ours and a team's own are used alike.

A judge that asks models says beforehand what it would send (`planned`), on which scales it can be held to labels, and
by its fingerprint which runs may be compared.  Budget, store, account and resume are the caller's.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from gigamind.errors import InputError, LlmError
from gigamind.evidence.result import Aligned, Alignment
from gigamind.judges.asking import Asking, PlannedCall
from gigamind.judges.panel import PanelJudgeFile
from gigamind.judges.spec import (
    Chosen,
    LlmJudge,
    LlmJudgeFile,
    fingerprint_of_run,
    short_name,
)
from gigamind.llm.fences import Flag, Source, flags
from gigamind.llm.options import ModelOptions
from gigamind.llm.prompts import Prompt
from gigamind.llm.settings import ModelSettings
from gigamind.metrics.spec import Metric
from gigamind.metrics.table import adopt
from gigamind.records.judged import JudgeReport, MetricReport
from gigamind.wording import Language

Scale = Literal["binary", "graded"]
KEY = bytes(32)  # for prompts that are only counted, which are of equal length whatever the key


@dataclass(frozen=True, slots=True)
class QuestionCase:
    """A question and the notes that may answer it.

    Attributes:
        notes: numbered from 1 in this order.
        language: to ask a model in, such as "ko"; a judge without a prompt in it takes another.
    """

    question: str
    notes: Sequence[Source]
    language: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """An answer and the notes that it was made from; see `QuestionCase`."""

    question: str
    answer: str
    notes: Sequence[Source]
    language: str = ""

    @property
    def has_context(self) -> bool:
        """Whether any note has text to judge the answer by."""
        return any(note.text.strip() for note in self.notes)

    @property
    def texts(self) -> list[str]:
        """What may be quoted: the answer, then the notes."""
        return [self.answer, *(note.text for note in self.notes)]

    @property
    def flagged(self) -> dict[int, tuple[Flag, ...]]:
        """What a person should look at: in the answer by 0, in the notes and their titles by their number from 1."""
        texts = [self.answer, *(f"{note.title}\n{note.text}" for note in self.notes)]
        return {number: marks for number, text in enumerate(texts) if (marks := flags(text))}


@dataclass(frozen=True, slots=True)
class Proof:
    """A quote that a model gave.

    Attributes:
        note: number of the note that it is said to be of, from 1; 0 is the answer.
        quote: the words of the note where it is proven, else those that the model gave.
        proven: it stands there, unchanged in what matters, and proves something.
    """

    note: int
    quote: str
    proven: bool

    @classmethod
    def of(cls, note: int, place: Alignment, *, proven: bool) -> "Proof":
        """That of a quote that was looked up: what is kept as proof are the source's own words."""
        kept = place.selector.exact if isinstance(place, Aligned) and proven else place.quote.text
        return cls(note, kept, proven)


Case_contra = TypeVar("Case_contra", contravariant=True)
Detail_co = TypeVar("Detail_co", covariant=True)


@dataclass(frozen=True)
class Verdict(Generic[Detail_co]):
    """What a judge says of a case.

    Attributes:
        scores: scale -> value in [0, 1] by the judge's rules; None where a case has nothing to score.
        told: the same by the model's own word, where it said any.
        text: what the model wrote that a person may read.
        flags: what a person should look at: in the answer by 0, in notes by their number from 1.
        errors: of the seats of a panel that gave no vote.
        code: why there are no scores; "" when there are.  `why` says it in a sentence.
        detail: whatever else the judge's own reports show.
    """

    scores: Mapping[str, float | None]
    detail: Detail_co
    told: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    proof: tuple[Proof, ...] = ()
    text: str = ""
    flags: Mapping[int, tuple[Flag, ...]] = field(default_factory=dict[int, tuple[Flag, ...]])
    errors: Sequence[LlmError] = ()
    code: str = ""
    why: str = ""


class Judge(ABC, Generic[Case_contra, Detail_co]):
    """A judge.

    Attributes:
        kind: as its file and run.json have it.
        scales: what it may be certified on.
        metrics: figures of a team's own judge, one for each score; ours stand in the table of metrics.
    """

    kind: ClassVar[str]
    scales: ClassVar[Mapping[str, Scale]]
    metrics: ClassVar[tuple[Metric, ...]] = ()

    @abstractmethod
    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """The models that it asks; empty for a judge that asks none.

        Raises:
            InputError: none is named.
        """

    @abstractmethod
    def settings(self, settings: ModelSettings) -> ModelSettings:
        """The same model, called with the parameters of the judge."""

    @abstractmethod
    def fingerprint(self, model: str) -> str:
        """Changes with anything that may change a verdict on the same case, the models (`named`) included."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Those of its prompts."""
        return ()

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All that it sends; a model that repeats their system messages leaks them."""
        return ()

    @property
    def repeats(self) -> int:
        """Votes of each model on a case, at most."""
        return 1

    @abstractmethod
    def planned(self, case: Case_contra) -> Iterator[PlannedCall]:
        """What judging a case would send, were every reply good at once."""

    def voters(self, options: ModelOptions) -> tuple[str, ...]:
        """Those of `models` that each planned call goes to, unless it names one.

        Raises:
            InputError: see `models`.
        """
        return self.models(options)

    def planned_once(self) -> Iterator[PlannedCall]:
        """What a run would send besides, however many cases it has."""
        return iter(())

    def calls(self, case: Case_contra, options: ModelOptions) -> int:
        """Requests that all of its seats send to judge a case, were every reply good at once.

        Raises:
            InputError: see `models`.
        """
        votes = self.repeats * len(self.voters(options))
        return sum(votes if call.all_members else 1 for call in self.planned(case))

    @abstractmethod
    async def judge(self, case: Case_contra, asking: Asking) -> Verdict[Detail_co]:
        """The verdict on a case.

        Raises:
            LlmError: no model gave a usable reply: the item is unscored, and no score is made up.
        """


AnyAsking = TypeVar("AnyAsking", bound=Judge[Any, Any])


def chosen(judge: AnyAsking, path: Path, options: ModelOptions) -> Chosen[AnyAsking]:
    """A judge of that file, for a run.

    Raises:
        InputError: no model is named, or it gives a figure of a name that gigamind has.
    """
    try:
        adopt(judge.metrics)
    except ValueError as error:
        raise InputError(f"--judge {path}: {error}") from error
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
    )
    return Chosen(judge, report)


ByLanguage = TypeVar("ByLanguage", bound=LlmJudge[LlmJudgeFile])
PanelByLanguage = TypeVar("PanelByLanguage", bound=LlmJudge[PanelJudgeFile])


@dataclass(frozen=True)
class LocalisedJudge(Judge[Case_contra, Detail_co], Generic[Case_contra, Detail_co, ByLanguage]):
    """A judge file that asks a model, with its prompt in each language that it may ask in."""

    by_language: Mapping[Language, ByLanguage]

    def judge_in(self, language: str) -> ByLanguage:
        """The judge whose prompt is in this language, else in the first there is."""
        known = {str(name): judge for name, judge in self.by_language.items()}
        return known.get(language) or next(iter(known.values()))

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


class PanelJudge(
    LocalisedJudge[Case_contra, Detail_co, PanelByLanguage],
    Generic[Case_contra, Detail_co, PanelByLanguage],
):
    """One that may ask a panel of models."""

    @property
    def file(self) -> PanelJudgeFile:
        """The judge file."""
        return self.judge_in("").file

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """Those of its panel, else that of the run."""
        return self.file.panel or super().models(options)

    def fingerprint(self, model: str) -> str:
        """Changes with the file, a prompt, the reply's schema, and the model, or `named(models)` of a panel."""
        return fingerprint_of_run(list(self.by_language.values()), model)

    @property
    def repeats(self) -> int:
        return self.file.repeats


def named(models: Sequence[str]) -> str:
    """One or several models as reports name them."""
    return ", ".join(models)
