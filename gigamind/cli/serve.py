"""`gigamind serve` and `label`: evaluated answers in a browser, and a page on which people label items of a run."""

import getpass
import logging
import os
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from gigamind.assurance.options import LabelOptions
from gigamind.cli.command import command
from gigamind.cli.options import options_of
from gigamind.cli.output import print_line, print_warning
from gigamind.errors import GigamindError, InputError, reason_of
from gigamind.evaluation.options import validated
from gigamind.i18n import _, language_of, n_
from gigamind.service.options import ServiceOptions

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

_TOKEN_VARIABLE = "GIGAMIND_SERVICE_TOKEN"  # noqa: S105  the name of a variable
_DRAINING_S = 30
# Longer than clients keep an idle connection (mostly 60 s): a question sent while the server closes it is lost.
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
    with _listening(options.host, options.port) as (place, url):
        line = _("gigamind answers questions about {notes} at {url}", notes=options.notes, url=url)
        _serve_app(create_app(options, ready=lambda: print_line(line, err=True)), place)


@contextmanager
def _listening(host: str, port: int) -> Generator[tuple[socket.socket, str]]:
    """Yield a socket that accepts connections, and its address; InputError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(
            "--port {port}: this port cannot be used: {reason}. Choose another port, or 0 for any free port.",
            port=port,
            reason=reason_of(error),
        ) from error
    # asyncio sends small pieces at once only if the socket names its protocol; otherwise each can wait for 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, made.detach()) as place:
        yield place, f"http://{host}:{place.getsockname()[1]}"


def _serve_app(app: "FastAPI", place: socket.socket) -> None:
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


@command(
    examples=(
        "gigamind label runs/a --labels labels.jsonl",
        "gigamind label runs/new --baseline runs/old --floor -0.02",
    )
)
@click.argument("run", type=click.Path(path_type=Path))
@options_of(LabelOptions, only=LabelOptions.model_fields.keys() - {"run"})
def label(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Label items of RUN in a browser: are claims supported, are hits relevant, are links useful?

    RUN is the output folder of an evaluation. The page draws the items whose labels narrow the interval of the judged
    figure most, hides the judge's verdict until you have decided, and saves each key press. `gigamind judge certify`
    and `gigamind judge tune` use the labels.
    """
    from gigamind.assurance.labelling import Labelling
    from gigamind.tasks import TASKS

    options = validated(LabelOptions, values)
    language = language_of(options.lang)
    session = Labelling(options, TASKS)
    if options.add:
        count = session.file.add(options.add)
        line = n_(
            "added {n} label: {file}", "added {n:,} labels: {file}", n=count, file=options.labels
        )
        print_line(line, err=True)
        return
    if changed := len(session.state.choices.changed):
        warning = n_(
            "{file}: {n} label belongs to another run or to an item that has changed; it is not used",
            "{file}: {n:,} labels belong to another run or to items that have changed; they are not used",
            n=changed,
            file=options.labels,
        )
        print_warning(warning)
    fixed = session.plan
    if (fixed.floor, fixed.random) != (options.floor, options.random) or (
        fixed.budget != min(options.count, len(session.drawables))
    ):
        warning = _(
            "{file} goes on as it was begun: --count {count}, --floor {floor}",
            file=options.labels,
            count=fixed.budget,
            floor=_("none") if fixed.floor is None else f"{fixed.floor:g}",
        )
        print_warning(warning)
    name = options.annotator or getpass.getuser()
    if options.offline:
        from gigamind.service.label_app import write_offline_page

        write_offline_page(options.offline, session, name, language)
        print_line(_("Page: {file}", file=options.offline))
        return
    from gigamind.service.label_app import create_label_app

    with _listening("127.0.0.1", options.port) as (place, url):
        line = _(
            "Label {count:,} items of {run} at {url} (Ctrl-C ends)",
            run=options.run,
            url=url,
            count=fixed.budget,
        )
        app = create_label_app(session, name, language)
        app.router.on_startup.append(lambda: print_line(line, err=True))
        _serve_app(app, place)
