"""What carries a checksum of the rest of it, so that what a disk has damaged is not used: JSON objects, and files.

A flipped bit in a digit leaves a file that still parses.  The checksum is a key among the others, of 16 hexadecimal
digits, or stands before the content of a file; it is against accidents, and stops nobody who means to change a file.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_KEY = "checksum"
_SEAL_BYTES = 16


def with_checksum(row: Mapping[str, Any]) -> dict[str, Any]:
    """The object and its checksum, in the place of one that it had."""
    rest = {name: value for name, value in row.items() if name != _KEY}
    # As a reader will find it: tuples are lists then, and keys are strings.
    return {**row, _KEY: _checksum(json.loads(json.dumps(rest)))}


def checked(row: object) -> Any:  # noqa: ANN401  JSON values
    """The object without its checksum; as it is where it has none, for it was made by hand.

    Raises:
        ValueError: the checksum is of something else.
    """
    if not isinstance(row, dict) or row.get(_KEY) is None:  # pyright: ignore[reportUnknownMemberType]
        return row  # pyright: ignore[reportUnknownVariableType]  whoever reads it checks it field by field
    rest: dict[str, Any] = {name: value for name, value in row.items() if name != _KEY}  # pyright: ignore[reportUnknownVariableType]
    if row[_KEY] != _checksum(rest):
        raise ValueError("its checksum is of something else: it was damaged, or changed by hand")
    return rest


def _checksum(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def seal(content: bytes | memoryview, layout: bytes) -> bytes:
    """What stands before the content of a file; that of another layout has another."""
    return hashlib.blake2b(content, digest_size=_SEAL_BYTES, key=layout).digest()


def unsealed(written: bytes, layout: bytes) -> memoryview:
    """The content of a file behind its seal.

    Raises:
        ValueError: it was cut short or damaged, or has another layout.
    """
    content = memoryview(written)[_SEAL_BYTES:]
    if written[:_SEAL_BYTES] != seal(content, layout):
        raise ValueError("its checksum is of something else: damaged, or of another version")
    return content
