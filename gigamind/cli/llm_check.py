"""`gigamind llm check`: one call, then one small case as each judge asks it; what can be read, and what to do."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field

from gigamind.cli.command import command
from gigamind.cli.errors import heading, say_line, translated
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, tell
from gigamind.errors import EvaluationError, LlmCode, LlmError
from gigamind.evaluation.options import validated
from gigamind.llm.options import ModelOptions
from gigamind.llm.redaction import without_secrets
from gigamind.llm.settings import DEFAULT_TIMEOUT_S
from gigamind.text import padded

if TYPE_CHECKING:
    from gigamind.assurance.one_case import CaseRead, OneCase
    from gigamind.cli.documents import ModelCheckDocument
    from gigamind.llm.ask import LanguageModel
    from gigamind.llm.check import Checkup
    from gigamind.llm.settings import ModelSettings
    from gigamind.llm.usage import Price
    from gigamind.vault.notes import Note
    from gigamind.wording import Language

_MAX_TOKENS = 1_024  # of what no judge file sets
_LANGUAGE, _SPENT, _TIME = 4, 14, 9  # columns
_NAME_CHARS = 28
# Notes of examples/ that questions are written about.
_NOTES: "dict[Language, str]" = {"ko": "howto/배터리-교체.md", "en": "howto/first-shift.md"}
# What the next case would meet, too.
_HOPELESS: frozenset[LlmCode] = frozenset(
    {"auth_failed", "quota_exhausted", "rate_limited", "server_error"}
)
# It did answer the first, short call.
_SLOW = "It is too slow for prompts of this length: raise --model-timeout-s."
_ASKED = ("model", "api_base", "key_variable", "structured", "prices", "model_timeout_s")


class CheckOptions(ModelOptions):
    """Which model is checked, one in any case; its server is not measured first."""

    model: str | None = Field(
        description="model name as in litellm: openai/..., anthropic/..., ollama_chat/..."
    )
    model_timeout_s: float | None = Field(
        DEFAULT_TIMEOUT_S,
        ge=0.1,
        allow_inf_nan=False,
        description="time limit per request in seconds",
    )


@command(
    "check",
    examples=(
        "gigamind llm check --model openai/gpt-4o-mini",
        "gigamind llm check --model openai/qwen2.5 --api-base http://127.0.0.1:8911/v1 --judge search_qa",
    ),
    epilog="Exit codes: 0 the model can judge; 1 invalid input; 3 the request failed or a judge cannot read the reply.",
)
@options_of(CheckOptions, only=_ASKED)
@click.option(
    "--judge",
    "judges",
    metavar="JUDGE",
    multiple=True,
    help="check only this judge: a judge file, an included judge's name or module:Class; repeatable (default: all "
    "included judges, memory and question generation)",
)
@prints_json
def check(judges: Sequence[str], **asked: Any) -> None:  # noqa: ANN401  checked by the options model
    """Send one request to a model, then one small case per judge.

    Shows mode, price, latency, what each judge can read from the reply, and how to fix failures.
    """
    from gigamind.llm.ask import connect
    from gigamind.llm.check import single_call
    from gigamind.llm.faults import advice_for
    from gigamind.llm.prices import read_prices

    options = validated(CheckOptions, asked)
    settings = single_call(options.settings())
    cases = list(_cases(judges))
    prices = read_prices(options.prices) if options.prices else {}
    try:
        model = connect(settings, prices=prices)
    except LlmError as error:
        say_line(advice_for(error, settings), err=True)
        raise
    checkup = asyncio.run(_looked_at(model))
    _tell(model, checkup)
    reads = [] if checkup.error else asyncio.run(_asked(cases, settings, prices))
    advice = checkup.advice if checkup.error else _advice(reads, settings)
    tell(_document(model, checkup, reads, advice), lambda: None)  # people saw it as it came
    if advice:
        say_line(f"\n{advice}" if reads else advice, err=True)
    else:
        _tell_what_next(settings, judges)
    if checkup.error:
        raise checkup.error
    lost = [read for read in reads if read.error]
    if lost:
        raise EvaluationError(f"{len(lost)} of {len(reads)} cases gave no verdict")


async def _looked_at(model: "LanguageModel") -> "Checkup":
    from gigamind.llm.check import check as look_at

    try:
        return await look_at(model)
    finally:
        await model.close()


def _cases(judges: Sequence[str]) -> "Iterator[OneCase]":
    from gigamind.assurance.one_case import DEFAULT_JUDGES, cases_of

    for judge in judges or DEFAULT_JUDGES:
        yield from cases_of(judge)
    if not judges:
        yield from _remembering()
        yield from _questioning()


def _adjusted(settings: "ModelSettings") -> "ModelSettings":
    return replace(settings, max_tokens=_MAX_TOKENS)


def _remembering() -> "Iterator[OneCase]":
    """What memory asks: to extract statements from a question and its answer."""
    from gigamind.assurance.one_case import OneCase, sound_case
    from gigamind.judges.protocol import KEY
    from gigamind.memory.extract import extract
    from gigamind.memory.schema import Message, Session

    for language in _NOTES:

        async def ask(
            model: "LanguageModel", unread: Counter[str], language: "Language" = language
        ) -> str:
            case = sound_case("search_qa", language)
            said = {"user": case.question, "assistant": case.answer}
            messages = tuple(Message(role=role, content=text) for role, text in said.items())
            session = Session("check", messages)
            extraction = await extract(session, model, KEY, language, unread)
            return f"{len(extraction.entries)} entries"

        yield OneCase("memory", language, _adjusted, ask)


def _questioning() -> "Iterator[OneCase]":
    """What writing a dataset asks: for questions about a note."""
    from gigamind.assets import asset
    from gigamind.assurance.one_case import OneCase
    from gigamind.judges.protocol import KEY
    from gigamind.tasks.search.write_queries import QuestionLimits, ask_about, rows_of
    from gigamind.vault.notes import read_vault

    vault = read_vault(asset("examples") / "vault")
    for language, path in _NOTES.items():
        note = vault.note(path)
        if note is None:
            continue

        async def ask(model: "LanguageModel", unread: Counter[str], note: "Note" = note) -> str:
            limits = QuestionLimits(1, 1)
            reply = await ask_about(model, note, KEY, limits)
            return f"{len(list(rows_of(note, reply, limits, unread)))} questions that hold"

        yield OneCase("generate-queries", language, _adjusted, ask)


async def _asked(
    cases: "Iterable[OneCase]", settings: "ModelSettings", prices: "dict[str, Price]"
) -> "list[CaseRead]":
    """One after the other, for a server of one's own computes one at a time; a line each, as it ends."""
    from gigamind.assurance.one_case import ask_once
    from gigamind.llm.ask import connect

    spent, seconds = (
        padded(heading(name), width, right=True)
        for name, width in (("tokens", _SPENT), ("seconds", _TIME))
    )
    click.echo(
        f"\n{padded(heading('judge'), _NAME_CHARS + _LANGUAGE)}{spent}{seconds}  {heading('what was read')}"
    )
    reads: list[CaseRead] = []
    for case in cases:
        model = connect(case.adjust(settings), prices=prices)
        read = await ask_once(case, model)
        reads.append(read)
        click.echo(_line(read))
        if read.error and read.error.code in _HOPELESS:
            break
    return reads


def _line(read: "CaseRead") -> str:
    spent = f"{read.spent.prompt_tokens} + {read.spent.completion_tokens}"
    what = translated(f"failed ({read.error.code}): {read.error}" if read.error else read.read)
    if read.unread:
        lost = ", ".join(f"{name}: {count}" for name, count in sorted(read.unread.items()))
        what += translated(f"; dropped: {lost}")
    case = read.case
    name = case.name if len(case.name) < _NAME_CHARS else f"…{case.name[2 - _NAME_CHARS :]}"
    seconds = f"{read.seconds:>{_TIME}.1f}"
    return f"{name:<{_NAME_CHARS}}{case.language:<{_LANGUAGE}}{spent:>{_SPENT}}{seconds}  {what}"


def _tell_what_next(settings: "ModelSettings", judges: Sequence[str]) -> None:
    say_line("\nIts replies can be read. Whether its verdicts are right, see by:")
    for name in judges or ("search_qa", "unanswerable_llm"):
        click.echo(f"  gigamind judge test {name} --model {settings.model}")


def _advice(reads: "Sequence[CaseRead]", settings: "ModelSettings") -> str:
    """What to do about what failed most; "" where nothing did."""
    from gigamind.llm.faults import advice_for

    errors = [read.error for read in reads if read.error]
    if not errors:
        return ""
    code, _ = Counter(error.code for error in errors).most_common(1)[0]
    first = next(error for error in errors if error.code == code)
    return _SLOW if code == "timeout" else advice_for(first, settings)


def _document(
    model: "LanguageModel", checkup: "Checkup", reads: "Sequence[CaseRead]", advice: str
) -> "ModelCheckDocument":
    from gigamind.cli.documents import CheckedCase, ModelCheckDocument

    settings, price, attempt = model.settings, model.price, checkup.attempt
    cases = tuple(
        CheckedCase(
            judge=read.case.name,
            language=read.case.language,
            prompt_tokens=read.spent.prompt_tokens,
            completion_tokens=read.spent.completion_tokens,
            seconds=read.seconds,
            read=read.read,
            dropped=dict(read.unread),
            code=read.error.code if read.error else None,
            error=str(read.error) if read.error else None,
        )
        for read in reads
    )
    return ModelCheckDocument(
        model=settings.model,
        api_base=without_secrets(settings.api_base) if settings.api_base else None,
        structured=settings.mode,
        prompt_usd=price.prompt / 1e6 if price else None,
        completion_usd=price.completion / 1e6 if price else None,
        latency_ms=attempt.latency_ms if attempt and not attempt.http_status else None,
        error=str(checkup.error) if checkup.error else None,
        cases=cases,
        advice=advice or None,
    )


def _tell(model: "LanguageModel", checkup: "Checkup") -> None:
    settings, price, attempt = model.settings, model.price, checkup.attempt
    say_line(f"model     {settings.model} at {settings.api_base or 'its provider'}")
    say_line(f"mode      {settings.mode}: {'failed' if checkup.error else 'a valid reply'}")
    parameters = (f"{name}={value:g}" for name, value in model.parameters.items())
    say_line(f"sent      {', '.join(parameters)}")
    if price is None:
        say_line("price     unpriced: name one with --prices, or no limit in dollars can be kept")
    else:
        prompt, completion = f"{price.prompt / 1e6:g} USD", f"{price.completion / 1e6:g} USD"
        source = heading(price.source)
        say_line(f"price     {prompt} prompt, {completion} completion a million tokens ({source})")
    if attempt and not attempt.http_status:
        say_line(f"latency   {attempt.latency_ms:.0f} ms")
        say_line(
            f"tokens    {attempt.prompt_tokens} prompt, {attempt.completion_tokens} completion"
        )
        if attempt.cost_pico_usd is not None:
            source = heading(attempt.cost_source)
            say_line(f"cost      {attempt.cost_pico_usd / 1e12:.6f} USD ({source})")
