"""Puts a judge on trial: shows it cases whose right verdict is known, and keeps what can be seen of its verdicts.

A judge of any kind takes part through `OnTrial`.  Cases are in `judges/trials/`; models are asked as in a run.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel

from gigamind.choices import PromptLanguage
from gigamind.errors import EvaluationError, InputError, LlmCode, LlmError, UnaskedError
from gigamind.judges.asking import OF_THE_REPLY, Asking
from gigamind.judges.load import ASKING, kind_named, load_judge
from gigamind.judges.protocol import AnswerCase, Judge, QuestionCase, Verdict, named
from gigamind.judges.search_qa.judgement import PanelOfAnswer, correctness
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import Source
from gigamind.llm.prompts import Prompt
from gigamind.records.judged import Report
from gigamind.stats.estimate import Estimate
from gigamind.vault.language import question_language

JudgeKind = Literal["unanswerable", "search_qa"]
# What an attack may bring about.
_BROUGHT_ABOUT: frozenset[LlmCode] = frozenset({
    *OF_THE_REPLY, "context_too_long", "panel_tied",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """What a judge is asked to decide on.

    Attributes:
        answer: empty where the judge is asked about question and notes alone.
        counted_chars: of the answer, how many code points in front its claims are counted in; None for all.
    """

    id: str
    question: str
    notes: tuple[Source, ...]
    answer: str = ""
    counted_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict in the few fields that trials look at; None for what the judge does not decide.

    Attributes:
        correctness: in [0, 1].
        utility: in [0, 1].
    """

    unanswerable: bool | None = None
    correctness: float | None = None
    utility: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What can be seen of one verdict.

    Attributes:
        verdict: by the rules of the judge.
        told: by the model's own word.
        proven: numbers of the notes, from 1, from which a quote was verified.
        text: whatever the model wrote that a person may read.
        flagged: whether anything that was read is marked as suspicious.
    """

    verdict: Reading
    told: Reading = field(default_factory=Reading)
    proven: frozenset[int] = frozenset()
    text: str = ""
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class OnTrial:
    """A judge of any kind with its models, by name.

    Attributes:
        instructions: its system messages, with nothing of a case in them; a model that repeats one leaks it.
    """

    asked: Judge[Any, Any]
    models: Mapping[str, LanguageModel]
    fence_key: bytes

    @property
    def kind(self) -> JudgeKind:
        return "search_qa" if self.asked.kind == "search_qa" else "unanswerable"

    @property
    def fingerprint(self) -> str:
        return self.asked.fingerprint(self.model_name)

    @property
    def model_name(self) -> str:
        return named(list(self.models))

    @property
    def instructions(self) -> str:
        return "\n\n".join(map(_system_message, self.asked.prompts))

    async def judge(self, case: Case) -> Observed:
        """One verdict.

        Raises:
            LlmError: the model gave no usable reply.
        """
        language = question_language(case.question)
        asked: QuestionCase | AnswerCase = QuestionCase(case.question, case.notes, language)
        if self.kind == "search_qa":
            asked = AnswerCase(case.question, case.answer, case.notes, language)
        verdict = await self.asked.judge(asked, Asking(self.models, case.id, self.fence_key))
        if verdict.why:
            raise why_unscored(verdict.errors, verdict.why)
        return _observed(verdict, case.counted_chars)


Result = TypeVar("Result")
Group = TypeVar("Group")


class TrialReport(Report):
    """What a trial of either sort tells of the judge."""

    kind: JudgeKind
    fingerprint: str
    model: str

    @classmethod
    def on(
        cls,
        judge: OnTrial,
        results: Sequence[Result],
        group: Callable[[str, Sequence[Result]], BaseModel],
        **others: object,
    ) -> Self:
        """The report on a judge: `overall` is the group of all results, `by_FIELD` one for each value of a field."""
        by = {
            name: _grouped(results, name.removeprefix("by_"), group)
            for name in cls.model_fields
            if name.startswith("by_")
        }
        overall = group("all", results)
        return cls.like(judge, model=judge.model_name, overall=overall, **by, **others)


class Share(Report):
    """How many of some, with the Wilson interval of 95 %; None for the share of none."""

    hits: int
    of: int
    rate: float | None
    low: float | None
    high: float | None

    @classmethod
    def among(cls, outcomes: Sequence[bool]) -> "Share":
        """The share of those that are true."""
        hits, of = sum(outcomes), len(outcomes)
        share = Estimate.share(hits, of)
        return cls(hits=hits, of=of, rate=share.value, low=share.low, high=share.high)


def _grouped(
    results: Sequence[Result], field: str, group: Callable[[str, Sequence[Result]], Group]
) -> tuple[Group, ...]:
    """One group for each value of a field, in the order in which they first appear."""
    members: dict[str, list[Result]] = {}
    for result in results:
        members.setdefault(getattr(result, field), []).append(result)
    return tuple(group(name, own) for name, own in members.items())


Seen = dict[str, Observed | LlmError]
"""What a judge decided on cases, by their ids; an error for a case whose reply was none."""


async def observe(judge: OnTrial, cases: Sequence[Case], seen: Seen) -> None:
    """Let the judge decide on each case; `seen` holds what it has decided so far, should this be stopped.

    Raises:
        UnaskedError: some case could not be asked about: an incomplete trial proves nothing.
        EvaluationError: no case was scored.
    """

    async def observe_case(case: Case) -> None:
        try:
            seen[case.id] = await judge.judge(case)
        except LlmError as error:
            seen[case.id] = error

    await asyncio.gather(*map(observe_case, cases))
    errors = [outcome for outcome in seen.values() if isinstance(outcome, LlmError)]
    unasked = [error for error in errors if error.code not in _BROUGHT_ABOUT]
    if unasked:
        raise UnaskedError(
            f"{len(unasked)} of {len(seen)} cases could not be asked about: {unasked[0]}"
        )
    if errors and len(errors) == len(seen):
        raise EvaluationError(f"no verdict on any of {len(seen)} cases: {errors[0]}")


def _observed(verdict: Verdict[Any], counted_chars: int | None) -> Observed:
    scores, told_scores = verdict.scores, verdict.told
    panel = verdict.detail
    if isinstance(panel, PanelOfAnswer) and panel.judgement and counted_chars is not None:
        counted = [
            claim for claim in panel.judgement.claims if claim.claim.piece.span.end <= counted_chars
        ]
        believed = [claim.told == "supported" for claim in counted]
        share = sum(believed) / len(believed) if believed else None
        scores = {**scores, "correctness": correctness(counted)}
        told_scores = {**told_scores, "correctness": share}
    return Observed(
        verdict=_reading(scores),
        told=_reading(told_scores),
        proven=frozenset(proof.note for proof in verdict.proof if proof.proven),
        text=verdict.text,
        flagged=bool(verdict.flags),
    )


def _reading(scores: Mapping[str, float | None]) -> Reading:
    unanswerable = scores.get("unanswerable")
    return Reading(
        None if unanswerable is None else bool(unanswerable),
        scores.get("correctness"),
        scores.get("utility"),
    )


def load_on_trial(name: str, language: PromptLanguage) -> Judge[Any, Any]:
    """A judge that can go on trial; see `load_judge`.

    Raises:
        InputError: there is none of that name, it cannot be used, or it is of another kind.
    """
    where, kind = kind_named(name)
    if kind not in ASKING:
        raise InputError(
            f"{where}: kind: {kind!r} cannot go on trial; the kinds that can are {' and '.join(ASKING)}"
        )
    return load_judge(name, language)


def why_unscored(errors: Sequence[LlmError], otherwise: str) -> LlmError:
    """Why a panel gave no verdict: the fault of a seat, else a tie.

    A seat that could not be asked says nothing of the case, so it comes before one whose reply was none.
    """
    faults = sorted(errors, key=lambda error: error.code in _BROUGHT_ABOUT)
    return faults[0] if faults else LlmError(otherwise, "panel_tied")


def _system_message(prompt: Prompt) -> str:
    """A prompt's instructions, with nothing of a case in them."""
    return str(prompt.render(**dict.fromkeys(prompt.variables, ""))[0]["content"])
