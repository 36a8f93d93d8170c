"""Checksums of JSON objects and files, so that damaged ones are not used.

A flipped bit in a digit leaves a file that still parses.  The checksum of an object is a key of 16 hexadecimal digits;
that of a file precedes its content.  It detects accidents, not deliberate changes.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gigamind.i18n import _

_KEY = "checksum"
_SEAL_BYTES = 16


def with_checksum(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with its checksum, which replaces an earlier one."""
    rest = {name: value for name, value in row.items() if name != _KEY}
    # As a reader finds it: tuples are lists, and keys are strings.
    return {**row, _KEY: _checksum(json.loads(json.dumps(rest)))}


def checked(row: object) -> Any:  # noqa: ANN401  JSON values
    """Return the object without its checksum; objects written by hand need none.

    Raises:
        ValueError: the checksum does not match.
    """
    if not isinstance(row, dict) or row.get(_KEY) is None:  # pyright: ignore[reportUnknownMemberType]
        return row  # pyright: ignore[reportUnknownVariableType]  readers check it field by field
    rest: dict[str, Any] = {name: value for name, value in row.items() if name != _KEY}  # pyright: ignore[reportUnknownVariableType]
    if row[_KEY] != _checksum(rest):
        raise ValueError(
            _("the checksum does not match: the content was damaged or edited by hand")
        )
    return rest


def _checksum(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text_hash(text)[:16]


def text_hash(text: str) -> str:
    """Return the SHA-256 of the UTF-8 text in hexadecimal. A lone surrogate counts as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def seal(content: bytes | memoryview, layout: bytes) -> bytes:
    """Return the checksum that precedes the content of a file; `layout` is part of what it covers."""
    return hashlib.blake2b(content, digest_size=_SEAL_BYTES, key=layout).digest()


def unsealed(written: bytes, layout: bytes) -> memoryview:
    """Return the content of a file behind its checksum.

    Raises:
        ValueError: it was cut short or damaged, or has another layout.
    """
    content = memoryview(written)[_SEAL_BYTES:]
    if written[:_SEAL_BYTES] != seal(content, layout):
        raise ValueError(
            _(
                "the checksum does not match: the file is damaged or from another version of gigamind"
            )
        )
    return content
