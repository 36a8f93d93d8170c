"""`gigamind llm`: test a model before a run depends on it, serve a local one, or run a mock."""

import asyncio
import functools
import shlex
import threading
from pathlib import Path

import click

from gigamind.cli.command import Group
from gigamind.cli.errors import print_line
from gigamind.cli.llm_check import check
from gigamind.errors import InputError
from gigamind.i18n import _

_port_option = functools.partial(
    click.option, "--port", type=click.IntRange(0, 65_535), default=8911, show_default=True
)


@click.group("llm", cls=Group)
def llm() -> None:
    """Test, serve or mock a language model."""


llm.add_command(check)


@llm.command(
    "serve",
    context_settings={"show_default": True},
    examples=("gigamind llm serve qwen2.5-1.5b-instruct.gguf --context 16384",),
    epilog="Exit codes: 0 stopped by Ctrl-C or SIGTERM; 1 invalid input.",
)
@click.argument("file", type=click.Path(path_type=Path))
@_port_option(help="port on 127.0.0.1; 0 picks a free port")
@click.option(
    "--context",
    type=click.IntRange(512),
    default=8192,
    help="maximum tokens of one request, prompt and reply together",
)
@click.option(
    "--slots",
    help="number of requests that the server handles at the same time; commands that use the server read this number",
    type=click.IntRange(1, 256),
    default=1,
)
@click.option(
    "--threads", type=click.IntRange(1, 512), help="processor threads to use (default: half of all)"
)
def serve(*, file: Path, port: int, context: int, slots: int, threads: int | None) -> None:
    """Serve a local GGUF model FILE on 127.0.0.1 until you press Ctrl-C."""
    from gigamind.llm.serve import serving

    with serving(file, port=port, context=context, slots=slots, threads=threads) as url:
        model = shlex.quote(f"openai/{file.stem}")
        _wait(
            _(
                "The model is ready at {url} until you press Ctrl-C. Add these options to commands that use a"
                " model:",
                url=url,
            ),
            f"  --model {model} --api-base {url}",
        )


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
    from gigamind.evaluation.unfinished import unfinished_folder
    from gigamind.llm.batches.batcher import look_at_all
    from gigamind.llm.batches.journal import read_batches

    sent_batches = read_batches(unfinished_folder(out))
    if not sent_batches:
        raise InputError(
            _("{folder}: no interrupted run with this output folder waits for a batch", folder=out)
        )
    for line in asyncio.run(look_at_all(sent_batches, cancel=cancel)):
        print_line(line)
    if any(batch.is_open for batch in sent_batches):
        print_line(
            _(
                "To resume the run, add --resume {folder}. Finished requests are not paid again.",
                folder=out,
            )
        )


@llm.command("fake-server", examples=("gigamind llm fake-server --port 8911",))
@_port_option()
def fake_server(port: int) -> None:
    """Run a mock model on 127.0.0.1 that answers any schema for free and simulates faults on request."""
    from gigamind.llm.fake import run
    from gigamind.llm.fake_batch import BatchServer
    from gigamind.llm.ledger import SCRIPTED
    from gigamind.llm.serve import taken_port

    try:
        with run(BatchServer(), port) as server:
            server.fingerprint = SCRIPTED
            _wait(
                _(
                    "The mock model is ready at {url} until you press Ctrl-C. To test it, run in another shell:",
                    url=server.url,
                ),
                f"  gigamind llm check --model openai/judge --api-base {server.url}",
                _("The replies only fit the schema. Their verdicts are meaningless."),
                _(
                    "To simulate a fault, name it in the model: --model {model}",
                    model="'openai/judge;fault=429;times=1'",
                ),
            )
    except OSError as error:
        raise taken_port(port, error) from error


def _wait(*lines: str) -> None:
    try:
        for line in lines:
            print_line(line)
        threading.Event().wait()
    except KeyboardInterrupt:
        print_line(_("Stopped."))
