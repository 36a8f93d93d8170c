"""A reply's JSON schema as the server at an address takes it."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

_LENGTHS = ("minLength", "maxLength")
_MOST_REPETITIONS = 1_999
_OWN_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa", ".localhost")


def sent_schema(schema: Mapping[str, Any], api_base: str | None) -> dict[str, Any]:
    """A reply's schema for the server at that address; None for that of the provider.

    Strings have bounds on servers of one's own, whose grammars would else let a small model write for ever.  OpenAI's
    strict mode documents `maxItems` and no length of strings, and its Java client refuses one; Anthropic takes neither,
    and litellm leaves them out there.  llama.cpp of before August 2026 refuses more than 2 000 repetitions.
    """
    return _within(schema, _MOST_REPETITIONS if _is_own(api_base) else 0)


def _within(schema: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The same without lengths of strings above `most`; a field may be called like one, but is no number."""
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
    """Whether a server stands on this machine or its network, and not at a provider."""
    host = urlsplit(api_base or "").hostname or ""
    try:
        return ip_address(host).is_private  # loopback is, too
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_OWN_SUFFIXES))
