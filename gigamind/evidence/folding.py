"""Normalised text in which every character still knows where it came from.

A folding is cut into pieces: a run, whose characters map one to one, or a unit, whose folded characters all stand for
the same range of the original ("㈜" for "(주)", NFD "각" for NFC "각").  Offsets are code points, half-open.
"""

from bisect import bisect_right
from dataclasses import dataclass

from gigamind.spans import Span


@dataclass(frozen=True, slots=True)
class Folding:
    """One text at one level of normalising.

    Attributes:
        text: the folded text.
        at: where each piece starts in `text`; rising.
        starts: where the original of each piece starts; rising.
        ends: where it ends; rising.
        units: whether the piece is a unit.
    """

    text: str
    at: list[int]
    starts: list[int]
    ends: list[int]
    units: list[bool]

    def is_edge(self, offset: int) -> bool:
        """Whether a match may begin or end at this offset of the folded text, that is, not inside a unit."""
        if offset == len(self.text):
            return True
        piece = bisect_right(self.at, offset) - 1
        return not self.units[piece] or self.at[piece] == offset

    def span(self, start: int, end: int) -> Span:
        """The original range of the folded characters `[start, end)`; a unit counts as a whole.  Needs start < end."""
        return Span(self._origin(start).start, self._origin(end - 1).end)

    def under(self, span: Span) -> str:
        """The folded text of every piece, or part of a run, that lies wholly inside the original `span`."""
        return self.text[self._first_from(span.start) : self._first_beyond(span.end)]

    def _origin(self, offset: int) -> Span:
        piece = bisect_right(self.at, offset) - 1
        if self.units[piece]:
            return Span(self.starts[piece], self.ends[piece])
        start = self.starts[piece] + offset - self.at[piece]
        return Span(start, start + 1)

    def _first_from(self, origin: int) -> int:
        """Offset of the first folded character whose original starts at `origin` or later."""
        piece = bisect_right(self.starts, origin) - 1
        if piece >= 0:
            inside = origin - self.starts[piece]
            if inside == 0:
                return self.at[piece]
            if not self.units[piece] and origin < self.ends[piece]:
                return self.at[piece] + inside
        return self.at[piece + 1] if piece + 1 < len(self.at) else len(self.text)

    def _first_beyond(self, origin: int) -> int:
        """Offset of the first folded character whose original ends after `origin`."""
        piece = bisect_right(self.ends, origin)
        if piece == len(self.at):
            return len(self.text)
        inside = origin - self.starts[piece]
        return self.at[piece] + (inside if inside > 0 and not self.units[piece] else 0)


class FoldingBuilder:
    """Collects the pieces of a folding from left to right."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._last = ""
        self._at: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._units: list[bool] = []

    def run(self, folded: str, start: int) -> None:
        """Characters that map one to one from the original `start`; they lengthen the run that ends there."""
        if self._units and not self._units[-1] and self._ends[-1] == start:
            self._ends[-1] = start + len(folded)
            self._add(folded)
        else:
            self._piece(folded, start, start + len(folded), unit=False)

    def unit(self, folded: str, start: int, end: int) -> None:
        """Folded characters, perhaps none, that stand for one original range together."""
        if len(folded) == 1 and end == start + 1:
            self.run(folded, start)
        elif folded:
            self._piece(folded, start, end, unit=True)

    def space(self, start: int, end: int) -> None:
        """White space: one space, unless the last character is one already."""
        if self._last != " ":
            self.unit(" ", start, end)

    def copy(self, other: Folding, start: int, end: int) -> None:
        """The folded characters `[start, end)` of `other`, with their origins."""
        piece = bisect_right(other.at, start) - 1
        while start < end:
            stop = other.at[piece + 1] if piece + 1 < len(other.at) else len(other.text)
            stop = min(stop, end)
            folded = other.text[start:stop]
            if other.units[piece]:
                self.unit(folded, other.starts[piece], other.ends[piece])
            else:
                self.run(folded, other.starts[piece] + start - other.at[piece])
            start = stop
            piece += 1

    def finish(self) -> Folding:
        """What was collected."""
        return Folding("".join(self._parts), self._at, self._starts, self._ends, self._units)

    def _piece(self, folded: str, start: int, end: int, *, unit: bool) -> None:
        self._at.append(self._length)
        self._starts.append(start)
        self._ends.append(end)
        self._units.append(unit)
        self._add(folded)

    def _add(self, folded: str) -> None:
        self._parts.append(folded)
        self._length += len(folded)
        self._last = folded[-1]
