"""Measure the speed of a self-hosted model server with small requests.

Some servers compute one request at a time and take minutes for it, others dozens in seconds.  A short reply, a long
prompt and, if it matters, four requests at once show what a request needs and how many run at once.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from gigamind.errors import LlmError
from gigamind.i18n import Message, _, n_
from gigamind.llm.client import Request
from gigamind.llm.ledger import Attempt
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, DEFAULT_TIMEOUT_S

PROBE = "probe"
_MOST_CALLS = 7
_SHARE = 0.1  # of the remaining calls
_PROBE_TIMEOUT_S = 120.0  # a server may load its model at the first request
_MARGIN = 3.0  # factor of the time limit over the expected time
_REPLY_TOKENS = 48
_LONG_LINES = 40
_BESIDE = 4
_SLOW_S = 0.2  # time of a short reply; below it, client and network dominate
_ALL_AT_ONCE = 2.5  # replies in the time of one; from here on no limit is assumed


@dataclass(frozen=True, slots=True)
class Speed:
    """The measured speed of a server."""

    prompt_s: float  # seconds per token of a prompt
    completion_s: float  # seconds per token of a reply
    at_once: float = 1.0  # concurrent requests in the time of one, at least 1
    slots: int | None = None  # requests accepted at the same time; None if no limit was seen

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the time of a single request with these tokens."""
        return prompt_tokens * self.prompt_s + completion_tokens * self.completion_s

    def limit_s(self, prompt_tokens: float, completion_tokens: float, in_flight: int) -> float:
        """Return a generous time limit for a request among others, at least the default."""
        alone = self.seconds(prompt_tokens, completion_tokens)
        return max(DEFAULT_TIMEOUT_S, _MARGIN * alone * max(1.0, in_flight / self.at_once))

    def describe(self) -> Message:
        """Return a short description."""
        prompt, completion = (_rate(seconds) for seconds in (self.prompt_s, self.completion_s))
        if self.slots is None:
            return _(
                "{prompt} prompt tokens/s and {completion} reply tokens/s, several requests at a time",
                prompt=prompt,
                completion=completion,
            )
        return n_(
            "{prompt} prompt tokens/s and {completion} reply tokens/s, {n} request at a time",
            "{prompt} prompt tokens/s and {completion} reply tokens/s, {n} requests at a time",
            n=self.slots,
            prompt=prompt,
            completion=completion,
        )


def _rate(seconds: float) -> str:
    per_s = 1 / max(seconds, 1e-6)
    return f"{per_s:.1f}" if per_s < 10 else f"{min(per_s, 9999):.0f}"  # noqa: PLR2004


def _request_of(parameters: Mapping[str, int | float], max_tokens: int, lines: int = 0) -> Request:
    """Return a cheap request; no two begin alike, because servers cache prefixes."""
    mark = secrets.token_hex(4)
    text = "\n".join(f"{number}: {secrets.token_hex(4)}" for number in range(lines))
    task = "Write the numbers from one to a hundred, as words."
    content = f"{mark}\n{text}\n{task}" if lines else f"{mark}\n{task}"
    message = {"role": "user", "content": content}
    return Request((message,), None, {**parameters, "max_tokens": max_tokens}, _PROBE_TIMEOUT_S)


async def measure(
    send: Callable[[Request], Awaitable[Attempt]],
    request: Request,
    prompt_tokens: int,
    calls_left: int | None,
    *,
    beside: bool,
) -> Speed:
    """Return the speed of a server, from the ledger rows of requests like `request`, several `beside` each other.

    Raises LlmError if few calls are left, or as `send`.
    """
    if calls_left is not None and _SHARE * calls_left < _MOST_CALLS:
        reason = n_(
            "only {n} request is left within --max-calls",
            "only {n} requests are left within --max-calls",
            n=calls_left,
        )
        raise LlmError(reason, "not_asked")
    parameters = request.parameters
    await send(_request_of(parameters, 1))  # loads the model and connects
    short = await send(_request_of(parameters, _REPLY_TOKENS))
    long = await send(_request_of(parameters, 1, _LONG_LINES))
    prompt_s, completion_s = _solved(short, long)
    speed = Speed(prompt_s, completion_s)
    alone_s = short.latency_ms / 1000
    usual = speed.limit_s(prompt_tokens, request.max_tokens, DEFAULT_IN_FLIGHT)
    if not beside or alone_s < _SLOW_S or usual <= DEFAULT_TIMEOUT_S:
        return speed  # even if requests queue, each is answered in time
    begun = time.perf_counter()
    sent = [send(_request_of(parameters, _REPLY_TOKENS)) for _number in range(_BESIDE)]
    await asyncio.gather(*sent)
    at_once = max(1.0, _BESIDE * alone_s / (time.perf_counter() - begun))
    limit = None if at_once >= _ALL_AT_ONCE else round(at_once)
    return Speed(prompt_s, completion_s, at_once, limit)


def _solved(short: Attempt, long: Attempt) -> tuple[float, float]:
    """Solve two requests for seconds per token of prompt and of reply; errs towards too long."""
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
