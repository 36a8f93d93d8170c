"""Takes secrets out of a text by their value: a server may say back whatever it was sent, in any form.

Secrets are the values of environment variables whose names say so, and what stands before the `@` of an address.  What
has the shape of a provider's key goes too, for a server may name one that is not ours.
"""

import base64
import json
import os
import re
from functools import lru_cache
from urllib.parse import parse_qsl, quote, quote_plus, unquote

_REDACTED = "[redacted]"
_SHORTEST = 8  # of a variable's value: a shorter one is a number or a word
_LOOKED_AT = 100_000  # characters of a text for a message
_WHOLE_WORD = 8  # below it, a password is taken out only where it stands for itself
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
    """Remember name, password and query of an address, so that `redacted` knows them."""
    if address and "@" in address:
        _addresses.add(address)
    for _, value in parse_qsl((address or "").partition("?")[2]):
        keep_secret_value(value)


def keep_secret_of(variable: str | None) -> None:
    """Remember an environment variable that holds a key, whatever its name says."""
    if variable:
        _variables.add(variable)


def keep_secret_value(value: str) -> None:
    """Remember the words of a value that may hold a key, such as that of a header, behind the name of its scheme."""
    _values.update(word for word in value.split() if len(word) >= _SHORTEST)


def without_secrets(address: str) -> str:
    """An address as a report may show it: without user, password and query, where keys stand."""
    host = re.sub(r"(?<=//)[^/?#]*@", "***@", address)
    return re.sub(r"\?.*", "?***", host, flags=re.DOTALL)


def redacted(text: str) -> str:
    """A text without secrets, however they are encoded."""
    text = _USERINFO.sub(_REDACTED, text)
    return re.sub("|".join((*_patterns(tuple(sorted(_secrets()))), *_SHAPES)), _REDACTED, text)


def one_line(text: str, most: int) -> str:
    """At most so many characters of a text that anybody may have sent, without secrets, for a message.

    Of white space one blank is left, and of what moves a cursor or turns the direction of writing nothing.  Secrets go
    first: of one that is cut, the first half would stay.
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
    """One pattern for each form of each secret, the longest first, for one may be the beginning of another."""
    forms: dict[str, str] = {}
    for secret in secrets:
        plain = (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
        forms |= {form: _alone(re.escape(form), secret) for form in plain}
        for encoded in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
            forms.setdefault(encoded, _alone(f"(?i:{re.escape(encoded)})", secret))
    return tuple(forms[form] for form in sorted(forms, key=len, reverse=True))


def _alone(pattern: str, secret: str) -> str:
    return rf"(?<!\w){pattern}(?!\w)" if len(secret) < _WHOLE_WORD else pattern
