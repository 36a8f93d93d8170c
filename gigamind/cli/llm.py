"""`gigamind llm`: test a model before a run depends on it, and show the batches of a run."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field

from gigamind.cli.command import Group, command
from gigamind.cli.errors import print_line, translated
from gigamind.cli.options import options_of
from gigamind.errors import EvaluationError, InputError, LlmCode, LlmError
from gigamind.evaluation.options import validated
from gigamind.i18n import Text, _, joined
from gigamind.llm.ledger import Price
from gigamind.llm.settings import DEFAULT_TIMEOUT_S, ModelOptions
from gigamind.text import padded

if TYPE_CHECKING:
    from gigamind.assurance.one_case import CaseRead, Checkup, OneCase
    from gigamind.llm.ask import LanguageModel
    from gigamind.llm.settings import ModelSettings


_LANGUAGE, _SPENT, _TIME = 4, 14, 9  # columns
_NAME_CHARS = 28
# Errors that the next case would have, too.
_FINAL_ERRORS: frozenset[LlmCode] = frozenset(
    {"auth_failed", "quota_exhausted", "rate_limited", "server_error"}
)
# The model answered the first, short call.
_SLOW = _("The model is too slow for prompts of this length. Raise --model-timeout-s.")
_PRICE_SOURCES = {
    "local": _("local model"),
    "litellm": "litellm",
    "file": "--prices",
    "unpriced": _("no price"),
    "estimated": _("estimated"),
}
_OPTIONS = ("model", "api_base", "key_variable", "structured", "prices", "model_timeout_s")


class CheckOptions(ModelOptions):
    """Options of a check: a model is required, and its server is not measured first."""

    model: str | None = Field(
        description="model name in the format of litellm: openai/..., ollama_chat/..."
    )
    model_timeout_s: float | None = Field(
        DEFAULT_TIMEOUT_S, ge=0.1, allow_inf_nan=False, description="timeout per request in seconds"
    )


@command(
    "check",
    examples=(
        "gigamind llm check --model openai/gpt-4o-mini",
        "gigamind llm check --model openai/qwen2.5 --api-base http://127.0.0.1:8911/v1 --judge search_qa",
    ),
    epilog="Exit codes: 0 the model can judge; 1 invalid input; 3 the request failed or a judge cannot read the reply.",
)
@options_of(CheckOptions, only=_OPTIONS)
@click.option(
    "--judge",
    "judges",
    metavar="JUDGE",
    multiple=True,
    help="check only this judge: a judge file, an included judge's name or module:Class; repeatable (default: all "
    "included judges)",
)
def check(judges: Sequence[str], **values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Test a model: send one request, then one small test case per judge.

    Shows the mode of structured output, price, latency, what each judge reads from the reply, and how to fix
    failures.
    """
    from gigamind.assurance.one_case import DEFAULT_JUDGES, cases_of, single_call
    from gigamind.assurance.one_case import check as check_model
    from gigamind.llm.ask import connect
    from gigamind.llm.faults import advice_for
    from gigamind.llm.prices import read_prices

    options = validated(CheckOptions, values)
    settings = single_call(options.settings())
    cases = [case for judge in judges or DEFAULT_JUDGES for case in cases_of(judge)]
    prices = read_prices(options.prices) if options.prices else {}
    try:
        model = connect(settings, prices=prices)
    except LlmError as error:
        print_line(advice_for(error, settings), err=True)
        raise

    async def check_once() -> "Checkup":
        try:
            return await check_model(model)
        finally:
            await model.close()

    checkup = asyncio.run(check_once())
    _show_checkup(model, checkup)
    reads = [] if checkup.error else asyncio.run(_run_cases(cases, settings, prices))
    advice = checkup.advice if checkup.error else _advice(reads, settings)
    if advice:
        print_line(joined(("", advice), "\n") if reads else advice, err=True)
    else:
        _show_next_steps(settings, judges)
    if checkup.error:
        raise checkup.error
    failed = sum(1 for read in reads if read.error)
    if failed:
        raise EvaluationError("failed test cases: {failed:,} of {n:,}", failed=failed, n=len(reads))


async def _run_cases(
    cases: "Iterable[OneCase]", settings: "ModelSettings", prices: "dict[str, Price]"
) -> "list[CaseRead]":
    from gigamind.assurance.one_case import ask_once
    from gigamind.llm.ask import connect

    judge = padded(translated(_("judge")), _NAME_CHARS + _LANGUAGE)
    spent = padded(translated(_("tokens")), _SPENT, right=True)
    seconds = padded(translated(_("seconds")), _TIME, right=True)
    reply = translated(_("reply"))
    click.echo(f"\n{judge}{spent}{seconds}  {reply}")
    reads: list[CaseRead] = []
    for case in cases:
        model = connect(case.adjust(settings), prices=prices)
        read = await ask_once(case, model)
        reads.append(read)
        click.echo(_line(read))
        if read.error and read.error.code in _FINAL_ERRORS:
            break
    return reads


def _line(read: "CaseRead") -> str:
    spent = f"{read.spent.prompt_tokens} + {read.spent.completion_tokens}"
    what: Text = read.read
    if read.error:
        what = _("failed ({code}): {reason}", code=read.error.code, reason=read.error.message)
    if read.unread:
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(read.unread.items()))
        what = _("{reply}; dropped: {counts}", reply=what, counts=counts)
    case = read.case
    name = case.name if len(case.name) < _NAME_CHARS else f"…{case.name[2 - _NAME_CHARS :]}"
    seconds = f"{read.seconds:>{_TIME}.1f}"
    return f"{name:<{_NAME_CHARS}}{case.language:<{_LANGUAGE}}{spent:>{_SPENT}}{seconds}  {translated(what)}"


def _show_next_steps(settings: "ModelSettings", judges: Sequence[str]) -> None:
    click.echo()
    print_line(
        _("The format of the replies is valid. To check whether the verdicts are correct, run:")
    )
    for name in judges or ("search_qa", "unanswerable_llm"):
        click.echo(f"  gigamind judge test {name} --model {settings.model}")


def _advice(reads: "Sequence[CaseRead]", settings: "ModelSettings") -> Text:
    from gigamind.llm.faults import advice_for

    errors = [read.error for read in reads if read.error]
    if not errors:
        return ""
    code, _count = Counter(error.code for error in errors).most_common(1)[0]
    first = next(error for error in errors if error.code == code)
    return _SLOW if code == "timeout" else advice_for(first, settings)


def _show_checkup(model: "LanguageModel", checkup: "Checkup") -> None:
    settings, price, attempt = model.settings, model.price, checkup.attempt
    address = settings.api_base or _("its provider")
    print_line(_("model     {model} at {address}", model=settings.model, address=address))
    outcome = _("failed") if checkup.error else _("valid reply")
    print_line(_("mode      {mode}: {outcome}", mode=settings.mode, outcome=outcome))
    parameters = [f"{name}={value:g}" for name, value in model.parameters.items()]
    print_line(_("sent      {parameters}", parameters=parameters))
    if price is None:
        print_line(_("price     unknown; cost limits work only with --prices"))
    else:
        line = _(
            "price     {prompt:g} USD prompt, {completion:g} USD completion, per million tokens ({source})",
            prompt=price.prompt / 1e6,
            completion=price.completion / 1e6,
            source=_PRICE_SOURCES.get(price.source, price.source),
        )
        print_line(line)
    if attempt and not attempt.http_status:
        print_line(_("latency   {latency:.0f} ms", latency=attempt.latency_ms))
        if attempt.cost_pico_usd is not None:
            source = _PRICE_SOURCES.get(attempt.cost_source, attempt.cost_source)
            cost = attempt.cost_pico_usd / 1e12
            print_line(_("cost      {usd:.6f} USD ({source})", usd=cost, source=source))


@click.group("llm", cls=Group)
def llm() -> None:
    """Test a language model, or show the batches of a run."""


llm.add_command(check)


@llm.command(
    "batches",
    examples=("gigamind llm batches eval/out/20261123-101500",),
    epilog="Exit codes: 0 progress shown; 1 invalid input; 3 a provider cannot be reached.",
)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--cancel",
    is_flag=True,
    help="cancel unfinished batches; the provider still charges for finished requests",
)
def batches(*, out: Path, cancel: bool) -> None:
    """Show the progress of the request batches of an interrupted run.

    OUT is the output folder of the run.
    """
    from gigamind.evaluation.shards import unfinished_folder
    from gigamind.llm.batches.batcher import look_at, read_batches

    sent_batches = read_batches(unfinished_folder(out))
    if not sent_batches:
        raise InputError(
            "{folder}: no interrupted run with this output folder waits for a batch", folder=out
        )
    for line in (asyncio.run(look_at(batch, cancel=cancel)) for batch in sent_batches):
        print_line(line)
    if any(batch.is_open for batch in sent_batches):
        print_line(
            _(
                "To resume the run, add --resume {folder}. Finished requests are not paid again.",
                folder=out,
            )
        )
