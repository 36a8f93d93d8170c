"""Select the part of retrieved notes that a model is shown: the first few, in full if they fit (`ContextOptions`).

A note that does not fit is cut at lines around its best chunk; its offset locates quotes in the note.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gigamind.evaluation.options import ContextOptions
from gigamind.i18n import _
from gigamind.prompting.fences import Source
from gigamind.retrieval.hit import Hit
from gigamind.spans import Span
from gigamind.vault.notes import Note, Vault

SHORTER_CONTEXT = _(
    "show the model less text of the notes, with smaller --context-chars or --context-notes"
)


@dataclass(frozen=True, slots=True)
class ContextNote:
    """A note, or part of one, that a model is shown."""

    path: str
    start: int  # code point offset of `source.text` in the note's file
    source: Source


def context_of(
    passages: Sequence[tuple[Note, Span]], max_notes: int, max_chars: int
) -> tuple[ContextNote, ...]:
    """Return the context from notes, best first, each with the span of its best chunk.

    Every note gets an equal share of the characters; what a short note leaves goes to the following ones.
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


def context_of_hits(
    vault: Vault, hits: Iterable[Hit], options: ContextOptions
) -> tuple[ContextNote, ...]:
    """Return the context from the hits of a search."""
    passages = ((vault.note(hit.note), hit.passage.span) for hit in hits)
    known = [(note, span) for note, span in passages if note is not None]
    return context_of(known, options.context_notes, options.context_chars)


def _part(text: str, chunk: Span, limit: int) -> Span:
    """Return the part of a text that fits, centred on the chunk, cut at lines if possible."""
    if len(text) <= limit:
        return Span(0, len(text))
    start = max(0, min((chunk.start + chunk.end - limit) // 2, chunk.start, len(text) - limit))
    end = start + limit
    line_start = 0 if start == 0 else text.find("\n", start, chunk.start) + 1
    line_end = end if end == len(text) else text.rfind("\n", chunk.end, end)
    return Span(line_start or start, line_end if line_end > chunk.start else end)
