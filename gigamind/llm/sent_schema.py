"""Adapt a reply's JSON schema to the server at an address."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

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
