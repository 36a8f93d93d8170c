"""A request to a language model, how it is adapted to a provider, its answer, and the interface of models."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from gigamind.errors import LlmError

Message = Mapping[str, Any]
Reply = TypeVar("Reply", bound=BaseModel)
_LENGTHS = ("minLength", "maxLength")
_MOST_REPETITIONS = 1_999
_OWN_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa", ".localhost")


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
    """Tokens of one answer as the server reported them; unchecked until `tokens.Counted` has seen them."""

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


class Asked(Protocol):
    """A model that gives validated replies, as `ask.LanguageModel` does; judges depend on this interface."""

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        item_id: str,
        fingerprint: str = "",
        repeat: int = 0,
        fresh: bool = False,
        max_tokens: int | None = None,
    ) -> Reply:
        """Return a validated reply as `ask.LanguageModel.ask`; raise LlmError if the model gave none."""
        ...


def sent_schema(schema: Mapping[str, Any], api_base: str | None) -> dict[str, Any]:
    """Return a reply's schema for the server at `api_base`; None is the provider's address.

    Self-hosted servers get length limits of strings, because their grammars would let a small model write for ever.
    OpenAI's strict mode documents `maxItems` but no string lengths, and its Java client rejects them.  Anthropic
    accepts neither, and litellm removes them there.  llama.cpp before August 2026 rejects more than 2 000 repetitions.
    """
    most = _MOST_REPETITIONS if _is_own(api_base) else 0

    def within(row: dict[str, Any]) -> dict[str, Any]:
        lengths = {name: row[name] for name in _LENGTHS if isinstance(row.get(name), int)}
        return {name: value for name, value in row.items() if lengths.get(name, 0) <= most}

    return json.loads(json.dumps(schema), object_hook=within)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name
        return host == "localhost"


def on_loopback(address: str | None) -> bool:
    """Return whether the address of a server is on this machine."""
    return is_loopback(urlsplit(address or "").hostname or "")


def _is_own(api_base: str | None) -> bool:
    host = urlsplit(api_base or "").hostname or ""
    try:
        return ip_address(host).is_private  # includes loopback
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_OWN_SUFFIXES))
