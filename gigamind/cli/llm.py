"""`gigamind llm`, and how other commands ask a model: stored replies make repeating or resuming free."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from pydantic import Field

from gigamind.cli.command import Group
from gigamind.cli.options import options_of
from gigamind.cli.output import print_line
from gigamind.errors import InputError, LlmError
from gigamind.evaluation.options import validated
from gigamind.i18n import _, joined
from gigamind.llm.settings import DEFAULT_TIMEOUT_S, ModelOptions

if TYPE_CHECKING:
    from gigamind.llm.ask import LanguageModel
    from gigamind.llm.ledger import Attempt, Totals
    from gigamind.llm.limiter import Limiters

_Result = TypeVar("_Result")
_QUESTION = "In which language is the text 「휴가는 팀장에게 신청한다.」, and how sure are you?"
_PRICE_SOURCES = {
    "local": _("local model"),
    "litellm": "litellm",
    "file": "--prices",
    "unpriced": _("no price"),
    "estimated": _("estimated"),
}
_OPTIONS = ("model", "api_base", "key_variable", "structured", "prices", "model_timeout_s")


class _CheckOptions(ModelOptions):
    """Options of a check: a model is required, and its server is not measured first."""

    model: str | None = Field(
        description="model name in the format of litellm: openai/..., ollama_chat/..."
    )
    model_timeout_s: float | None = Field(
        DEFAULT_TIMEOUT_S, ge=0.1, allow_inf_nan=False, description="timeout per request in seconds"
    )


@click.group("llm", cls=Group)
def llm() -> None:
    """Test a language model, or show the batches of a run."""


@llm.command(
    "check",
    examples=(
        "gigamind llm check --model openai/gpt-4o-mini",
        "gigamind llm check --model openai/qwen2.5 --api-base http://127.0.0.1:8911/v1",
    ),
    epilog="Exit codes: 0 the model can judge; 1 invalid input; 3 the request failed or its reply cannot be read.",
)
@options_of(_CheckOptions, only=_OPTIONS)
def _check(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Test a model with one request: mode of structured output, price, latency, and how to fix a failure."""
    from gigamind.llm.ask import LanguageModel
    from gigamind.llm.faults import advice_for
    from gigamind.llm.ledger import read_prices

    options = validated(_CheckOptions, values)
    # Exactly one request, without retries and measurement of speed.
    settings = replace(
        options.settings(), attempts=1, reasks=0, timeout_fixed=True, in_flight_fixed=True
    )
    prices = read_prices(options.prices) if options.prices else {}
    try:
        model = LanguageModel(settings, prices=prices)
        error = asyncio.run(_asked(model))
        attempt = model.ledger.rows[-1] if model.ledger.rows else None
        _show_checkup(model, attempt, is_valid=error is None)
        if error:
            raise error
    except LlmError as failed:
        print_line(advice_for(failed, settings), err=True)
        raise
    print_line(_("The format of the reply is valid. To check whether verdicts are correct, run:"))
    for name in ("search_qa", "unanswerable_llm"):
        click.echo(f"  gigamind judge test {name} --model {settings.model}")


async def _asked(model: "LanguageModel") -> LlmError | None:
    """Ask the model one small question; return why it gave no reply that can be read, and close it."""
    from gigamind.prompting.replies import ModelReply, ReportedConfidence

    class Reply(ModelReply, frozen=True):
        language: Literal["ko", "en"] = Field(description="language of the text")
        confidence: ReportedConfidence = Field(description="how sure you are")

    try:
        await model.ask([{"role": "user", "content": _QUESTION}], Reply, item_id="check")
    except LlmError as error:
        return error
    finally:
        await model.close()
    return None


def _show_checkup(model: "LanguageModel", attempt: "Attempt | None", *, is_valid: bool) -> None:
    settings, price = model.settings, model.price
    address = settings.api_base or _("its provider")
    print_line(_("model     {model} at {address}", model=settings.model, address=address))
    outcome = _("valid reply") if is_valid else _("failed")
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
def _batches(*, out: Path, cancel: bool) -> None:
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
        line = _(
            "To resume the run, add --resume {folder}. Finished requests are not paid again.",
            folder=out,
        )
        print_line(line)


def ask_model(
    options: ModelOptions,
    work: "Callable[[LanguageModel, bytes], Awaitable[_Result]]",
    *,
    max_tokens: int,
    store: Path,
    ledger: Path,
) -> _Result:
    """Return the result of `work` with the model and the key of its fences; report the cost in any case.

    Raises:
        InputError: an option is invalid.
        LlmError: the model cannot be called, or gave no usable reply.
    """
    from gigamind.llm.ask import LanguageModel
    from gigamind.llm.ledger import Ledger, Totals
    from gigamind.prompting.fences import fence_key

    store = options.store or store
    # Stored replies are found by their prompt, which contains a mark made with the key.
    key = fence_key(store, options.store_mode)
    model = LanguageModel.open(
        options,
        Ledger(ledger),
        store,
        lambda settings: replace(settings, max_tokens=max_tokens),
        limiters=printing_limiters(),
    )
    before = len(model.ledger.rows)

    async def run() -> _Result:
        try:
            return await work(model, key)
        finally:
            await model.close()

    try:
        return asyncio.run(run())
    finally:
        print_cost(Totals.of(model.ledger.rows[before:]), model.settings.model)


def printing_limiters() -> "Limiters":
    """Return limiters of servers that print to standard error what delays the requests."""
    from gigamind.llm.limiter import Limiters

    return Limiters(lambda line: print_line(line, err=True))


def print_cost(spent: "Totals", model: str = "") -> None:
    """Print requests and cost in one line to standard error."""
    cost = _("unknown")
    if spent.micro_usd is not None and spent.reserved_micro_usd is not None:
        reserved = spent.reserved_micro_usd
        cost = _("{usd:.6f} USD", usd=(spent.micro_usd - reserved) / 1e6)
        if reserved:
            cost = _("{cost}, and {usd:.6f} USD reserved", cost=cost, usd=reserved / 1e6)

    line = _(
        "requests sent: {n:,}, stored replies reused: {stored:,}, cost: {cost}",
        n=spent.http_calls,
        stored=spent.store_hits,
        cost=cost,
    )
    print_line(joined((model, line), ": ") if model else line, err=True)
