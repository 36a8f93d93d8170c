"""The real service on a port of its own, in a thread."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Generator
from types import SimpleNamespace

import uvicorn
import uvicorn.server
from fastapi import FastAPI

from gigamind.cli.serve import _listening  # pyright: ignore[reportPrivateUsage]
from gigamind.service.app import create_app
from gigamind.service.options import ServiceOptions


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / 10)


# uvicorn looks every tenth of a second whether it is to end, and then waits for another tenth.
uvicorn.server.__dict__["asyncio"] = SimpleNamespace(**vars(asyncio) | {"sleep": _sleep})


@contextlib.contextmanager
def serving(
    options: ServiceOptions, heartbeat_s: float = 15.0
) -> Generator[tuple[str, uvicorn.Server]]:
    """Its address and its server, which has started."""
    with serving_app(create_app(options, heartbeat_s=heartbeat_s)) as served:
        yield served


@contextlib.contextmanager
def serving_app(app: FastAPI) -> Generator[tuple[str, uvicorn.Server]]:
    """The same for any app."""
    with _listening("127.0.0.1", 0) as (listener, url):
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            yield url, server
        finally:
            server.should_exit = True
            thread.join(20)
