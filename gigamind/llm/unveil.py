"""Reads what a text hides from people and a model may read all the same: in codes, or in letters turned round.

Nothing here decides anything; `suspicion.py` looks for words to a judge in what it finds.
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator

INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    "|(?<=\\w)[\u200c\u200d](?=\\w)"  # between letters; an emoji may be joined
)
ESCAPES = re.compile(r"(?:\\u[0-9a-f]{4}){6,}|(?:&#x?[0-9a-f]{2,6};){6,}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_TURNED = re.compile("[\u202e\u202d]([^\u202c\n]*)")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_TAG_BLOCK = 0xE0000
_ROT13 = re.compile(r"\brot-?13\b", re.IGNORECASE)


def readings(text: str) -> Iterator[str]:
    """The text as it is meant to be read, and what is hidden in it."""
    plain = plainly(text)
    yield plain
    yield from (found[1][::-1] for found in _TURNED.finditer(text))
    yield from (
        "".join(chr(ord(char) - _TAG_BLOCK) for char in found[0]) for found in _TAGS.finditer(text)
    )
    yield from (_unescaped(found[0]) for found in ESCAPES.finditer(text))
    yield from words_in_base64(text)
    if _ROT13.search(plain):
        yield codecs.encode(plain, "rot13")


def plainly(text: str) -> str:
    """Without invisible characters and other widths of letters."""
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text))


def words_in_base64(text: str) -> Iterator[str]:
    """What decodes to words; pictures and hashes do not."""
    for run in _BASE64.finditer(text):
        digits = run[0].rstrip("=")
        whole = digits[: len(digits) - (len(digits) % 4 == 1)]
        try:
            decoded = base64.b64decode(whole + "=" * (-len(whole) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        if " " in decoded and decoded.replace("\n", " ").isprintable():
            yield decoded


def _unescaped(run: str) -> str:
    if run.startswith("&"):
        return html.unescape(run)
    units = b"".join(
        int(digits, 16).to_bytes(2, "big")
        for digits in re.split(r"\\u", run, flags=re.IGNORECASE)[1:]
    )
    return units.decode("utf-16-be", errors="replace")
