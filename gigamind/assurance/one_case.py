"""Asks a model about one small case as each judge would, with its real prompt and schema: can its reply be read?

The cases are unit tests of `judges/trials/` without a defect.  Whether verdicts are right is for trials to tell; here
it counts that there is one.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gigamind.assurance.trials import Case, JudgeKind, why_unscored
from gigamind.assurance.unit_tests import load_unit_tests
from gigamind.errors import LlmError
from gigamind.judges.asking import Asking
from gigamind.judges.load import judge_file, kind_named, load_judge
from gigamind.judges.protocol import KEY, AnswerCase, Judge, QuestionCase, Verdict
from gigamind.judges.quality_gate import load_quality_gate
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.judges.search_qa.second_look import LooksReply, SecondLook, pairs_in
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Totals
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import ModelSettings
from gigamind.wording import Language

DEFAULT_JUDGES = ("search_qa", "unanswerable_llm", "quality_gate")
_FEATURE = "search_qa"  # of the checklist
_PAIRS = 4  # of a second look


@dataclass(frozen=True, slots=True)
class OneCase:
    """What a model is asked once.

    Attributes:
        name: of who asks.
        adjust: the same model, called as the one who asks calls it.
        ask: says in a few words what was read, and counts what could not be read of it.
    """

    name: str
    language: str
    adjust: Callable[[ModelSettings], ModelSettings]
    ask: Callable[[LanguageModel, Counter[str]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CaseRead:
    """How one case ended.

    Attributes:
        read: what was read, in a few words; empty where nothing was.
        unread: what was dropped of it, by field.
    """

    case: OneCase
    read: str
    error: LlmError | None
    unread: Mapping[str, int]
    spent: Totals
    seconds: float


async def ask_once(case: OneCase, model: LanguageModel) -> CaseRead:
    """Ask, with a model of an account of its own, which is closed."""
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
    """What a judge is checked with, a case for each language that it asks in, and its second look apart.

    Raises:
        InputError: there is no judge of that name, it cannot be used, or asks no model.
    """
    if kind_named(name)[1] == "checklist":
        judge: Judge[Any, Any] = load_quality_gate(judge_file(name), _FEATURE)
    else:
        judge = load_judge(name)
    short = name.removeprefix("judges/").removesuffix(".toml")
    languages: list[Language] = [lang for lang in ("ko", "en") if lang in judge.languages]
    for language in languages:
        alone, second = _apart(judge, language)
        yield OneCase(short, language, judge.settings, _judging(alone, language))
        if second:
            yield OneCase(f"{short}: second look", language, judge.settings, _looking(second))


def _apart(judge: Judge[Any, Any], language: Language) -> tuple[Judge[Any, Any], SecondLook | None]:
    """A judge of answers without its second look, which would ask about all pairs first."""
    if not isinstance(judge, SearchQA):
        return judge, None
    return judge.looking_once(), judge.judge_in(language).second


def _judging(
    judge: Judge[Any, Any], language: Language
) -> Callable[[LanguageModel, Counter[str]], Awaitable[str]]:
    async def ask(model: LanguageModel, unread: Counter[str]) -> str:
        kind: JudgeKind = "unanswerable" if judge.kind == "llm" else "search_qa"
        case = sound_case(kind, language)
        asked: QuestionCase | AnswerCase = QuestionCase(case.question, case.notes, language)
        if kind == "search_qa":
            asked = AnswerCase(case.question, case.answer, case.notes, language)
        name = model.settings.model
        seats = dict.fromkeys(
            judge.models(ModelOptions.model_validate({"model": name})), model
        )  # one model in each seat
        verdict = await judge.judge(asked, Asking(seats, "check", KEY, unread=unread))
        if verdict.why:
            raise why_unscored(verdict.errors, verdict.why)
        return _scores(verdict)

    return ask


def _scores(verdict: Verdict[Any]) -> str:
    shown = (f"{name} {'-' if v is None else f'{v:g}'}" for name, v in verdict.scores.items())
    return ", ".join(shown) or "no score"


def _looking(second: SecondLook) -> Callable[[LanguageModel, Counter[str]], Awaitable[str]]:
    async def ask(model: LanguageModel, unread: Counter[str]) -> str:
        pairs = pairs_in(second.language)[:_PAIRS]
        asking = Asking({model.settings.model: model}, "check", KEY, unread=unread)
        messages = second.messages(pairs)
        reply = await asking.ask(messages, LooksReply, fingerprint=second.fingerprint)
        said = {look.id: look.said for look in reply.looks}
        right = sum(said.get(number) is pair.said for number, pair in enumerate(pairs, start=1))
        return f"{right} of {len(pairs)} pairs told right"

    return ask


@cache
def sound_case(kind: JudgeKind, language: Language) -> Case:
    """The first unit test of that kind and language whose answer or question has no defect."""
    return next(
        test.case()
        for test in load_unit_tests()
        if (test.row.kind, test.row.language, test.row.failure) == (kind, language, "none")
    )
