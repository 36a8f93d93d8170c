"""`gigamind serve`: answer questions about the notes in a browser, with an evaluation of each answer."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from gigamind.cli.command import command
from gigamind.cli.errors import print_line
from gigamind.cli.options import options_of
from gigamind.errors import GigamindError, InputError, reason_of
from gigamind.evaluation.options import validated
from gigamind.i18n import _
from gigamind.service.options import ServiceOptions

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

_TOKEN_VARIABLE = "GIGAMIND_SERVICE_TOKEN"  # noqa: S105  the name of a variable
_DRAINING_S = 30
# Longer than clients and proxies keep an idle connection (mostly 60 s): if the server closes first, a question that is
# just being sent is lost.
_KEEP_ALIVE_S = 75
_SWITCH_S = 0.0005  # instead of 0.005: a search must not delay the streams


@command(
    examples=(
        "gigamind serve --notes vault --model openai/gpt-4o-mini",
        "gigamind serve --notes vault --model openai/qwen2.5 --api-base http://127.0.0.1:8911/v1",
    )
)
@options_of(ServiceOptions)
def serve(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Answer questions about the notes and evaluate each answer: page, API and metrics on one port."""
    from gigamind.service.app import create_app

    values["token"] = values["token"] or os.environ.get(_TOKEN_VARIABLE)
    options = validated(ServiceOptions, values)
    sys.setswitchinterval(_SWITCH_S)
    with listening(options.host, options.port) as (place, url):
        line = _("gigamind answers questions about {notes} at {url}", notes=options.notes, url=url)
        serve_app(create_app(options, ready=lambda: print_line(line, err=True)), place)


@contextmanager
def listening(host: str, port: int) -> Generator[tuple[socket.socket, str]]:
    """Yield a socket that accepts connections, and its address; InputError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        place = socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(
            "--port {port}: this port cannot be used: {reason}. Choose another port, or 0 for any free port.",
            port=port,
            reason=reason_of(error),
        ) from error
    with place:
        yield place, f"http://{host}:{place.getsockname()[1]}"


def serve_app(app: "FastAPI", place: socket.socket) -> None:
    """Serve an app until a signal; raise its own error if it cannot start."""
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_DRAINING_S,
        timeout_keep_alive=_KEEP_ALIVE_S,
        server_header=False,
    )
    # The caller prints a failed start in one line; uvicorn would add a traceback.
    logging.getLogger("uvicorn.error").addFilter(lambda _record: _refused(app) is None)
    server = uvicorn.Server(config)
    try:
        with _sigterm_after_shutdown(server):
            server.run(sockets=[place])
    except SystemExit:  # a failed start
        if refused := _refused(app):
            raise refused from None
        raise


@contextmanager
def _sigterm_after_shutdown(server: "uvicorn.Server") -> Generator[None]:
    """Raise SIGTERM when the server has ended, because uvicorn raises it again while its loop still runs."""
    received: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        server.should_exit = True  # before uvicorn has its own handler

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
    if received:
        signal.raise_signal(signal.SIGTERM)


def _refused(app: "FastAPI") -> GigamindError | None:
    return getattr(app.state, "refused", None)
