"""A text in composed form (NFC), in which our patterns are written, with the place of each character in the original.

Answers that went through a Mac come decomposed: "감사합니다" as single jamo, which no pattern of syllables matches.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.evidence.characters import composes_backwards
from gigamind.spans import Span


@dataclass(frozen=True, slots=True)
class Composed:
    """A composed text.

    Attributes:
        origins: offset in the original of each character and of the end; None where nothing has moved.
    """

    text: str
    origins: Sequence[int] | None = None

    def origin(self, span: Span) -> Span:
        """The span of the original that became this one."""
        if self.origins is None:
            return span
        return Span(self.origins[span.start], self.origins[span.end])


def composed(text: str) -> Composed:
    """The text, composed character by character."""
    if unicodedata.is_normalized("NFC", text):
        return Composed(text)
    parts: list[str] = []
    origins: list[int] = []
    starts = [0, *(at for at in range(1, len(text)) if not composes_backwards(text[at]))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = unicodedata.normalize("NFC", text[start:end])
        moved = len(part) != end - start
        origins += [start] * len(part) if moved else range(start, end)
        parts.append(part)
    return Composed("".join(parts), (*origins, len(text)))
