"""What one character, with the marks that compose with it, becomes under normalising.

Plain NFKC is never used: it joins "ㅋㅏ" into "카" and turns "10²" into "102".  The compatibility fold works a
character at a time and leaves compatibility jamo, super- and subscripts and fractions alone.
"""

import unicodedata
from functools import lru_cache

# Zero width, byte order mark, soft hyphen, variation selectors, bidirectional controls, Hangul fillers: never visible.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
)
_KEPT_TAGS = {"<super>", "<sub>", "<fraction>"}
_UNIFIED = str.maketrans(
    dict.fromkeys("“”„‟«»「」『』〝〞〟", '"')
    | dict.fromkeys("‘’‚‛‹›′´ʼ", "'")
    | dict.fromkeys("‐‑‒–—―⁃−⸺⸻", "-")
    | dict.fromkeys("∼〜", "~")
    | dict.fromkeys("ㆍᆞ‧・•∙⋅", "·")
    | {"⋯": "..."}
)
# Second halves of canonical composites that are starters all the same (combining class 0); vowel signs mostly.
_STARTERS_THAT_COMPOSE = frozenset(
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35"
    "\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
)
_HALFWIDTH_VOICING = "\uff9e\uff9f"


@lru_cache(maxsize=4096)
def composes_backwards(char: str) -> bool:
    """Whether `char` may compose with what stands before it, so that no match may begin or end between the two."""
    if "\u1161" <= char <= "\u1175" or "\u11a8" <= char <= "\u11c2":
        return True  # vowel and final jamo: NFD "가" is no match inside NFD "각"
    if char in _STARTERS_THAT_COMPOSE or char in _HALFWIDTH_VOICING:
        return True
    return unicodedata.combining(unicodedata.normalize("NFD", char)[0]) != 0


def is_boundary(text: str, offset: int) -> bool:
    """Whether `offset` separates two characters of `text` that never compose; the two ends of the text do."""
    return offset in {0, len(text)} or not composes_backwards(text[offset])


@lru_cache(maxsize=16384)
def fold_unit(unit: str) -> str:
    """One character with its marks, without ignorables, as it is compared: may be empty, or several characters."""
    folded = "".join(map(_compatible, unicodedata.normalize("NFC", unit))).casefold()
    return unicodedata.normalize("NFC", folded.translate(_UNIFIED))


def _compatible(char: str) -> str:
    if "\u3130" <= char <= "\u318f":
        return char  # compatibility jamo: folding them would build syllables that nobody wrote
    tag, *parts = unicodedata.decomposition(char).split() or [""]
    if not tag.startswith("<") or tag in _KEPT_TAGS:
        return char
    folded = "".join(_compatible(chr(int(part, 16))) for part in parts)
    return char if any(map(str.isspace, folded)) else folded
