"""Classify errors of model servers into stable codes, with messages free of keys.

`with_retries` retries transport errors; `advice_for` says how to fix the others.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar, cast

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import Message, _, joined
from gigamind.llm.settings import ModelSettings
from gigamind.redaction import single_line

if TYPE_CHECKING:
    from tenacity import RetryCallState

_Result = TypeVar("_Result")
TRANSIENT: frozenset[LlmCode] = frozenset(
    {"rate_limited", "server_error", "timeout", "malformed_response"}
)
_LONGEST_CHARS = 300
_LONGEST_BACKOFF_S = 20.0
# A time-out of ours or of a gateway: the server may still finish the request.
_GAVE_UP = frozenset({408, 504, 524})
# Rate limits, which end by themselves, link to pages about quota and billing.
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing.hard.limit|insufficient.{0,9}(balance|credit|funds)",
    re.IGNORECASE,
)
_LATER = re.compile(r"(retry|try again).?(in|after|delay)\b", re.IGNORECASE)
_FILTER = re.compile(r"content.?(policy|filter|management)|moderation|flagged", re.IGNORECASE)
# Phrases of OpenAI, Anthropic, vLLM, llama.cpp, TGI, Gemini and gateways before them.
_TOO_LONG = re.compile(
    r"context_length_exceeded|prompt is too long|maximum context l|context limit|context size|model's context length"
    r"|input tokens exceed|maximum (number of tokens|input length)|`inputs` tokens|input is too long",
    re.IGNORECASE,
)


def error_of_status(
    model: str, status: int, text: str, *, retry_after: str | None = None, answered: bool = True
) -> LlmError:
    """Return the error for an HTTP status and its text.

    `answered` is False if the server itself did not send the status: it may have generated an answer.
    """
    code = code_of(status, text, waits=retry_after is not None)
    may_cost = status in _GAVE_UP or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and not answered)
    reason, hint = scrub(text), _ADVICE[code] if code in _ADDED else None
    message = _("{model}: {reason}", model=model, reason=reason)
    if hint:
        message = _("{model}: {reason}. {fix}", model=model, reason=reason.rstrip("."), fix=hint)
    return LlmError(message, code, status, _retry_after_s(retry_after), may_cost)


def code_of(status: int, text: str, *, waits: bool = False) -> LlmCode:  # noqa: PLR0911  one per case
    """Return the code of an error from its HTTP status and text; `waits`: the server said when to try again."""
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return "timeout"
    if status == HTTPStatus.PAYMENT_REQUIRED:
        return "quota_exhausted"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        is_over = not waits and _QUOTA.search(text) and not _LATER.search(text)
        return "quota_exhausted" if is_over else "rate_limited"
    if status == HTTPStatus.FORBIDDEN and _FILTER.search(text):
        return "content_filtered"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return "auth_failed"
    if status in {HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY}:
        return "server_error"  # retried, as by the SDKs of the providers
    if _TOO_LONG.search(text):
        return "context_too_long"
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return "content_filtered" if _FILTER.search(text) else "bad_request"
    return "server_error"


def lost(
    model: str, why: str, code: LlmCode = "server_error", *, may_cost: bool = True
) -> LlmError:
    """Return the error for an answer that may have been generated but did not come or cannot be read."""
    return LlmError("{model}: {reason}", code, may_cost=may_cost, model=model, reason=scrub(why))


def missing_provider(name: str, api_base: str | None) -> Message:
    """Return a suggestion for a model name without a known provider."""
    if api_base:
        return _(
            "The model name lacks the provider. For a server with the OpenAI protocol, use openai/{name}.",
            name=name,
        )
    return _(
        "The model name lacks the provider. Use for example openai/{name}, anthropic/{name} or ollama_chat/{name}.",
        name=name.rpartition("/")[2],
    )


def unset_key(model: str, variable: str) -> Message:
    """Return the message for an environment variable without a key."""
    first = variable.partition(" ")[0]
    return _(
        "{model}: set {variable} in the environment, for example: export {first}=...",
        model=model,
        variable=variable,
        first=first,
    )


def is_reached(exception: BaseException | None) -> bool:
    """Return whether a server may have received the request; False for a refused connection or an unknown host."""
    while exception is not None:
        if isinstance(exception, ConnectionRefusedError | socket.gaierror):
            return False
        exception = exception.__cause__ or exception.__context__
    return True


def scrub(text: str) -> str:
    """Return a text on one line without secrets, at most 300 characters; of a message, scrub its values."""
    if isinstance(text, Message):
        values = {name: _scrubbed(value) for name, value in text.values.items()}
        return Message(text.id, values, text.plural)
    return single_line(text, _LONGEST_CHARS)


def _scrubbed(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_scrubbed(part) for part in cast("Sequence[object]", value)]
    return scrub(value) if isinstance(value, str) else value


_ADVICE: dict[LlmCode, Message] = {
    "auth_failed": _(
        "The API key is missing or was rejected. Set the provider's key in the environment."
    ),
    "quota_exhausted": _(
        "Your account at the provider has no quota left. See the provider's billing page."
    ),
    "context_too_long": _("Use a model with a larger context window, or send less text."),
    "rate_limited": _("The server is overloaded. Try again later."),
}
_ADDED: frozenset[LlmCode] = frozenset({"auth_failed", "quota_exhausted", "context_too_long"})


def _retry_after_s(header: str | None) -> float | None:
    try:
        wait = float(header or "")
    except ValueError:  # missing, or a date
        return None
    return wait if 0 <= wait < float("inf") else None


async def with_retries(
    attempt: Callable[[], Awaitable[_Result]],
    settings: ModelSettings,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    hopeless: Callable[[], bool] = lambda: False,
) -> _Result:
    """Return the result of the first attempt without a transport error, unless it is `hopeless` to try again.

    Raises the LlmError of the last attempt, or one of `sleep`.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt
    from tenacity import wait_random_exponential as backoff

    doubled_s = backoff(settings.backoff_s, _LONGEST_BACKOFF_S)

    def wait_s(state: "RetryCallState") -> float:
        error = state.outcome.exception() if state.outcome else None
        return max(doubled_s(state), getattr(error, "retry_after_s", None) or 0.0)

    # A new object each time: it stores the state of one call and cannot be shared between tasks.
    retrying = AsyncRetrying(
        retry=retry_if_exception(
            lambda error: _is_transient(error, settings.max_wait_s) and not hopeless()
        ),
        stop=stop_after_attempt(settings.attempts),
        wait=wait_s,
        sleep=sleep,
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except LlmError as error:
        requested_s = error.retry_after_s or 0.0
        if error.code not in TRANSIENT or requested_s <= settings.max_wait_s:
            raise
        raise LlmError(
            "{reason}. The server requests a wait of {seconds:g} s, but --max-wait is {limit:g} s. Resume the run"
            " later, or raise --max-wait.",
            *error.args[1:],
            reason=error.message,
            seconds=requested_s,
            limit=settings.max_wait_s,
        ) from None


def _is_transient(error: BaseException, max_wait_s: float) -> bool:
    """Return whether a retry can help; False if the server requests a longer wait than `max_wait_s`."""
    if not isinstance(error, LlmError) or error.code not in TRANSIENT:
        return False
    return (error.retry_after_s or 0.0) <= max_wait_s


def advice_for(error: LlmError, settings: ModelSettings) -> Message:
    """Return how to fix an error."""
    missing = missing_provider(settings.model, settings.api_base)
    if missing in str(error):
        return missing
    advice = _advice(error, settings)
    return advice if "/" in settings.model else joined([advice, missing], separator=" ")


def _advice(error: LlmError, settings: ModelSettings) -> Message:
    if settings.mode == "json_schema":
        if error.code == "invalid_output":
            return _(
                "The model's reply does not have the requested JSON form. Try --structured md_json or a larger"
                " model."
            )
        if error.code == "bad_request" and error.status not in {None, HTTPStatus.NOT_FOUND}:
            return _("The model does not support structured output. Try --structured md_json.")
    if error.status == HTTPStatus.NOT_FOUND:
        return _(
            "The server does not know this model or this address. Check the model's name and the address."
        )
    server = settings.api_base or _("The provider")
    if error.code in {"timeout", "server_error"}:
        return _(
            "{server} does not answer. Check the address, and whether the server is running.",
            server=server,
        )
    if error.code == "malformed_response":
        return _(
            "{server} does not answer in the expected protocol. Check the address; it often ends in /v1.",
            server=server,
        )
    unusable = _("This model cannot be used as a judge with these settings.")
    return _ADVICE.get(error.code, unusable)
