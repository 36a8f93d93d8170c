"""Tells what went wrong, in stable codes and without keys: of what a server answered, or why it did not.

What mends it: `with_retries`, the one owner of retries, waits faults of the transport out; people get `advice_for`.
"""

import asyncio
import random
import re
import socket
from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit, urlunsplit

from gigamind.errors import LlmCode, LlmError
from gigamind.llm.client import Answer
from gigamind.llm.redaction import one_line
from gigamind.llm.settings import ModelSettings

if TYPE_CHECKING:
    from tenacity import RetryCallState

Result = TypeVar("Result")
TRANSIENT: frozenset[LlmCode] = frozenset(
    {"rate_limited", "server_error", "timeout", "malformed_response"}
)
_LONGEST_CHARS = 300
_LONGEST_BACKOFF_S = 20.0
_GAVE_UP = frozenset(
    {408, 504, 524}
)  # a time-out, ours or a gateway's: what it waited for may come to its end
_QUOTA = re.compile(r"quota|billing|insufficient.{0,9}(balance|credit|funds)", re.IGNORECASE)
_FILTER = re.compile(r"content.?(policy|filter|management)", re.IGNORECASE)
# As OpenAI, vLLM, llama.cpp, TGI, Gemini and gateways before them say it.
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context l|context limit|context size|model's context length"
    r"|input tokens exceed|maximum (number of tokens|input length)|`inputs` tokens",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"unsupported|(not|n't) support|only the default|only .{0,20}is supported", re.IGNORECASE
)


def fault_of(answer: Answer, raised_by: str) -> LlmError | None:
    """Why an answer that came is none; None for one that is worth parsing.

    Args:
        raised_by: what a person raises its `max_tokens` by.
    """
    if answer.finish == "none":
        return LlmError("the server sent a reply without any choice", "malformed_response")
    if answer.refusal:
        return LlmError(f"the model refused: {scrub(answer.refusal)}", "refused")
    if answer.finish == "content_filter":
        return LlmError("the server's content filter stopped the reply", "content_filtered")
    if answer.finish == "length":
        return LlmError(
            f"the reply was cut off at max_tokens, which is raised by {raised_by}", "truncated"
        )
    return None


def error_of_status(
    model: str,
    status: int,
    text: str,
    *,
    code: LlmCode | None = None,
    retry_after: str | None = None,
    answered: bool = True,
) -> LlmError:
    """Our error for an HTTP status and what was said with it.

    Args:
        code: where it is known; else it follows from status and words.
        answered: the server itself said so; else a connection broke, whatever the status, and it may have generated.
    """
    code = code or code_of(status, text)
    may_cost = status in _GAVE_UP or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and not answered)
    message = f"{model}: {scrub(text)}{_HINTS.get(code, '')}"
    return LlmError(message, code, status, _retry_after_s(retry_after), may_cost)


def code_of(status: int, text: str) -> LlmCode:
    """The code of an error by its HTTP status and its words."""
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return "timeout"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "quota_exhausted" if _QUOTA.search(text) else "rate_limited"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return "auth_failed"
    if _TOO_LONG.search(text):
        return "context_too_long"
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return "content_filtered" if _FILTER.search(text) else "bad_request"
    return "server_error"


def unreached(model: str, address: str, why: str = "cannot connect") -> LlmError:
    """No request came to a server at an address: nothing was generated."""
    hint = f"is there a server at {without_password(address)}?"
    return LlmError(f"{model}: {scrub(why)}; {hint}", "server_error")


def lost(model: str, why: str, code: LlmCode = "server_error") -> LlmError:
    """An answer that may have been generated, and did not come or cannot be read."""
    return LlmError(f"{model}: {scrub(why)}", code, None, None, may_cost=True)


def missing_provider(name: str, api_base: str | None) -> str:
    """What the name of a model without a known provider may be meant for."""
    bare = name.rpartition("/")[2]
    if api_base:
        return f"The provider is missing: openai/{name} for a server of the OpenAI protocol."
    family = next((known for known in _FAMILIES if bare.lower().startswith(known)), None)
    if family:
        return f"The provider is missing: did you mean {_FAMILIES[family]}/{bare}?"
    return (
        f"The provider is missing: such as openai/{name}, anthropic/{name} or ollama_chat/{name}."
    )


def unset_key(model: str, variable: str) -> str:
    """What to say where a variable of the environment holds no key."""
    first = variable.partition(" ")[0]
    return f"{model}: set {variable} in the environment, such as: export {first}=..."


def refused_parameter(text: str, names: Collection[str]) -> str | None:
    """Which of the parameters that were sent a server says it does not take; None where it says something else."""
    if not _UNSUPPORTED.search(text):
        return None
    return next((name for name in names if re.search(rf"\b{name}\b", text)), None)


def is_reached(exception: BaseException | None) -> bool:
    """Whether a server may have got the request that ended so: nothing listens there, or there is no such host."""
    while exception is not None:
        if isinstance(exception, ConnectionRefusedError | socket.gaierror):
            return False
        exception = exception.__cause__ or exception.__context__
    return True


def without_password(address: str) -> str:
    """An address without the name and the password that may stand in it."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scrub(text: str) -> str:
    """A text on one line, without secrets, at most 300 characters long."""
    return one_line(text, _LONGEST_CHARS)


_FAMILIES = {
    **dict.fromkeys(("gpt", "o1", "o3", "o4", "chatgpt", "text-embedding"), "openai"),
    "claude": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "command": "cohere_chat",
    "grok": "xai",
}

_HINTS: dict[LlmCode, str] = {
    "auth_failed": "; check the provider's key in the environment",
    "quota_exhausted": "; the account has no money or quota left",
    "context_too_long": "; use a model with a longer context, or send less text",
}


def _retry_after_s(header: str | None) -> float | None:
    try:
        wait = float(header or "")
    except ValueError:  # absent, or a date
        return None
    return wait if 0 <= wait < float("inf") else None


async def with_retries(
    attempt: Callable[[], Awaitable[Result]],
    settings: ModelSettings,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    hopeless: Callable[[], bool] = lambda: False,
) -> Result:
    """The result of the first attempt that the transport lets through; `attempt` is an `async def`.

    Args:
        hopeless: whether another attempt would end as the last one.

    Raises:
        LlmError: that of the last attempt, or what `sleep` raises.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    # A new one each time: it keeps the state of one call, and shared between tasks all but one fail.
    retrying = AsyncRetrying(
        retry=retry_if_exception(
            lambda error: is_transient(error, settings.max_wait_s) and not hopeless()
        ),
        stop=stop_after_attempt(settings.attempts),
        wait=lambda state: _wait_s(state, settings.backoff_s),
        sleep=sleep,
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except LlmError as error:
        asked_s = error.retry_after_s or 0.0
        if error.code not in TRANSIENT or asked_s <= settings.max_wait_s:
            raise
        message = (
            f"{error}; the server asks to wait {asked_s:g} s, longer than --max-wait {settings.max_wait_s:g} allows:"
            " go on later, or raise it"
        )
        raise LlmError(message, *error.args[1:]) from None


def is_transient(error: BaseException, max_wait_s: float) -> bool:
    """Whether waiting may mend it: not when the server asks to wait for longer than that."""
    if not isinstance(error, LlmError) or error.code not in TRANSIENT:
        return False
    return (error.retry_after_s or 0.0) <= max_wait_s


def backoff_s(attempt: int, first_s: float, retry_after_s: float | None) -> float:
    """Seconds to wait after an attempt, from 1: doubled each time, less a bit of chance, never below `Retry-After`."""
    doubled = min(_LONGEST_BACKOFF_S, first_s * 2 ** (attempt - 1))
    return max(doubled * random.uniform(0.5, 1.0), retry_after_s or 0.0)  # noqa: S311


def _wait_s(state: "RetryCallState", first_s: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    retry_after_s = error.retry_after_s if isinstance(error, LlmError) else None
    return backoff_s(state.attempt_number, first_s, retry_after_s)


def advice_for(error: LlmError, settings: ModelSettings) -> str:
    """How to mend an error, as a sentence or two."""
    advice = _advice(error, settings)
    missing = missing_provider(settings.model, settings.api_base)
    if missing in str(error):
        return missing
    return advice if "/" in settings.model else f"{advice} {missing}"


def _advice(error: LlmError, settings: ModelSettings) -> str:
    if settings.mode == "json_schema":
        if error.code == "invalid_output":
            return "Its reply is not as asked for: try --structured md_json, or a larger model."
        if error.code == "bad_request" and error.status not in {None, HTTPStatus.NOT_FOUND}:
            return "The model gives no structured output: try --structured md_json."
    advice = _ADVICE.get(error.code, "This model cannot judge as it is called here.")
    if error.status == HTTPStatus.NOT_FOUND:
        advice = "There is no such model, or no such address: check both names."
    return advice.format(where=settings.api_base or "The provider")


_SILENT = "{where} does not answer: is the address right, and is the server running?"
_ADVICE: dict[LlmCode, str] = {
    "auth_failed": "The key is missing or refused: set the provider's key in the environment.",
    "quota_exhausted": "The account has no quota left: look at the provider's billing page.",
    "rate_limited": "The server answers, but has no room now: try again later.",
    "timeout": _SILENT,
    "server_error": _SILENT,
    "malformed_response": "{where} answers in another protocol: is the address right (often .../v1)?",
}
