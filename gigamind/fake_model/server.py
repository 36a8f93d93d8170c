"""A mock model server on loopback that answers like OpenAI's, for trials and demonstrations without a key.

Its replies come from `script.py`. The model name controls it, because any client passes it on unchanged:

judge                            a reply at once
judge;lat=100                    after 100 ms
judge;piece=30                   a streamed answer comes word by word, 30 ms apart
judge;fault=429;times=2;ra=1     two 429 with `Retry-After: 1`, then replies; also fault=500
"""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from aiohttp import web

from gigamind.fake_model.by_schema import Json, schema_of
from gigamind.fake_model.script import reply_to
from gigamind.llm.ledger import SCRIPTED

_CHARS_PER_TOKEN = 4
_PIECES = re.compile(r"\S+\s*|\s+")


class MockServer:
    """The mock model."""

    def __init__(self) -> None:
        self.url = ""
        self.fingerprint = SCRIPTED
        """Fingerprint in its answers; `SCRIPTED` says that it is not a model, which a run warns about."""
        self.respond: Callable[[Json], Json | None] = reply_to
        """Returns the reply to a request body; the script answers where it returns None."""
        self._calls: Counter[str] = Counter()

    def application(self) -> web.Application:
        """Return the routes."""
        application = web.Application(client_max_size=64 * 2**20)
        application.add_routes([
            web.post("/v1/chat/completions", self._chat),
            web.get("/v1/models", self._models),
        ])  # fmt: skip
        return application

    async def _models(self, _request: web.Request) -> web.Response:
        model = {"id": "script", "object": "model", "owned_by": self.fingerprint}
        return web.json_response({"object": "list", "data": [model]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body: Json = await request.json()
        given = dict(part.split("=", 1) for part in body["model"].split(";")[1:])
        self._calls[body["model"]] += 1
        await asyncio.sleep(float(given.get("lat", 0)) / 1000)
        if self._calls[body["model"]] <= float(given.get("times", "inf")):
            match given.get("fault"):
                case None:
                    pass
                case "429":
                    headers = {"Retry-After": given["ra"]} if "ra" in given else None
                    return error_response(429, "Rate limit reached", "rate_limit_exceeded", headers)
                case "500":
                    return error_response(500, "The server had an error", None)
                case fault:
                    return error_response(404, f"no such fault: {fault}", "model_not_found")
        completion = completion_of(body, self._text(body), self.fingerprint)
        if body.get("stream"):
            return await streamed(request, completion, float(given.get("piece", 0)) / 1000)
        return web.json_response(completion)

    def _text(self, body: Json) -> str:
        is_text = schema_of(body) is None
        if is_text and "max_tokens" in body and not body.get("stream"):
            return "word" * (body["max_tokens"] - 1)  # a measurement of speed
        reply = self.respond(body) or reply_to(body)
        return reply["text"] if is_text else json.dumps(reply, ensure_ascii=False)


def completion_of(body: Json, text: str | None, fingerprint: str) -> Json:
    """Return a reply in OpenAI's form, with its usage."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-script",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"].partition(";")[0],
        "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage_of(body, text),
    }


def usage_of(body: Json, text: str | None) -> Json:
    """Return the tokens of a request and its reply, four characters each."""
    letters = sum(len(str(message.get("content") or "")) for message in body["messages"])
    prompt = letters // _CHARS_PER_TOKEN + 4 * len(body["messages"])
    completion = len(text or "") // _CHARS_PER_TOKEN + 1
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


async def streamed(
    request: web.Request, completion: Json, piece_s: float, *, breaks: bool = False
) -> web.StreamResponse:
    """Send a reply word by word, as OpenAI streams; with `breaks`, close the connection in the middle."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    chunks = list(_chunks(completion))
    for chunk in chunks[: len(chunks) // 2] if breaks else chunks:
        await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
        await asyncio.sleep(piece_s)
    if breaks and request.transport:
        request.transport.close()
    else:
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
    return response


def _chunks(completion: Json) -> Iterator[Json]:
    head = {**completion, "object": "chat.completion.chunk"}
    usage = head.pop("usage", None)
    for choice in completion["choices"]:
        pieces = [{"content": text} for text in _PIECES.findall(choice["message"]["content"] or "")]
        for delta in (*pieces, {}):
            finish = None if delta else choice["finish_reason"]
            yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield {**head, "choices": [], "usage": usage}


def error_response(
    status: int, message: str, code: str | None, headers: dict[str, str] | None = None
) -> web.Response:
    """Return an error in OpenAI's form."""
    body: Any = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return web.json_response(body, status=status, headers=headers)


Server = TypeVar("Server", bound=MockServer)


@contextmanager
def run(server: Server, port: int = 0) -> Generator[Server]:
    """Run a server in its own thread, at `server.url`, which ends in `/v1`; raises OSError if the port is in use."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(
        server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(_start(runner, port), loop).result()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start(runner: web.AppRunner, port: int) -> None:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:  # a handler that still waits
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
