"""How fast a model server of one's own is: small requests tell what no price list does.

Some compute one request at a time and take minutes for it, others dozens in seconds.  A short reply, a long prompt, and
where that shows that it matters four at the same time, tell what each request needs and how many are computed at once.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit
from urllib.request import ProxyHandler, build_opener

from pydantic import BaseModel, Field

from gigamind.llm.client import Request
from gigamind.llm.ledger import Attempt
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, DEFAULT_TIMEOUT_S

PROBE = "probe"
MOST_CALLS = 7
PROBE_TIMEOUT_S = 120.0  # a server that loads its model at the first request takes its time
_MARGIN = 3.0  # of a time limit over what a request should need
_REPLY_TOKENS = 48
_LONG_LINES = 40
_BESIDE = 4
_SLOW_S = 0.2  # of a short reply; below it the client and the network are what is measured
_ALL_AT_ONCE = 2.5  # replies in the time of one, from which on no limit was seen
_PROPS_S = 2.0


@dataclass(frozen=True, slots=True)
class Speed:
    """What a server was seen to do.

    Attributes:
        prompt_s: seconds a token of a prompt.
        completion_s: seconds a token of a reply.
        at_once: requests computed in the time of one, side by side, from 1.
        slots: requests that it takes up at the same time; None where no limit was seen.
    """

    prompt_s: float
    completion_s: float
    at_once: float = 1.0
    slots: int | None = None

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float:
        """That so many tokens take, one request alone."""
        return prompt_tokens * self.prompt_s + completion_tokens * self.completion_s

    def limit_s(self, prompt_tokens: float, completion_tokens: float, in_flight: int) -> float:
        """A time limit for a request beside others: wide, and never below the usual one."""
        alone = self.seconds(prompt_tokens, completion_tokens)
        return max(DEFAULT_TIMEOUT_S, _MARGIN * alone * max(1.0, in_flight / self.at_once))

    def describe(self) -> str:
        """In a few words."""
        prompt, completion = (_rate(seconds) for seconds in (self.prompt_s, self.completion_s))
        places = "several at a time" if self.slots is None else f"{self.slots} at a time"
        return f"{prompt} prompt and {completion} completion tokens/s, {places}"


def _rate(seconds: float) -> str:
    per_s = 1 / max(seconds, 1e-6)
    return f"{per_s:.1f}" if per_s < 10 else f"{min(per_s, 9999):.0f}"  # noqa: PLR2004


def request_of(parameters: Mapping[str, int | float], max_tokens: int, lines: int = 0) -> Request:
    """A request that costs little; no two begin alike, for servers keep what they have read."""
    mark = secrets.token_hex(4)
    text = "\n".join(f"{number}: {secrets.token_hex(4)}" for number in range(lines))
    asked = "Write the numbers from one to a hundred, as words."
    content = f"{mark}\n{text}\n{asked}" if lines else f"{mark}\n{asked}"
    message = {"role": "user", "content": content}
    return Request((message,), None, {**parameters, "max_tokens": max_tokens}, PROBE_TIMEOUT_S)


async def measure(
    send: Callable[[Request], Awaitable[Attempt]],
    request: Request,
    prompt_tokens: int,
    slots: int | None,
    *,
    beside: bool,
) -> Speed:
    """The speed of a server, from the rows of the requests that `send` sends.

    Args:
        request: of those that are to be sent then.
        slots: that the server tells of itself.
        beside: whether it is of any use to know how many are computed at once.

    Raises:
        LlmError: what `send` raises.
    """
    parameters = request.parameters
    await send(request_of(parameters, 1))  # loads the model, and connects
    short = await send(request_of(parameters, _REPLY_TOKENS))
    long = await send(request_of(parameters, 1, _LONG_LINES))
    prompt_s, completion_s = _solved(short, long)
    speed = Speed(prompt_s, completion_s, slots=slots)
    alone_s = short.latency_ms / 1000
    usual = speed.limit_s(prompt_tokens, request.max_tokens, DEFAULT_IN_FLIGHT)
    if slots is not None or not beside or alone_s < _SLOW_S or usual <= DEFAULT_TIMEOUT_S:
        return speed  # however many wait for each other, each has its answer in time
    begun = time.perf_counter()
    sent = [send(request_of(parameters, _REPLY_TOKENS)) for _ in range(_BESIDE)]
    await asyncio.gather(*sent)
    at_once = max(1.0, _BESIDE * alone_s / (time.perf_counter() - begun))
    limit = None if at_once >= _ALL_AT_ONCE else round(at_once)
    return Speed(prompt_s, completion_s, at_once, limit)


def _solved(short: Attempt, long: Attempt) -> tuple[float, float]:
    """Seconds a token of prompt and of reply: both requests are some of each.  Too long rather than too short."""
    (p1, c1, t1), (p2, c2, t2) = (
        (row.prompt_tokens, max(1, row.completion_tokens), row.latency_ms / 1000)
        for row in (short, long)
    )
    most_prompt, most_completion = t2 / max(1, p2), t1 / c1
    det = p1 * c2 - p2 * c1
    if det == 0:
        return most_prompt, most_completion
    prompt_s, completion_s = (t1 * c2 - t2 * c1) / det, (p1 * t2 - p2 * t1) / det
    return (
        prompt_s if 0 < prompt_s < most_prompt else most_prompt,
        completion_s if 0 < completion_s < most_completion else most_completion,
    )


class _Props(BaseModel):
    """What is read of `/props`."""

    total_slots: Annotated[int, Field(ge=1)]


def told_slots(api_base: str) -> int | None:
    """How many requests a llama.cpp server computes at a time, as it says; None where it, or another, does not.

    No key is sent.  Blocks for two seconds at most.
    """
    parts = urlsplit(api_base)
    if parts.scheme not in {"http", "https"}:
        return None
    path = parts.path.rstrip("/").removesuffix("/v1") + "/props"
    address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", ""))
    try:
        with build_opener(ProxyHandler({})).open(address, timeout=_PROPS_S) as answer:
            return _Props.model_validate_json(answer.read(1_000_000)).total_slots
    except (OSError, ValueError, HTTPException):
        return None
