"""Send one small case of each judge to a model, with the real prompt and schema, to check that the reply can be read.

The cases are unit tests of `judges/trials/` without a defect.  Only the existence of a verdict counts here; trials test
whether verdicts are correct.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from pydantic import Field

from gigamind.assurance.trials import Case, JudgeKind, load_unit_tests, why_unscored
from gigamind.errors import LlmError
from gigamind.i18n import Language, _
from gigamind.judges.asking import Asking
from gigamind.judges.load import judge_file, kind_named, load_judge
from gigamind.judges.protocol import KEY, AnswerCase, Judge, QuestionCase
from gigamind.judges.quality_gate import load_quality_gate
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.llm.ask import LanguageModel
from gigamind.llm.faults import advice_for
from gigamind.llm.ledger import Attempt, Totals
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.prompting.replies import ModelReply, ReportedConfidence

_QUESTION = "In which language is the text 「휴가는 팀장에게 신청한다.」, and how sure are you?"


class _Reply(ModelReply, frozen=True):
    language: Literal["ko", "en"] = Field(description="language of the text")
    confidence: ReportedConfidence = Field(description="how sure you are")


@dataclass(frozen=True, slots=True)
class Checkup:
    """The result of the test call."""

    error: LlmError | None  # None if a valid reply came
    advice: str
    attempt: Attempt | None  # the last HTTP attempt; None if nothing was sent


def single_call(settings: ModelSettings) -> ModelSettings:
    """Return settings for exactly one request, without retries and speed measurement."""
    return replace(settings, attempts=1, reasks=0, timeout_fixed=True, in_flight_fixed=True)


async def check(model: LanguageModel) -> Checkup:
    """Ask the model one small question."""
    error = None
    try:
        await model.ask([{"role": "user", "content": _QUESTION}], _Reply, item_id="check")
    except LlmError as raised:
        error = raised
    advice = advice_for(error, model.settings) if error else ""
    return Checkup(error, advice, model.ledger.rows[-1] if model.ledger.rows else None)


DEFAULT_JUDGES = ("search_qa", "unanswerable_llm", "quality_gate")
_FEATURE = "search_qa"  # checklist of this feature


@dataclass(frozen=True, slots=True)
class OneCase:
    """One request to a model; `ask` describes the reply in a few words and counts the values that could not be read."""

    name: str  # of the judge
    language: str
    adjust: Callable[[ModelSettings], ModelSettings]  # to the settings of the judge
    ask: Callable[[LanguageModel, Counter[str]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CaseRead:
    """The result of one case."""

    case: OneCase
    read: str  # short description of the reply; empty if none could be read
    error: LlmError | None
    unread: Mapping[str, int]  # dropped values by field
    spent: Totals
    seconds: float


async def ask_once(case: OneCase, model: LanguageModel) -> CaseRead:
    """Send the case, then close the model.  The model needs a ledger of its own."""
    unread: Counter[str] = Counter()
    begun, read, error = time.monotonic(), "", None
    try:
        read = await case.ask(model, unread)
    except LlmError as raised:
        error = raised
    finally:
        await model.close()
    spent, seconds = model.ledger.totals(), time.monotonic() - begun
    return CaseRead(case, read, error, unread, spent, seconds)


def cases_of(name: str) -> Iterator[OneCase]:
    """Yield a case for each language of a judge, without its second check; InputError if it cannot be used."""
    if kind_named(name)[1] == "checklist":
        judge: Judge[Any, Any] = load_quality_gate(judge_file(name), _FEATURE)
    else:
        judge = load_judge(name)
    short = name.removeprefix("judges/").removesuffix(".toml")
    languages: list[Language] = [lang for lang in ("ko", "en") if lang in judge.languages]
    if isinstance(judge, SearchQA):
        judge = judge.looking_once()
    for language in languages:
        yield OneCase(short, language, judge.settings, _judging(judge, language))


def _judging(
    judge: Judge[Any, Any], language: Language
) -> Callable[[LanguageModel, Counter[str]], Awaitable[str]]:
    async def ask(model: LanguageModel, unread: Counter[str]) -> str:
        kind: JudgeKind = "unanswerable" if judge.kind == "llm" else "search_qa"
        case = sound_case(kind, language)
        question: QuestionCase | AnswerCase = QuestionCase(case.question, case.notes, language)
        if kind == "search_qa":
            question = AnswerCase(case.question, case.answer, case.notes, language)
        name = model.settings.model
        members = judge.models(ModelOptions.model_validate({"model": name}))
        models = dict.fromkeys(members, model)
        verdict = await judge.judge(question, Asking(models, "check", KEY, unread=unread))
        if verdict.why:
            raise why_unscored(verdict.errors, verdict.why)
        scores = verdict.scores.items()
        shown = (f"{name} {'-' if score is None else f'{score:g}'}" for name, score in scores)
        return ", ".join(shown) or _("the judge gave no score")

    return ask


@cache
def sound_case(kind: JudgeKind, language: Language) -> Case:
    """Return the first unit test of this kind and language without a defect."""
    return next(
        test.case()
        for test in load_unit_tests()
        if (test.row.kind, test.row.language, test.row.failure) == (kind, language, "none")
    )
