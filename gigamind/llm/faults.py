"""Tells what went wrong, in stable codes and without keys: of litellm's exceptions, and of answers that are none."""

import re
import socket
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

from gigamind.errors import LlmCode, LlmError
from gigamind.llm.client import Answer
from gigamind.llm.loading import load_litellm

TRANSIENT: frozenset[LlmCode] = frozenset(
    {"rate_limited", "server_error", "timeout", "malformed_response"}
)
_LONGEST_CHARS = 300
_SECRETS = re.compile(
    r"sk-[\w*-]{4,}|AIza[\w-]{10,}|(?i:bearer)\s+\S+|(?i:api[-_ ]?key)\W{1,4}(?!provided)\S+"
)
# A body that is no completion comes out of litellm as status 500; only its words tell.
_NOT_A_COMPLETION = re.compile(
    r"Expecting|Unterminated|(Empty or i|I)nvalid response|Invalid \\escape"
)
_UNREACHED = re.compile(r"Connection error|Cannot connect to host")
_GAVE_UP = frozenset(
    {408, 504, 524}
)  # a time-out, ours or a gateway's: what it waited for may come to its end
_QUOTA = re.compile(r"quota|billing|insufficient.{0,9}(balance|credit|funds)", re.IGNORECASE)
_FILTER = re.compile(r"content.?(policy|filter|management)", re.IGNORECASE)


def fault_of(answer: Answer) -> LlmError | None:
    """Why an answer that came is none; None for one that is worth parsing."""
    if answer.finish == "none":
        return LlmError("the server sent a reply without any choice", "malformed_response")
    if answer.refusal:
        return LlmError(f"the model refused: {scrub(answer.refusal)}", "refused")
    if answer.finish == "content_filter":
        return LlmError("the server's content filter stopped the reply", "content_filtered")
    if answer.finish == "length":
        return LlmError("the reply was cut off at max_tokens", "truncated")
    return None


def error_from(exception: Exception, model: str, api_base: str | None = None) -> LlmError:
    """Our error for anything that litellm raises, its text scrubbed; `api_base` is where the model was to be."""
    text = scrub(str(exception))
    status = getattr(exception, "status_code", None)
    if isinstance(exception, ImportError) or "No module named" in text:
        # litellm disguises it as a connection error, which would be retried.
        return LlmError(f"{model}: this installation is broken: {text}", "bad_request")
    code = _code(exception, status, text)
    hint = _HINTS.get(code, "")
    if api_base and _UNREACHED.search(text):
        text, hint = "cannot connect", f"; is there a server at {_address(api_base)}?"
    may_cost = _may_cost(exception, status)
    return LlmError(f"{model}: {text}{hint}", code, status, _retry_after_s(exception), may_cost)


def _may_cost(exception: Exception, status: int | None) -> bool:
    """Whether the server may have generated an answer: unless it refused to, or was never reached.

    litellm gives a connection that was cut the status 500, as if the server had answered; only headers prove an answer.
    """
    link: BaseException | None = exception
    while link is not None:
        if isinstance(link, ConnectionRefusedError | socket.gaierror):
            return False
        link = link.__cause__ or link.__context__
    answered = getattr(exception, "litellm_response_headers", None) is not None
    if status is None or status < HTTPStatus.BAD_REQUEST or status in _GAVE_UP:
        return True
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and not answered


def _address(api_base: str) -> str:
    """An address without the name and the password that may stand in it."""
    parts = urlsplit(api_base)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scrub(text: str) -> str:
    """A text without what looks like a key, at most 300 characters long."""
    return _SECRETS.sub("[redacted]", text)[:_LONGEST_CHARS]


_HINTS: dict[LlmCode, str] = {
    "auth_failed": "; check the provider's key in the environment",
    "quota_exhausted": "; the account has no money or quota left",
    "context_too_long": "; use a model with a longer context, or send less text",
}


def _code(exception: Exception, status: int | None, text: str) -> LlmCode:  # noqa: PLR0911
    known = load_litellm().exceptions
    if isinstance(exception, TimeoutError) or status == HTTPStatus.REQUEST_TIMEOUT:
        return "timeout"
    if isinstance(exception, known.ContextWindowExceededError):
        return "context_too_long"
    if isinstance(exception, known.ContentPolicyViolationError):
        return "content_filtered"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "quota_exhausted" if _QUOTA.search(text) else "rate_limited"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return "auth_failed"
    if status is not None and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return "content_filtered" if _FILTER.search(text) else "bad_request"
    return "malformed_response" if _NOT_A_COMPLETION.search(text) else "server_error"


def _retry_after_s(exception: Exception) -> float | None:
    headers: dict[str, str] = getattr(exception, "litellm_response_headers", None) or {}
    try:
        wait = float(headers.get("retry-after", ""))
    except ValueError:  # absent, or a date
        return None
    return wait if 0 <= wait < float("inf") else None
