"""What a model is shown of the notes that search found: the first few, whole where they fit (`ContextOptions`).

Of a note that does not fit, the part around its best chunk is shown, from line to line, and keeps its offset: a quote
found in the part stands in the note.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.llm.fences import Source
from gigamind.spans import Span
from gigamind.vault.notes import Note

SHORTER_CONTEXT = "show it less of the notes: --context-chars, --context-notes"


@dataclass(frozen=True, slots=True)
class ContextNote:
    """A note, or a part of one, that a model is shown.

    Attributes:
        start: code point offset of `source.text` in the note's file.
    """

    path: str
    start: int
    source: Source


def context_of(
    passages: Sequence[tuple[Note, Span]], max_notes: int, max_chars: int
) -> tuple[ContextNote, ...]:
    """The context from notes, best first, each with the span of its best chunk.

    Every note gets an equal share of the room; what a short one leaves goes to those after it.
    """
    shown = passages[:max_notes]
    left = max_chars
    context: list[ContextNote] = []
    for place, (note, chunk) in enumerate(shown):
        part = _part(note.text, chunk, left // (len(shown) - place))
        left -= len(part)
        context.append(
            ContextNote(note.path, part.start, Source(note.title, part.slice(note.text)))
        )
    return tuple(context)


def _part(text: str, chunk: Span, room: int) -> Span:
    """As much of a text as there is room for, the chunk in its middle; whole lines where that leaves anything."""
    if len(text) <= room:
        return Span(0, len(text))
    start = max(0, min((chunk.start + chunk.end - room) // 2, chunk.start, len(text) - room))
    end = start + room
    line_start = 0 if start == 0 else text.find("\n", start, chunk.start) + 1
    line_end = end if end == len(text) else text.rfind("\n", chunk.end, end)
    return Span(line_start or start, line_end if line_end > chunk.start else end)
