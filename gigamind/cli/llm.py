"""`gigamind llm`: looks at a model before a run depends on it, serves one's own, and plays one."""

import asyncio
import shlex
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gigamind.errors import InputError, LlmError

if TYPE_CHECKING:
    from gigamind.llm.ask import LanguageModel
    from gigamind.llm.check import Checkup
    from gigamind.llm.prices import Price

_PORT = 8911


@click.group("llm")
def llm() -> None:
    """Look at a language model, serve one of your own, or play one."""


@llm.command("check", epilog="Exit codes: 0 it can judge; 1 bad input; 3 it cannot, and why.")
@click.option(
    "--model",
    "name",
    required=True,
    help="As litellm names it: openai/..., anthropic/..., ollama_chat/...",
)
@click.option("--api-base", metavar="URL", help="Address of another server of that protocol.")
@click.option("--key-variable", metavar="NAME", help="Environment variable that holds the key.")
@click.option(
    "--structured",
    type=click.Choice(["json_schema", "md_json"]),
    default="json_schema",
    show_default=True,
    help="How the model is told the shape of its answer.",
)
@click.option(
    "--prices",
    "price_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='TOML with tables [models."NAME"]: prompt, completion, cached, in USD a million tokens.',
)
@click.option("--timeout-s", type=float, default=60.0, show_default=True)
def check(
    *,
    name: str,
    api_base: str | None,
    key_variable: str | None,
    structured: str,
    price_file: Path | None,
    timeout_s: float,
) -> None:
    """Make one call, and tell mode, price, latency, or what is wrong."""
    from gigamind.llm.ask import connect
    from gigamind.llm.check import advice_for, for_one_call
    from gigamind.llm.prices import read_prices
    from gigamind.llm.settings import ModelSettings

    settings = for_one_call(
        ModelSettings(
            name,
            api_base=api_base,
            key_variable=key_variable,
            mode="md_json" if structured == "md_json" else "json_schema",
            timeout_s=timeout_s,
        )
    )
    try:
        model = connect(settings, prices=read_prices(price_file) if price_file else {})
    except LlmError as error:
        click.echo(advice_for(error, settings), err=True)
        raise
    checkup = asyncio.run(_looked_at(model))
    _tell(model, checkup)
    if checkup.error:
        click.echo(checkup.advice, err=True)
        raise checkup.error


@llm.command("serve", epilog="Exit codes: 0 stopped by Ctrl-C or SIGTERM; 1 bad input.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_PORT,
    show_default=True,
    help="On 127.0.0.1; 0 for any that is free.",
)
@click.option(
    "--context",
    type=click.IntRange(min=512),
    default=8192,
    show_default=True,
    help="Tokens of one request, prompt and reply together.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Requests computed at a time; give as many by --max-in-flight.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 512),
    help="That compute; default: half of the processor's, for they suffer from any other load.",
)
def serve(*, file: Path, port: int, context: int, slots: int, threads: int | None) -> None:
    """Serve a model of your own, a GGUF FILE, on loopback until you press Ctrl-C."""
    from gigamind.llm.serve import serving

    with serving(file, port=port, context=context, slots=slots, threads=threads) as url:
        click.echo(f"{url} answers until you press Ctrl-C. Add to any command that asks a model:")
        model = shlex.quote(f"openai/{file.stem}")
        click.echo(f"  --model {model} --api-base {url} --max-in-flight {slots}")
        _wait()


@llm.command("batches", epilog="Exit codes: 0 told; 1 bad input; 3 a provider could not be asked.")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--cancel", is_flag=True, help="Stop those that go on; what is done of them is paid.")
def batches(*, out: Path, cancel: bool) -> None:
    """Tell how far the batches are of the run that was to write the folder OUT, and was stopped."""
    from gigamind.evaluation.asking import unfinished_folder
    from gigamind.llm.batches.journal import read_batches
    from gigamind.llm.batches.standing import look_at_all

    found = read_batches(unfinished_folder(out))
    if not found:
        raise InputError(
            f"{out}: no run that was to write it has sent a batch that it still waits for"
        )
    for line in asyncio.run(look_at_all(found, cancel=cancel)):
        click.echo(line)
    if any(batch.is_open for batch in found):
        click.echo(f"Go on with --resume {out}: what is done is read, and not paid again.")


@llm.command("fake-server")
@click.option("--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True)
def fake_server(port: int) -> None:
    """Play a model on loopback that answers any schema at no cost, and misbehaves on request."""
    from gigamind.llm.fake import run
    from gigamind.llm.fake_batch import BatchServer

    try:
        with run(BatchServer(), port) as server:
            click.echo(f"{server.url} answers until you press Ctrl-C. Try, in another shell:")
            click.echo(f"  gigamind llm check --model openai/judge --api-base {server.url}")
            click.echo(
                "Faults are asked for by name, such as --model 'openai/judge;fault=429;times=1'."
            )
            _wait()
    except OSError as error:
        raise InputError(f"port {port} cannot be used: {error}") from error


def _wait() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("Stopped.")


async def _looked_at(model: "LanguageModel") -> "Checkup":
    from gigamind.llm.check import check as look_at

    try:
        return await look_at(model)
    finally:
        await model.close()


def _tell(model: "LanguageModel", checkup: "Checkup") -> None:
    settings, price, attempt = model.settings, model.price, checkup.attempt
    click.echo(f"model     {settings.model} at {settings.api_base or 'its provider'}")
    click.echo(f"mode      {settings.mode}: {'failed' if checkup.error else 'a valid reply'}")
    parameters = (f"{name}={value:g}" for name, value in model.parameters.items())
    click.echo(f"sent      {', '.join(parameters)}")
    click.echo(f"price     {_price(price)}")
    if attempt and not attempt.http_status:
        click.echo(f"latency   {attempt.latency_ms:.0f} ms")
        click.echo(
            f"tokens    {attempt.prompt_tokens} prompt, {attempt.completion_tokens} completion"
        )
        if attempt.cost_pico_usd is not None:
            click.echo(f"cost      {attempt.cost_pico_usd / 1e12:.6f} USD ({attempt.cost_source})")


def _price(price: "Price | None") -> str:
    if price is None:
        return "unpriced: name one with --prices, or no limit in dollars can be kept"
    prompt, completion = price.prompt / 1e6, price.completion / 1e6
    return f"{prompt:g} USD prompt, {completion:g} USD completion a million tokens ({price.source})"
