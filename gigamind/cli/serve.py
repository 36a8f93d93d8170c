"""`gigamind serve`: people ask their notes in a browser, and see how far each answer may be trusted."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from gigamind.cli.command import command
from gigamind.cli.errors import translated
from gigamind.cli.options import options_of
from gigamind.errors import GigamindError
from gigamind.evaluation.options import validated
from gigamind.service.options import ServiceOptions

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

TOKEN_VARIABLE = "GIGAMIND_SERVICE_TOKEN"  # noqa: S105  the name of a variable
_DRAINING_S = 30
# Longer than clients and proxies keep an idle connection (60 s mostly): who closes first must not be we, or a question
# that was just being sent is lost.
_KEEP_ALIVE_S = 75
_SWITCH_S = 0.0005  # of 0.005: a search must not hold up the streams


@command(
    examples=(
        "gigamind serve --notes vault --model openai/gpt-4o-mini",
        "gigamind serve --notes vault --model openai/qwen2.5 --api-base http://127.0.0.1:8911/v1",
    )
)
@options_of(ServiceOptions)
def serve(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Answer questions about the notes and evaluate each answer: page, API and metrics on one port."""
    import uvicorn

    from gigamind.llm.serve import taken_port
    from gigamind.service.app import create_app

    values["token"] = values["token"] or os.environ.get(TOKEN_VARIABLE)
    options = validated(ServiceOptions, values)
    sys.setswitchinterval(_SWITCH_S)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listening = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise taken_port(options.port, error) from error
    with listening:
        port = listening.getsockname()[1]
        line = f"gigamind serves {options.notes} at http://{options.host}:{port}"
        app = create_app(options, ready=lambda: click.echo(translated(line), err=True))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_DRAINING_S,
            timeout_keep_alive=_KEEP_ALIVE_S,
            server_header=False,
        )
        # Why it cannot start is told by who called, in one line; uvicorn would tell it with its traceback.
        logging.getLogger("uvicorn.error").addFilter(lambda _: _refused(app) is None)
        server = uvicorn.Server(config)
        try:
            with _terminated_after(server):
                server.run(sockets=[listening])
        except SystemExit:  # of a start that failed
            if refused := _refused(app):
                raise refused from None
            raise


@contextmanager
def _terminated_after(server: "uvicorn.Server") -> Generator[None]:
    """SIGTERM is answered when the server has ended: uvicorn raises it once more while its loop still runs."""
    told: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        told.append(number)
        server.should_exit = True  # where uvicorn does not listen yet

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
    if told:
        signal.raise_signal(signal.SIGTERM)


def _refused(app: "FastAPI") -> GigamindError | None:
    return getattr(app.state, "refused", None)
