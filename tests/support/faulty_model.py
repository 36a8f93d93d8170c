"""The mock model of the tests: replies by schema, records requests, and fails on request.

The model name controls it, because any client passes it on unchanged:

judge                                    a valid answer at once
judge;lat=100                            after 100 ms
judge;lat=100;spread=0.5                 after 50 to 150 ms, at random but the same in each run
judge;fault=429;times=2;ra=1;sid=abc     two 429 with `Retry-After: 1` for scenario abc, then valid answers
judge;fault=truncated_stop;share=0.2     every fifth answer, at random but the same in each run, is truncated
judge;fault=mixed;share=0.2              every fifth answer has a fault, of another kind each time, none a refusal
judge;allowed=5;ra=0                     429 for any request while five others are being answered
judge;lat=100;slots=1                    one request is computed at a time, the others queue
judge;prompt=1;reply=20                  a token of the prompt takes 1 ms, one of the reply 20 ms
judge;piece=30;fault=broken              a streamed answer comes word by word, 30 ms apart, and breaks off
"""

import asyncio
import hashlib
import json
import socket
import struct
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

# Benchmarks and scripts import this file without pytest, which would have added the folder.
sys.path.append(str(Path(__file__).parents[2] / "examples"))
from fake_model import MockServer, completion_of, run, streamed, usage_of
from replies_by_schema import Json, answer_to, plain_answer, spoilt

FAULTS = frozenset({
    *("429", "quota", "500", "502", "503", "401", "echo", "404", "400ctx", "400rf", "temperature", "max_tokens"),
    *("redirect", "timeout", "disconnect", "reset", "html", "badjson", "empty_body", "no_choices"),
    *("truncated", "truncated_stop", "missing_field", "wrong_types", "coercible_types", "extra_field", "nan"),
    *("two_json", "prose", "codeblock", "block_in_prose", "listed", "same_twice", "think"),
    *("refusal", "refusal_text", "content_filter", "empty", "null_content"),
    *("no_usage", "usage_null", "zero_usage", "cached_usage", "big_usage", "negative_usage", "fraction_usage"),
    *("zero_completion", "no_completion", "cached_above", "cached_negative", "broken"),
})  # fmt: skip
# The request is refused whatever is done: by the model, its filter, or the server.
REFUSALS = frozenset({
    *("refusal", "content_filter", "401", "echo", "404", "quota", "400ctx", "400rf", "redirect"),
})  # fmt: skip
_MIXED = sorted(FAULTS - REFUSALS)
_DEFAULT_HANG_S = 30.0
_HASH_BITS = 64


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How requests with one model name are answered."""

    name: str
    scenario: str = "-"  # name under which requests are counted
    fault: str | None = None  # one of `FAULTS`
    times: int | None = None  # first requests of the scenario with the fault
    share: float = 1.0  # of these requests that have it, in [0, 1]
    latency_s: float = 0.0  # mean time before an answer
    spread: float = 0.0  # relative variation of that time, in [0, 1]
    hang_s: float = _DEFAULT_HANG_S  # silence of the fault `timeout`
    retry_after: str | None = None  # header of a 429; None sends none
    allowed: int | None = None  # requests accepted at the same time; None for no limit
    slots: int | None = None  # requests computed at the same time, in order of arrival
    prompt_token_s: float = 0.0  # added to the latency for each token
    reply_token_s: float = 0.0
    piece_s: float = 0.0  # time between the words of a streamed answer

    def fault_of(self, number: int) -> str | None:
        """Return the fault of the scenario's request with this number, from 1."""
        if self.fault is None or (self.times is not None and number > self.times):
            return None
        if _draw(f"{self.scenario}|{number}") >= self.share:
            return None
        if self.fault != "mixed":
            return self.fault
        return _MIXED[int(_draw(f"{self.scenario}|{number}|kind") * len(_MIXED))]

    def latency_of(self, number: int) -> float:
        """Return the seconds before the answer to the scenario's request with this number, from 1."""
        drawn = 2 * _draw(f"{self.scenario}|{number}|latency") - 1
        return self.latency_s * (1 + self.spread * drawn)


def read_behaviour(model: str) -> Behaviour:
    """Return the behaviour in a model name; raise ValueError on an unknown fault or invalid number."""
    name, *rest = model.split(";")
    given = dict(part.split("=", 1) for part in rest if "=" in part)
    fault = given.get("fault")
    if fault is not None and fault not in FAULTS | {"mixed"}:
        raise ValueError(f"no such fault: {fault}; there are {', '.join(sorted(FAULTS))}")
    return Behaviour(
        name=name, scenario=given.get("sid", "-"), fault=fault,
        times=int(given["times"]) if "times" in given else None, share=float(given.get("share", 1)),
        latency_s=float(given.get("lat", 0)) / 1000, spread=float(given.get("spread", 0)),
        hang_s=float(given.get("hang", _DEFAULT_HANG_S)), retry_after=given.get("ra"),
        allowed=int(given["allowed"]) if "allowed" in given else None,
        slots=int(given["slots"]) if "slots" in given else None,
        prompt_token_s=float(given.get("prompt", 0)) / 1000,
        reply_token_s=float(given.get("reply", 0)) / 1000,
        piece_s=float(given.get("piece", 0)) / 1000,
    )  # fmt: skip


def _draw(seed: str) -> float:
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big") / 2**_HASH_BITS


_KEPT = 200
ERRORS = {
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "500": (500, "The server had an error", None),
    "502": (502, "Bad gateway", None),
    "503": (503, "The server is overloaded", None),
    "401": (401, "Incorrect API key provided: sk-secret-12345", "invalid_api_key"),
    "404": (404, "The model does not exist", "model_not_found"),
    "400ctx": (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
    "400rf": (400, "response_format is not supported", None),
}  # fmt: skip
_REFUSED = {  # messages of OpenAI
    "temperature": "Unsupported value: 'temperature' does not support 0.0 with this model. "
    "Only the default (1) value is supported.",
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
}
_LOST = {"disconnect": "", "reset": "", "empty_body": "", "badjson": '{"id": "x", "choices": ['}
_USAGES: dict[str, Json] = {
    "big_usage": {"prompt_tokens": 10**6, "completion_tokens": 10**6, "total_tokens": 2 * 10**6},
    "cached_usage": {
        "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 800},
    },
}  # fmt: skip


@dataclass(slots=True)
class Seen:
    """Requests to the server, and the usage it reported."""

    calls: Counter[str] = field(default_factory=Counter[str])  # by scenario
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    generated: Counter[str] = field(default_factory=Counter[str])  # billed, even if lost
    authorizations: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    headers: deque[Mapping[str, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    bodies: deque[Json] = field(default_factory=lambda: deque(maxlen=_KEPT))

    @property
    def total(self) -> int:
        """Requests of all scenarios."""
        return self.calls.total()

    def tell(self) -> Json:
        """Return the counts as JSON."""
        return {
            "calls": dict(self.calls), "total": self.total, "most_in_flight": self.most_in_flight,
            "prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens,
            "generated": dict(self.generated),
        }  # fmt: skip

    def bill(self, usage: Json) -> None:
        """Count the generated tokens."""
        for name in ("prompt_tokens", "completion_tokens"):
            self.generated[name] += usage[name]


def _nothing(_body: Json) -> Json | None:
    return None


class FakeServer(MockServer):
    """A mock model that misbehaves on request, and its record of requests."""

    def __init__(self) -> None:
        super().__init__()
        self.fingerprint = "fp_fake_1"
        self.seen = Seen()
        self.script: deque[Json] = deque()
        self._slots: dict[str, asyncio.Semaphore] = {}
        self.respond: Callable[[Json], Json | None] = _nothing

    def application(self) -> web.Application:
        """Return the routes."""
        application = super().application()
        application.add_routes([
            web.get("/stats", self._stats),
            web.post("/reset", self._reset),
        ])  # fmt: skip
        return application

    def forget(self) -> None:
        """As if nobody had asked or told it anything."""
        self.seen = Seen()
        self.script.clear()
        self.respond = _nothing

    async def _stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self.seen.tell())

    async def _reset(self, _request: web.Request) -> web.Response:
        self.forget()
        return web.json_response({})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body: Json = await request.json()
        try:
            behaviour = read_behaviour(body["model"])
        except ValueError as error:
            return error_response(404, str(error), "model_not_found")
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
            async with self._slot(behaviour):
                await asyncio.sleep(behaviour.latency_of(number) + _compute_s(behaviour, body))
            return await self._answer(request, body, behaviour, behaviour.fault_of(number))
        except asyncio.CancelledError:  # the client has disconnected
            seen.bill(usage_of(body, json.dumps(answer_to(body))))
            raise
        finally:
            seen.in_flight -= 1

    def _slot(self, behaviour: Behaviour) -> AbstractAsyncContextManager[object]:
        if behaviour.slots is None:
            return nullcontext()
        # A request that leaves or gives up passes its slot to the next one.
        return self._slots.setdefault(behaviour.scenario, asyncio.Semaphore(behaviour.slots))

    async def _answer(
        self, request: web.Request, body: Json, behaviour: Behaviour, fault: str | None
    ) -> web.StreamResponse:
        refused = _refused(request, body, behaviour, fault)
        if refused:
            return refused
        if fault == "timeout":
            await asyncio.sleep(behaviour.hang_s)
        if fault in _LOST:
            self.seen.bill(usage_of(body, json.dumps(answer_to(body))))
            if request.transport and fault in {"disconnect", "reset"}:
                _hang_up(request.transport, fault)  # the response goes nowhere
            return web.Response(text=_LOST[fault], content_type="application/json")
        if fault == "html":
            return web.Response(text="<html>502 Bad Gateway</html>", content_type="text/html")
        completion = self.completion(body, fault)
        if body.get("stream"):
            return await streamed(request, completion, behaviour.piece_s, breaks=fault == "broken")
        return web.json_response(completion)

    def completion(self, body: Json, fault: str | None) -> Json:
        """Return the billed answer to a request; `fault` is not one of the transport."""
        text = None if body.get("stream") else plain_answer(body)
        if text is None:
            reply = self.respond(body)
            if reply is None:
                reply = self.script.popleft() if self.script else answer_to(body)
            text = reply.get("text") if body.get("stream") else spoilt(reply, fault)
        message: Json = {"role": "assistant", "content": text}
        if fault == "refusal":
            message["refusal"] = "I can't help with that."
        finish = {"truncated": "length", "content_filter": "content_filter"}.get(
            fault or "", "stop"
        )
        completion = completion_of(body, text, self.fingerprint)
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        completion["choices"] = [] if fault == "no_choices" else [choice]
        usage = _USAGES.get(fault or "", completion["usage"])
        self.seen.bill(completion["usage"] if fault == "big_usage" else usage)
        if fault == "no_usage":
            del completion["usage"]
        else:
            completion["usage"] = _lied(usage, fault)
            self.seen.prompt_tokens += (completion["usage"] or {}).get("prompt_tokens", 0)
            self.seen.completion_tokens += (completion["usage"] or {}).get("completion_tokens", 0)
        return completion


@contextmanager
def running(port: int = 0) -> Generator[FakeServer]:
    """Run a server in its own thread, at `server.url`, which ends in `/v1`."""
    with run(FakeServer(), port) as server:
        yield server


def _compute_s(behaviour: Behaviour, body: Json) -> float:
    if not (behaviour.prompt_token_s or behaviour.reply_token_s):
        return 0.0
    usage = usage_of(body, plain_answer(body) or json.dumps(answer_to(body)))
    prompt, reply = usage["prompt_tokens"], usage["completion_tokens"]
    return prompt * behaviour.prompt_token_s + reply * behaviour.reply_token_s


def _hang_up(transport: asyncio.Transport, fault: str) -> None:
    if fault == "reset":  # the client then reads "connection reset by peer"
        at_once = struct.pack("ii", 1, 0)
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    transport.close()


def _lied(usage: Json, fault: str | None) -> Json | None:
    counts = {name: usage[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    cached = 2 * counts["prompt_tokens"]
    lies: dict[str | None, Json | None] = {
        "usage_null": None,
        "zero_usage": dict.fromkeys(counts, 0),
        "negative_usage": {name: -count for name, count in counts.items()},
        "fraction_usage": {name: count - 0.5 for name, count in counts.items()},
        "zero_completion": {**usage, "completion_tokens": 0},
        "no_completion": {k: v for k, v in counts.items() if k != "completion_tokens"},
        "cached_above": {**usage, "prompt_tokens_details": {"cached_tokens": cached}},
        "cached_negative": {**usage, "prompt_tokens_details": {"cached_tokens": -cached}},
    }
    return lies.get(fault, usage)


def _refused(
    request: web.Request, body: Json, behaviour: Behaviour, fault: str | None
) -> web.Response | None:
    """Return the error response of a request; None if it is answered."""
    if fault == "429":
        return _rate_limited(behaviour)
    if fault in ERRORS:
        return error_response(*ERRORS[fault])
    if fault == "echo":
        sent = "; ".join(f"{name}: {value}" for name, value in request.headers.items())
        return error_response(401, f"Refused. I was sent {sent}", "invalid_api_key")
    if fault in _REFUSED and fault in body:
        return error_response(400, _REFUSED[fault], "unsupported_parameter")
    if fault == "redirect":
        return web.Response(status=307, headers={"Location": "/elsewhere"})
    return None


def error_response(
    status: int, message: str, code: str | None, headers: dict[str, str] | None = None
) -> web.Response:
    """Return an error in OpenAI's form."""
    body: Any = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return web.json_response(body, status=status, headers=headers)


def _rate_limited(behaviour: Behaviour) -> web.Response:
    headers = {} if behaviour.retry_after is None else {"Retry-After": behaviour.retry_after}
    return error_response(429, "Rate limit reached", "rate_limit_exceeded", headers)


def main() -> None:
    """Serve until the process ends, and print the address."""
    with running() as server:
        print(server.url, flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
