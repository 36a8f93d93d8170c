"""Puts note text into a prompt as data: each note between tags that its author cannot have written.

The tags carry a nonce, a keyed hash of all that they enclose: the same notes give the same prompt, and so the same
stored answer, yet nobody without the key can write the closing tag into a note.  Titles are JSON strings; text is
unchanged.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

Flag = Literal["invisible_characters", "looks_like_instructions"]
_KEY_BYTES = 32
_NONCE_DIGITS = 16
_INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    "|(?<=\\w)[\u200c\u200d](?=\\w)"  # between letters; an emoji may be joined
)
_INSTRUCTIONS = re.compile(
    r"\b(ignore|disregard|forget)\b.{0,40}\b(instruction|prompt|previous|above|rule)s?\b"
    r"|\b(you are|act as) (now )?(an?|the) (ai|assistant|judge|model|system)\b"
    r"|\b(respond|answer|reply|output|return)\b.{0,20}\b(only|with)\b.{0,40}(\bjson\b|\{|\btrue\b|\bfalse\b)"
    r"|<\s*/?\s*(system|assistant|note-)|\[/?INST\]|<\|im_start\|>"
    r"|(이전|위|앞)(의|에)?\s*(모든\s*)?(지시|지침|명령|프롬프트|규칙).{0,12}(무시|잊)"
    r"|(너는|당신은)\s*(이제|지금부터)"
    r"|(반드시|무조건).{0,30}(라고|으로|로)\s*(답|출력|응답|평가|판정)",
    re.IGNORECASE | re.DOTALL,
)


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
    """What a person should look at in a note before trusting a verdict about it."""
    found: list[Flag] = []
    if _INVISIBLE.search(text):
        found.append("invisible_characters")
    if _INSTRUCTIONS.search(text):
        found.append("looks_like_instructions")
    return tuple(found)


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
