"""A request to a language model, its answer, and an estimate of their tokens.

Tokens are estimated without a tokenizer. Latin text has 3 to 5 characters per token.  Korean has 1 to 2 tokens per 2
characters with older tokenizers and fewer with newer ones.  `most_tokens` is for limits.
"""

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from gigamind.errors import LlmError

Message = Mapping[str, Any]
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as sent, without key and address."""

    messages: tuple[Message, ...]
    form: Mapping[str, Any] | None  # of instructor: `response_format`, or `tools` and `tool_choice`
    parameters: Mapping[str, int | float]  # always `max_tokens`; `temperature`, `seed` if accepted
    timeout_s: float | None = None  # None for that of the settings
    on_text: Callable[[str], Awaitable[None]] | None = None  # awaited for each piece of text

    @property
    def max_tokens(self) -> int:
        """Upper limit of tokens in the answer."""
        return int(self.parameters["max_tokens"])

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the answer; None if the messages alone ask for it."""
        form = self.form or {}
        if tools := form.get("tools"):
            return tools[0]["function"]["parameters"]
        return form.get("response_format", {}).get("json_schema", {}).get("schema")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer as the server reported them; unchecked."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0  # of the prompt, read from the server's cache
    written_tokens: int = 0  # of the prompt, written to its cache, if that has a price


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server, before validation."""

    text: str | None
    finish: str = "stop"  # or `length`, `content_filter`, `none` (no choice at all)
    refusal: str | None = None
    usage: Usage | None = None  # None if the server reported none; never zero tokens
    model: str = ""  # the server's name of the model
    fingerprint: str = ""  # fingerprint of the server's configuration; empty if it reports none


class ParameterRefusedError(LlmError):
    """The model rejects or requires a parameter.  The client follows from now on; the request can be sent again."""

    def __init__(self, error: LlmError, parameter: str) -> None:
        LlmError.__init__(self, *error.args)
        self.parameter = parameter

    def __reduce__(self) -> tuple[type[LlmError], tuple[Any, ...]]:
        return LlmError, self.args  # after pickling, nobody sends the request again


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name
        return host == "localhost"


def on_loopback(address: str | None) -> bool:
    """Return whether the address of a server is on this machine."""
    return is_loopback(urlsplit(address or "").hostname or "")


_MOST = (2.5, 0.6)  # characters per token, of ASCII and others
_LIKELY = (4.0, 1.25)
_OVERHEAD = 8  # tokens for role and separators of a message


def most_tokens(whole: Request | str) -> int:
    """Return an upper bound for the tokens of a request or a text, except for rare scripts."""
    return _count(whole, _MOST)


def likely_tokens(whole: Request | str) -> int:
    """Return the likely tokens of a request or a text."""
    return _count(whole, _LIKELY)


def _count(whole: Request | str, chars: tuple[float, float]) -> int:
    if isinstance(whole, Request):
        texts = [str(message.get("content") or "") for message in whole.messages]
        form = json.dumps(whole.form) if whole.form else ""
        return sum(_count(text, chars) + _OVERHEAD for text in texts) + _count(form, chars)
    ascii_chars, other_chars = chars
    plain = len(whole.encode("ascii", "ignore"))
    return math.ceil(plain / ascii_chars + (len(whole) - plain) / other_chars)
