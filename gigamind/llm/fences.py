"""Puts note text into a prompt as data: each note between tags that its author cannot have written.

The tags carry a nonce, a keyed hash of all that they enclose: the same notes give the same prompt, and so the same
stored answer, yet nobody without the key can write the closing tag into a note.  Titles are JSON strings; text is
unchanged.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from gigamind.llm.suspicion import (
    has_encoded_text,
    has_invisible_characters,
    looks_like_instructions,
)
from gigamind.spans import Span
from gigamind.text import sentences

Flag = Literal["invisible_characters", "looks_like_instructions", "encoded_text"]
_KEY_BYTES = 32
_NONCE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Source:
    """A note, or a part of one, that a judge may read."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Fenced:
    """Notes ready to stand in a prompt.

    Attributes:
        nonce: part of every tag; the system message names it.
        text: all notes, each in its tags, numbered.
    """

    nonce: str
    text: str


def fence(sources: Sequence[Source], key: bytes, *, tag: str = "note", first: int = 1) -> Fenced:
    """The notes in tags of their own, numbered from `first`."""
    nonce = _nonce(sources, key)
    parts = [
        f'<{tag}-{nonce} index="{number}" title={json.dumps(source.title, ensure_ascii=False)}>\n'
        f"{source.text}\n</{tag}-{nonce}>"
        for number, source in enumerate(sources, start=first)
    ]
    return Fenced(nonce, "\n\n".join(parts))


def flags(text: str) -> tuple[Flag, ...]:
    """What a person should look at in a text before trusting a verdict about it."""
    signs: dict[Flag, Callable[[str], bool]] = {
        "invisible_characters": has_invisible_characters,
        "looks_like_instructions": looks_like_instructions,
        "encoded_text": has_encoded_text,
    }
    return tuple(flag for flag, shows in signs.items() if shows(text))


def speaks_to_judge(text: str, span: Span) -> bool:
    """Whether the lines around a span look like instructions, so that what stands there proves nothing.

    A line more than its sentence: of 168 sentences of attacks 139 stand in such lines, and 109 are such by themselves.
    """
    touched = [one for one in sentences(text) if one.start < span.end and span.start < one.end]
    first = min((one.start for one in touched), default=span.start)
    last = max((one.end for one in touched), default=span.end)
    line_end = text.find("\n", last)
    lines = text[text.rfind("\n", 0, first) + 1 : None if line_end < 0 else line_end]
    return looks_like_instructions(lines)


def fence_key(path: Path) -> bytes:
    """The key in a file, made at first use: 32 random bytes that only the user can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        made.touch(mode=0o600)
        made.write_bytes(secrets.token_bytes(_KEY_BYTES))
        try:
            path.hardlink_to(
                made
            )  # of two runs that make it at the same time, the second finds it made
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return path.read_bytes()


def _nonce(sources: Sequence[Source], key: bytes) -> str:
    content = json.dumps([[source.title, source.text] for source in sources]).encode()
    nonce = ""
    for turn in count():  # a second turn is needed when a note holds its own nonce: once in 2**64
        digest = hmac.new(key, f"{turn}".encode() + content, hashlib.sha256).hexdigest()
        nonce = digest[:_NONCE_DIGITS]
        if not any(nonce in source.text or nonce in source.title for source in sources):
            break
    return nonce
