"""The clause that a quote was taken out of: what stands before it and behind it in its sentence."""

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

from gigamind.evidence.normalize import IGNORABLE
from gigamind.spans import Span
from gigamind.text import sentences

_REACH = 600  # characters to either side; no sentence that a person reads is longer
_MIN_WRAPPED = 30  # characters: a shorter line was ended on purpose
_ENDED = re.compile(r"[.!?。！？:：;…|][\"'”’」』)*_\s]*$|(?:다|요|죠|까|음|함|임|됨|것)[\s*_]*$")
_MARKED = re.compile(r"[ \t]*(?:#|\||[-*+>][ \t]|\d+[.)][ \t])")
_UNSEEN = re.compile(f"[{IGNORABLE}]")
_VALUE = re.compile(r"[^\W_][^|:：]*[|:：][^|:：]*[^\W_]")
_CELL_BEFORE = re.compile(r"[^\s|:*-][^|]*\|[\s*_`]*$")
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）")


@dataclass(frozen=True, slots=True)
class Clause:
    """A quote and the rest of the sentences that it begins and ends in.

    Attributes:
        head: what stands before it, without what is in parentheses; NFKC, as all three are.
        tail: what stands behind it, likewise.
    """

    head: str
    quote: str
    tail: str

    @property
    def is_korean(self) -> bool:
        """Whether its grammar is Korean, English words aside."""
        whole = f"{self.head}{self.quote}{self.tail}"
        hangul = sum("가" <= char <= "힣" for char in whole)
        return 2 * hangul >= sum(char.isascii() and char.isalpha() for char in whole)

    @property
    def has_value(self) -> bool:
        """Whether the quote is more than the name of what a number, a value behind a colon or a cell tells of it."""
        if any(map(str.isdigit, self.quote)) or _VALUE.search(self.quote):
            return True
        return bool(_CELL_BEFORE.search(self.head))


def clause_around(text: str, span: Span) -> Clause:
    """The clause of a span that is not empty."""
    start = max(0, span.start - _REACH)
    near = _unwrapped(text[start : span.end + _REACH])
    first, last = span.start - start, span.end - start
    head, tail = near[:first], near[last:]
    for one in sentences(near):
        if one.start <= first < one.end:
            head = near[one.start : first]
        if one.start < last <= one.end:
            tail = near[last : one.end]
    quote = _plain(near[first:last])
    return Clause(_ASIDE.sub(" ", _plain(head)), quote, _ASIDE.sub(" ", _plain(tail)))


def _plain(text: str) -> str:
    """A text with composed syllables and letters of the usual width, for it to be searched for words."""
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


def _unwrapped(text: str) -> str:
    """A text of the same length in which a sentence that was wrapped stands in one line."""
    lines = text.replace("\r", " ").split("\n")
    joined = lines[0]
    for before, line in pairwise(lines):
        joined += (" " if _goes_on(before, line) else "\n") + line
    return joined


def _goes_on(before: str, line: str) -> bool:
    if len(before) < _MIN_WRAPPED or _ENDED.search(before) or before.lstrip()[:1] in {"#", "|"}:
        return False
    text = line.lstrip()[:1]
    return not _MARKED.match(line) and (text.islower() or "가" <= text <= "힣")
