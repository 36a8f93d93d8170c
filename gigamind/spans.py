"""Positions of text in a note.

Inside gigamind every offset counts code points of the decoded note, half-open: `text[start:end]`.  JSON files have
UTF-16 code units, which JavaScript editors and the dataset schema count.  Only `Utf16` converts between the two.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")  # each takes two UTF-16 code units


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Code points `[start, end)` of one text, with `0 <= start <= end`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: [{self.start}, {self.end})")

    def __len__(self) -> int:
        return self.end - self.start

    def slice(self, text: str) -> str:
        """Return the characters of `text` in this span."""
        return text[self.start : self.end]

    def iou(self, other: "Span") -> float:
        """Return the intersection over union, in [0, 1]; 0.0 for two empty spans."""
        shared = min(self.end, other.end) - max(self.start, other.start)
        if shared <= 0:
            return 0.0
        return shared / (len(self) + len(other) - shared)


def spliced(text: str, parts: Iterable[tuple[Span, str]]) -> str:
    """Return a text with these spans, in order, replaced by other texts."""
    pieces: list[str] = []
    done = 0
    for span, other in parts:
        pieces += [text[done : span.start], other]
        done = span.end
    return "".join([*pieces, text[done:]])


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a note: the note, the characters and their text."""

    note: str  # path relative to the vault root, with "/" separators, NFC
    text: str
    span: Span  # position of the text in the note's file


class Utf16:
    """Converts offsets of one text between code points and UTF-16 code units.

    Building walks the text once; a conversion is a binary search over its astral characters (mostly none).
    """

    def __init__(self, text: str) -> None:
        astral = [] if text.isascii() else [match.start() for match in _ASTRAL.finditer(text)]
        self._astral = astral
        self._astral_units = [index + rank for rank, index in enumerate(astral)]
        self.length = len(text) + len(astral)

    def from_code_points(self, offset: int) -> int:
        """Return the UTF-16 offset of a code point offset."""
        return offset + bisect_left(self._astral, offset)

    def to_code_points(self, offset: int) -> int:
        """Return the code point offset of a UTF-16 offset.

        Raises:
            ValueError: the offset is negative, beyond the text, or inside a surrogate pair.
        """
        if not 0 <= offset <= self.length:
            raise ValueError(f"offset {offset} is outside 0..{self.length}")
        before = bisect_left(self._astral_units, offset)
        if before and self._astral_units[before - 1] == offset - 1:
            raise ValueError(f"offset {offset} is inside a surrogate pair")
        return offset - before

    def span_to_code_points(self, start: int, end: int) -> Span:
        """Return the span of a half-open UTF-16 range; ValueError if the range is reversed or outside the text."""
        if start > end:
            raise ValueError(f"start {start} is after end {end}")
        return Span(self.to_code_points(start), self.to_code_points(end))

    def span_from_code_points(self, span: Span) -> tuple[int, int]:
        """Return start and end of a span in UTF-16 code units."""
        return self.from_code_points(span.start), self.from_code_points(span.end)
