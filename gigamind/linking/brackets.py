"""Find text in brackets that a renderer may read as a link, although the vault reader does not.

mkdocs and Sphinx resolve `[text][label]` and `[label]` by names defined outside the notes. Text inserted between or
right after brackets becomes part of them.
"""

import re
from bisect import bisect_left

from gigamind.spans import Span
from gigamind.vault.notes import Note

_BRACKET = re.compile(r"[\[\]]")


def bracketed(note: Note) -> list[Span]:
    """Return the outermost `[...]` that the parser reads as text, with brackets, in order; each within one block."""
    if "[" not in note.text:
        return []
    brackets: list[Span] = []
    ends = [block.span.end for block in note.document.blocks]
    opened: list[int] = []
    block = 0
    for piece in note.document.running:
        if (now := bisect_left(ends, piece.end)) != block:
            opened, block = [], now
        for match in _BRACKET.finditer(note.text, piece.start, piece.end):
            at = match.start()
            if at == piece.start and note.text[at - 1 : at] == "\\":
                continue  # the parser cuts a text behind the backslash of an escaped sign
            if match[0] == "[":
                opened.append(at)
            elif opened:
                start = opened.pop()
                while brackets and brackets[-1].start > start:
                    brackets.pop()
                brackets.append(Span(start, at + 1))
    return brackets
