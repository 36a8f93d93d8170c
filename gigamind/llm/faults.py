"""Tells what went wrong, in stable codes and without keys: of what a server answered, or why it did not."""

import re
import socket
from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

from gigamind.errors import LlmCode, LlmError
from gigamind.llm.client import Answer
from gigamind.llm.redaction import one_line

TRANSIENT: frozenset[LlmCode] = frozenset(
    {"rate_limited", "server_error", "timeout", "malformed_response"}
)
_LONGEST_CHARS = 300
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
