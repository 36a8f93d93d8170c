"""Remove secrets from texts by their value: a server can echo everything it received, in any encoding.

Secrets are the values of environment variables with names such as KEY or TOKEN, and user and password of an address.
Text in the form of a provider's key is removed too, because a server can name a key that is not ours.
"""

import base64
import json
import os
import re
from functools import lru_cache
from urllib.parse import parse_qsl, quote, quote_plus, unquote

_REDACTED = "[redacted]"
_SHORTEST = 8  # characters of a variable's value; a shorter one is a number or a word
_LOOKED_AT = 100_000  # characters of a text for a message
_WHOLE_WORD = 8  # a shorter password is removed only as a whole word
_NAME = re.compile(
    r"(?:^|_)(?:\w*KEYS?|\w*TOKENS?|\w*SECRETS?|\w*PASS(?:WORD|WD|PHRASE)?|\w*CREDENTIALS?|AUTH|BEARER|PAT)(?:_|$)|_PWD$",
    re.IGNORECASE,
)
_SHAPES = (
    r"sk-[\w*-]{4,}",
    r"AIza[\w-]{10,}",
    r"(?i:bearer|basic)\s+(?!auth)[^\s\"',;}]{4,}",
    r"(?i:api[-_ ]?key)\W{1,4}(?!provided)\S+",
)
_USERINFO = re.compile(r"(?<=//)([^/\s@:\"']+)(?::([^/\s@\"']*))?(?=@)")
_addresses: set[str] = set()
_variables: set[str] = set()
_values: set[str] = set()


def keep_secret(address: str | None) -> None:
    """Register name, password and query of an address as secrets."""
    if address and "@" in address:
        _addresses.add(address)
    for _, value in parse_qsl((address or "").partition("?")[2]):
        keep_secret_value(value)


def keep_secret_of(variable: str | None) -> None:
    """Register an environment variable that holds a key under any name."""
    if variable:
        _variables.add(variable)


def keep_secret_value(value: str) -> None:
    """Register the words of a value that can hold a key, such as a header after the name of its scheme."""
    _values.update(word for word in value.split() if len(word) >= _SHORTEST)


def without_secrets(address: str) -> str:
    """Return an address for a report: without user, password and query, which can hold keys."""
    host = re.sub(r"(?<=//)[^/?#]*@", "***@", address)
    return re.sub(r"\?.*", "?***", host, flags=re.DOTALL)


def redacted(text: str) -> str:
    """Return a text without secrets in any encoding."""
    text = _USERINFO.sub(_REDACTED, text)
    return re.sub("|".join((*_patterns(tuple(sorted(_secrets()))), *_SHAPES)), _REDACTED, text)


def single_line(text: str, most: int) -> str:
    """Return at most `most` characters of an untrusted text for a message, without secrets.

    White space becomes one blank, and control characters (cursor, writing direction) are dropped.  Secrets are removed
    first, because the first half of a truncated one would remain.
    """
    shown = "".join(char if char.isprintable() else " " for char in redacted(text[:_LOOKED_AT]))
    line = " ".join(shown.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _secrets() -> set[str]:
    environment = dict(os.environ)
    secrets = {
        value.strip()
        for name, value in environment.items()
        if (name in _variables or _says_secret(name)) and len(value.strip()) >= _SHORTEST
    }
    for address in (*_addresses, *(value for value in environment.values() if "@" in value)):
        for user, password in _USERINFO.findall(address):
            pair = f"{unquote(user)}:{unquote(password)}".encode()
            secret = password or user
            secrets |= {secret, unquote(secret), base64.b64encode(pair).decode()}
    return (secrets | _values) - {""}


@lru_cache(maxsize=4096)
def _says_secret(name: str) -> bool:
    return _NAME.search(name) is not None


@lru_cache(maxsize=8)
def _patterns(secrets: tuple[str, ...]) -> tuple[str, ...]:
    forms: dict[str, str] = {}
    for secret in secrets:
        plain = (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
        forms |= {form: _alone(re.escape(form), secret) for form in plain}
        for encoded in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
            forms.setdefault(encoded, _alone(f"(?i:{re.escape(encoded)})", secret))
    return tuple(forms[form] for form in sorted(forms, key=len, reverse=True))


def _alone(pattern: str, secret: str) -> str:
    return rf"(?<!\w){pattern}(?!\w)" if len(secret) < _WHOLE_WORD else pattern
