"""Split a note into the chunks that are indexed.

Chunks follow the headings and paragraphs of a note and have about the given length.  They never split a code block, a
table or a formula, however long it is.  The same note always gives the same chunks.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from gigamind.retrieval.index import Chunk
from gigamind.retrieval.settings import DEFAULT_CHUNK_CHARS
from gigamind.spans import Passage, Span
from gigamind.text import sentences
from gigamind.vault.markdown import Block
from gigamind.vault.marks import marks
from gigamind.vault.notes import Note

# Part of the name of every index, so that changed rules never meet an old index.
CHUNKING_VERSION = 2
_BLANK = " \t\r\n\ufeff"
_SMALL = 0.3  # share of a chunk: a shorter section is merged with the next, because one line is hard to find
_WHOLE = frozenset({"code", "table", "math"})
_WHOLE_INSIDE = frozenset({"CodeBlock", "Table", "DisplayMath"})  # the same inside other blocks


def chunk_notes(notes: Iterable[Note], chars: int = DEFAULT_CHUNK_CHARS) -> list[Chunk]:
    """Return the chunks of all notes, about `chars` long, in the order of the notes and of their text."""
    return [chunk for note in notes for chunk in _chunk_note(note, chars)]


def _chunk_note(note: Note, chars: int = DEFAULT_CHUNK_CHARS) -> list[Chunk]:
    """Return the chunks of one note in order; at least one, so that a note with only a title can be found."""
    chunks: list[Chunk] = []
    for headings, span in _pieces(note, chars):
        piece = span.slice(note.text)
        text = piece.strip(_BLANK)
        if text:
            start = span.start + len(piece) - len(piece.lstrip(_BLANK))
            passage = Passage(note.path, text, Span(start, start + len(text)))
            names = (*note.aliases, note.title) if not chunks else (note.title,)
            chunks.append(Chunk(passage, " › ".join((*names, *headings))))
    if not chunks:
        start = note.document.body_start
        passage = Passage(note.path, "", Span(start, start))
        chunks.append(Chunk(passage, " › ".join((*note.aliases, note.title))))
    return chunks


def _pieces(note: Note, chars: int) -> Iterator[tuple[tuple[str, ...], Span]]:
    """Yield the spans of a note's chunks, each with the headings above its first character."""
    path: dict[int, str] = {}
    headings = {heading.span.start: heading for heading in note.document.headings}
    above: tuple[str, ...] = ()
    open_span: Span | None = None
    for block in _split(note, chars):
        heading = headings.get(block.start)
        full = open_span is not None and block.end - open_span.start > chars
        new_section = heading and open_span is not None and len(open_span) >= _SMALL * chars
        if open_span is not None and (full or new_section):
            yield above, open_span
            open_span = None
        if open_span is None:
            above = tuple(
                path[level] for level in sorted(path) if not heading or level < heading.level
            )
        if heading:
            path = {level: text for level, text in path.items() if level < heading.level}
            path[heading.level] = heading.text
        open_span = Span(open_span.start if open_span else block.start, block.end)
    if open_span is not None:
        yield above, open_span


def _split(note: Note, chars: int) -> Iterator[Span]:
    for block in note.document.blocks:
        if len(block.span) <= chars or block.kind in _WHOLE:
            yield block.span
        else:
            yield from _cut(note.text, block, chars)


def _cut(text: str, block: Block, chars: int) -> Iterator[Span]:
    """Cut a long block at lines (lists) or sentences, and a piece without either at white space."""
    begin = block.span.start
    whole = [
        Span(begin + mark.start, begin + mark.end)
        for mark in marks(block.span.slice(text))
        if mark.name in _WHOLE_INSIDE and mark.phase != "leave"
    ]
    whole_starts = [part.start for part in whole]
    start = end = begin
    for offset in _breaks(text, block, chars):
        nearest = bisect_left(whole_starts, offset) - 1
        whole_end = whole[nearest].end if nearest >= 0 else 0
        if offset < whole_end:
            continue
        if offset - start > chars and end > start:
            yield Span(start, end)
            start = end
        while offset - start > chars and start >= whole_end:
            cut = text.rfind(" ", start + 1, start + chars) + 1 or start + chars
            yield Span(start, cut)
            start = cut
        end = offset
    if block.span.end > start:
        yield Span(start, block.span.end)


def _breaks(text: str, block: Block, chars: int) -> Iterator[int]:
    body = block.span.slice(text)
    lines = body.splitlines(keepends=True) if block.kind in {"list", "quote"} else [body]
    offset = block.span.start
    for line in lines:
        if len(line) > chars:
            yield from (offset + sentence.end for sentence in sentences(line))
        offset += len(line)
        yield offset
