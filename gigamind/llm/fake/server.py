"""The HTTP side of the fake model: chat completions as OpenAI answers them, and what it was asked.

`GET /stats` tells the counts, `POST /reset` clears them, `POST /script` takes a list of answers (JSON objects) that are
given in turn before any other.  It listens on loopback only.
"""

import asyncio
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from gigamind.llm.fake.answers import Json, answer_to, seed_of, spoilt
from gigamind.llm.fake.behaviour import Behaviour, read_behaviour

_CHARS_PER_TOKEN = 4
_KEPT = 200
_ERRORS = {
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "500": (500, "The server had an error", None),
    "502": (502, "Bad gateway", None),
    "503": (503, "The server is overloaded", None),
    "401": (401, "Incorrect API key provided: sk-secret-12345", "invalid_api_key"),
    "404": (404, "The model does not exist", "model_not_found"),
    "400ctx": (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
    "400rf": (400, "response_format is not supported", None),
}  # fmt: skip
_USAGES: dict[str, Json | None] = {
    "usage_null": None,
    "zero_usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "big_usage": {"prompt_tokens": 10**6, "completion_tokens": 10**6, "total_tokens": 2 * 10**6},
    "cached_usage": {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 800},
    },
}


@dataclass(slots=True)
class Seen:
    """What the server was asked, and what it told.

    Attributes:
        calls: requests by scenario.
        in_flight: requests being answered now.
        most_in_flight: the largest number of requests that were answered at the same time.
        prompt_tokens: sum of those told in `usage`.
        completion_tokens: sum of those told in `usage`.
        authorizations: the header of each of the last requests.
        headers: all of them.
        bodies: the last requests.
    """

    calls: Counter[str] = field(default_factory=Counter[str])
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    authorizations: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    headers: deque[Mapping[str, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    bodies: deque[Json] = field(default_factory=lambda: deque(maxlen=_KEPT))

    @property
    def total(self) -> int:
        """Requests of all scenarios."""
        return self.calls.total()

    def tell(self) -> Json:
        """The counts, as JSON."""
        return {
            "calls": dict(self.calls),
            "total": self.total,
            "most_in_flight": self.most_in_flight,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }


class FakeServer:
    """The fake model and what it has seen."""

    def __init__(self) -> None:
        self.url = ""
        self.seen = Seen()
        self.script: deque[Json] = deque()

    def application(self) -> web.Application:
        """The routes."""
        application = web.Application(client_max_size=64 * 2**20)
        application.add_routes([
            web.post("/v1/chat/completions", self._chat),
            web.get("/stats", self._stats),
            web.post("/reset", self._reset),
            web.post("/script", self._extend_script),
        ])  # fmt: skip
        return application

    async def _stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self.seen.tell())

    async def _reset(self, _request: web.Request) -> web.Response:
        self.seen = Seen()
        self.script.clear()
        return web.json_response({})

    async def _extend_script(self, request: web.Request) -> web.Response:
        self.script.extend(await request.json())
        return web.json_response({"scripted": len(self.script)})

    async def _chat(self, request: web.Request) -> web.Response:
        body: Json = await request.json()
        try:
            behaviour = read_behaviour(body["model"])
        except ValueError as error:
            return _error(404, str(error), "model_not_found")
        seen = self.seen
        seen.calls[behaviour.scenario] += 1
        seen.bodies.append(body)
        seen.authorizations.append(request.headers.get("Authorization", ""))
        seen.headers.append(request.headers)
        number = seen.calls[behaviour.scenario]
        if behaviour.allowed is not None and seen.in_flight >= behaviour.allowed:
            return _rate_limited(behaviour)
        seen.in_flight += 1
        seen.most_in_flight = max(seen.most_in_flight, seen.in_flight)
        try:
            await asyncio.sleep(behaviour.latency_of(number))
            return await self._answer(request, body, behaviour, behaviour.fault_of(number))
        finally:
            seen.in_flight -= 1

    async def _answer(
        self, request: web.Request, body: Json, behaviour: Behaviour, fault: str | None
    ) -> web.Response:
        if fault == "429":
            return _rate_limited(behaviour)
        if fault in _ERRORS:
            return _error(*_ERRORS[fault])
        if fault == "timeout":
            await asyncio.sleep(behaviour.hang_s)
        if fault in {"disconnect", "reset"} and request.transport:
            _hang_up(request.transport, fault)
            return web.Response()  # goes nowhere
        if fault == "html":
            return web.Response(text="<html>502 Bad Gateway</html>", content_type="text/html")
        if fault == "badjson":
            return web.Response(text='{"id": "x", "choices": [', content_type="application/json")
        return web.json_response(self._completion(body, behaviour, fault))

    def _completion(self, body: Json, behaviour: Behaviour, fault: str | None) -> Json:
        text = spoilt(self.script.popleft() if self.script else answer_to(body), fault)
        message: Json = {"role": "assistant", "content": text}
        if fault == "refusal":
            message["refusal"] = "I can't help with that."
        finish = {"truncated": "length", "content_filter": "content_filter"}.get(
            fault or "", "stop"
        )
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        told: Json = {
            "id": f"chatcmpl-{seed_of(body['messages'])[:16]}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": behaviour.name,
            "system_fingerprint": "fp_fake_1",
            "choices": [] if fault == "no_choices" else [choice],
        }
        if fault != "no_usage":
            told["usage"] = _USAGES.get(fault or "", _usage(body, text))
            self.seen.prompt_tokens += (told["usage"] or {}).get("prompt_tokens", 0)
            self.seen.completion_tokens += (told["usage"] or {}).get("completion_tokens", 0)
        return told


@contextmanager
def running(port: int = 0) -> Generator[FakeServer]:
    """A server in a thread of its own, at `server.url`, which ends in `/v1`."""
    server = FakeServer()
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(
        server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()

    try:
        loop.run_until_complete(start())
    except OSError:  # the port is taken
        loop.run_until_complete(runner.cleanup())
        loop.close()
        raise
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:  # a handler that still hangs
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _hang_up(transport: asyncio.Transport, fault: str) -> None:
    if fault == "reset":  # the other side then reads "connection reset by peer"
        at_once = struct.pack("ii", 1, 0)
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    transport.close()


def _usage(body: Json, text: str | None) -> Json:
    letters = sum(len(str(message.get("content") or "")) for message in body["messages"])
    prompt = letters // _CHARS_PER_TOKEN + 4 * len(body["messages"])
    completion = len(text or "") // _CHARS_PER_TOKEN + 1
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _rate_limited(behaviour: Behaviour) -> web.Response:
    headers = {} if behaviour.retry_after is None else {"Retry-After": behaviour.retry_after}
    return _error(429, "Rate limit reached", "rate_limit_exceeded", headers)


def _error(
    status: int, message: str, code: str | None, headers: dict[str, str] | None = None
) -> web.Response:
    told: Any = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return web.json_response(told, status=status, headers=headers)
