"""Put a judge of any kind on trial: let it decide on cases, and keep the observable results.

Models are called as in a run.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gigamind.choices import PromptLanguage
from gigamind.errors import EvaluationError, InputError, LlmCode, LlmError, UnaskedError
from gigamind.judges.load import load_judge
from gigamind.judges.own import OwnJudge
from gigamind.judges.protocol import OF_THE_REPLY, AnswerCase, Asking, Judge, QuestionCase, Verdict
from gigamind.judges.search_qa.judgement import correctness
from gigamind.llm.ask import LanguageModel
from gigamind.prompting.fences import Source
from gigamind.records.judged import EvaluatedClaim, SearchQAEvaluation
from gigamind.vault.language import question_language

JudgeKind = Literal["unanswerable", "search_qa"]
# Failures that an attack can cause.
_CAUSED_BY_ATTACKS: frozenset[LlmCode] = frozenset({
    *OF_THE_REPLY, "context_too_long",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One case for a judge."""

    id: str
    question: str
    notes: tuple[Source, ...]
    answer: str = ""  # empty if the judge reads only question and notes
    counted_chars: int | None = None  # count claims only in this many first code points


@dataclass(frozen=True, slots=True)
class Reading:
    """The fields of a verdict that trials use; None if the judge does not decide on a field."""

    unanswerable: bool | None = None
    correctness: float | None = None  # in [0, 1]
    utility: float | None = None  # in [0, 1]


@dataclass(frozen=True, slots=True)
class Observed:
    """The observable results of one verdict."""

    verdict: Reading
    reported: Reading = field(default_factory=Reading)  # the verdict by the model's own statement
    proven: frozenset[int] = frozenset()  # numbers (from 1) of the notes with a verified quote
    text: str = ""  # all text of the model that a user can read
    flagged: bool = False  # whether the judge marked any of the input as suspicious
    claims: Mapping[int, EvaluatedClaim] = field(default_factory=dict[int, EvaluatedClaim])  # by id


@dataclass(frozen=True, slots=True)
class OnTrial:
    """A judge of any kind and its models by name."""

    tested: Judge[Any, Any]
    models: Mapping[str, LanguageModel]
    fence_key: bytes

    @property
    def kind(self) -> JudgeKind:
        return "search_qa" if "correctness" in self.tested.scales else "unanswerable"

    @property
    def rates_utility(self) -> bool:
        return "utility" in self.tested.scales

    @property
    def fingerprint(self) -> str:
        return self.tested.fingerprint(self.model_name)

    @property
    def model_name(self) -> str:
        return ", ".join(self.models)

    @property
    def instructions(self) -> str:
        prompts = self.tested.prompts
        rendered = (prompt.render(**dict.fromkeys(prompt.variables, "")) for prompt in prompts)
        return "\n\n".join(str(messages[0]["content"]) for messages in rendered)

    async def judge(self, case: Case) -> Observed:
        """Judge one case; raise LlmError if the model gave no usable reply."""
        language = question_language(case.question)
        question: QuestionCase | AnswerCase = QuestionCase(case.question, case.notes, language)
        if self.kind == "search_qa":
            question = AnswerCase(case.question, case.answer, case.notes, language)
        verdict = await self.tested.judge(question, Asking(self.models, case.id, self.fence_key))
        return _observed(verdict, case.counted_chars)


Observations = dict[str, Observed | LlmError]
"""Verdicts by case id; an error for a case without a usable reply."""


async def observe(judge: OnTrial, cases: Sequence[Case], seen: Observations) -> None:
    """Judge each case and store the verdicts in `seen`, which keeps them if this is interrupted.

    Raises:
        UnaskedError: Some case could not be sent to the model.  An incomplete trial proves nothing.
        EvaluationError: No case was scored.
    """

    async def observe_case(case: Case) -> None:
        try:
            seen[case.id] = await judge.judge(case)
        except LlmError as error:
            seen[case.id] = error

    await asyncio.gather(*map(observe_case, cases))
    errors = [outcome for outcome in seen.values() if isinstance(outcome, LlmError)]
    unasked = [error for error in errors if error.code not in _CAUSED_BY_ATTACKS]
    if unasked:
        raise UnaskedError(
            "test cases that could not be sent to the judge's model: {failed} of {n} ({reason})",
            n=len(seen),
            failed=len(unasked),
            reason=unasked[0].message,
        )
    if errors and len(errors) == len(seen):
        raise EvaluationError(
            "the judge gave no verdict on any test case ({n}): {reason}",
            n=len(seen),
            reason=errors[0].message,
        )


def _observed(verdict: Verdict[Any], counted_chars: int | None) -> Observed:
    scores, reported_scores = verdict.scores, verdict.told
    claims = verdict.detail.claims if isinstance(verdict.detail, SearchQAEvaluation) else ()
    if claims and counted_chars is not None:
        counted = [claim for claim in claims if claim.end <= counted_chars]
        supported = [claim.reported_verdict == "supported" for claim in counted]
        share = sum(supported) / len(supported) if supported else None
        scores = {**scores, "correctness": correctness(counted)}
        reported_scores = {**reported_scores, "correctness": share}
    return Observed(
        verdict=_reading(scores),
        reported=_reading(reported_scores),
        proven=frozenset(proof.note for proof in verdict.proof if proof.proven),
        text=verdict.text,
        flagged=bool(verdict.flags),
        claims={claim.id: claim for claim in claims},
    )


def _reading(scores: Mapping[str, float | None]) -> Reading:
    unanswerable = scores.get("unanswerable")
    return Reading(
        None if unanswerable is None else bool(unanswerable),
        scores.get("correctness"),
        scores.get("utility"),
    )


def load_on_trial(name: str, language: PromptLanguage) -> Judge[Any, Any]:
    """Load a judge that can be tested; raises InputError as `load_judge`, or if no test knows its scales."""
    judge = load_judge(name, language)
    if isinstance(judge, OwnJudge) and "correctness" not in judge.scales:
        raise InputError(
            "{judge}: cannot be tested, because it has no scale named correctness.", judge=name
        )
    return judge
