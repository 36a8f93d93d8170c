"""A request to a language model, how it is adapted to a provider, its answer, the interface of models, and tokens.

Tokens are estimated without a tokenizer. Latin text has 3 to 5 characters per token.  Korean has 1 to 2 tokens per 2
characters with older tokenizers and fewer with newer ones.  `most_tokens` is for limits.  `Counted` estimates what a
server did not report or reported wrongly.
"""

import json
import math
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
    """Tokens of one answer as the server reported them; unchecked until `Counted` has seen them."""

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


_MOST = (2.5, 0.6)  # characters per token, of ASCII and others
_LIKELY = (4.0, 1.25)
_OVERHEAD = 8  # tokens for role and separators of a message
_TEMPLATE = 1_000  # tokens that a server can add to a prompt
_SPARE = 16  # tokens that a server can generate beyond the limit
_MOST_BYTES, _MOST_CHARS = 48, 16  # of a token, on average over a prompt or an answer


def most_tokens(whole: Request | str) -> int:
    """Return an upper bound for the tokens of a request or a text, except for rare scripts."""
    return _count(whole, _MOST)


def likely_tokens(whole: Request | str) -> int:
    """Return the likely tokens of a request or a text."""
    return _count(whole, _LIKELY)


class Counted:
    """Tokens of one model's answers as the server reports them, if plausible; else estimated from those reported."""

    def __init__(self) -> None:
        self._prompt: float | None = None  # highest ratio of reported to likely tokens
        self._completion: float | None = None

    def usage(self, request: Request, answer: Answer) -> tuple[Usage, bool]:
        """Return the tokens of an answer, and whether the server reported all of them plausibly.

        A reported number counts if it is neither above what the request allows nor below what the texts contain.
        """
        reported, text = answer.usage or Usage(0, 0), answer.text or ""
        prompt, completion = reported.prompt_tokens, reported.completion_tokens
        content, form = _bytes(request)  # servers that use the schema as a grammar do not count it
        prompt_fits = content / _MOST_BYTES <= prompt <= content + form + _TEMPLATE
        completion_fits = (
            answer.usage is not None
            and len(text) / _MOST_CHARS <= completion <= request.max_tokens + _SPARE
        )
        cached, written = reported.cached_tokens, reported.written_tokens
        cached_fits = min(cached, written) >= 0 and cached + written <= max(prompt, 0)
        likely_prompt, likely_text = likely_tokens(request), likely_tokens(text)
        if prompt > content + form + _TEMPLATE:
            prompt = content + form
        elif not prompt_fits:
            prompt = _estimate(
                likely_prompt, most_tokens(request), most_tokens(request), self._prompt
            )
        elif cached_fits and completion_fits:
            self._prompt = max(self._prompt or 0.0, prompt / max(likely_prompt, 1))
            self._completion = max(self._completion or 0.0, completion / max(likely_text, 1))
        if completion > request.max_tokens + _SPARE:
            completion = request.max_tokens
        elif not completion_fits:  # the text lacks the thoughts of a reasoning model
            at_most = most_tokens(text)
            limit = max(at_most, request.max_tokens)
            completion = _estimate(likely_text, at_most, limit, self._completion)
        if not cached_fits or not prompt_fits:
            cached = written = 0
        all_fit = prompt_fits and completion_fits and cached_fits
        return Usage(prompt, completion, cached, written), all_fit


def _estimate(likely: int, unknown: int, most: int, ratio: float | None) -> int:
    return unknown if ratio is None else min(most, math.ceil(likely * ratio))


def _bytes(request: Request) -> tuple[int, int]:
    """Return the sizes of the messages and the schema of a request; a token has at least one byte."""
    form = json.dumps(request.form, ensure_ascii=False) if request.form else ""
    texts = (str(message.get("content") or "") for message in request.messages)
    content = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return content, len(form.encode("utf-8", "replace"))


def _count(whole: Request | str, chars: tuple[float, float]) -> int:
    if isinstance(whole, Request):
        texts = [str(message.get("content") or "") for message in whole.messages]
        form = json.dumps(whole.form) if whole.form else ""
        return sum(_count(text, chars) + _OVERHEAD for text in texts) + _count(form, chars)
    ascii_chars, other_chars = chars
    plain = len(whole.encode("ascii", "ignore"))
    return math.ceil(plain / ascii_chars + (len(whole) - plain) / other_chars)
