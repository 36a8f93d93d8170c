"""Adapt messages and schemas of a request to a provider.

Prompts begin with their system message, which is the same for all items of a judge.  Most servers cache this prefix.
Anthropic needs a mark after it and caches it for 5 minutes after its last use.  The first request costs a quarter more
for these tokens, later ones a tenth.  A mark after a prefix below a model's minimum has no effect and costs nothing.
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from gigamind.llm.client import Message

_MARK = {"type": "ephemeral"}


def with_marked_prefix(messages: Sequence[Message], model: str) -> list[dict[str, Any]]:
    """Return copies of the messages, for Anthropic's models with a mark after the system message."""
    copies = [dict(message) for message in messages]
    text = copies[0]["content"]
    if model.startswith("anthropic/") and copies[0]["role"] == "system" and isinstance(text, str):
        copies[0]["content"] = [{"type": "text", "text": text, "cache_control": _MARK}]
    return copies


_LENGTHS = ("minLength", "maxLength")
_MOST_REPETITIONS = 1_999
_OWN_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa", ".localhost")


def sent_schema(schema: Mapping[str, Any], api_base: str | None) -> dict[str, Any]:
    """Return a reply's schema for the server at `api_base`; None is the provider's address.

    Self-hosted servers get length limits of strings, because their grammars would let a small model write for ever.
    OpenAI's strict mode documents `maxItems` but no string lengths, and its Java client rejects them.  Anthropic
    accepts neither, and litellm removes them there.  llama.cpp before August 2026 rejects more than 2 000 repetitions.
    """
    return _within(schema, _MOST_REPETITIONS if _is_own(api_base) else 0)


def _within(schema: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {
        name: _inside(value, most)
        for name, value in schema.items()
        if name not in _LENGTHS or not isinstance(value, int) or value <= most
    }


def _inside(value: object, most: int) -> object:
    if isinstance(value, Mapping):
        return _within(cast("Mapping[str, Any]", value), most)
    if isinstance(value, list):
        return [_inside(row, most) for row in cast("list[object]", value)]
    return value


def _is_own(api_base: str | None) -> bool:
    host = urlsplit(api_base or "").hostname or ""
    try:
        return ip_address(host).is_private  # includes loopback
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_OWN_SUFFIXES))
