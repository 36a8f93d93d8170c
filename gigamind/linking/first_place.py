"""Which of several places that say the same name holds a link best: what a look at the text around a place tells."""

import re

from gigamind.spans import Span
from gigamind.vault.notes import Note

# Between "]" and a letter "**" closes nothing, between a letter and "[" it opens nothing; "![" is an embed.
_BEFORE = re.compile(r"(?:\w[*_~]{1,3}|[!\\])$")
_BEHIND = re.compile(r"[*_~]+\w")


def breaks_markup(note: Note, span: Span) -> bool:
    """Whether the text around would be read otherwise, if there were a link: `insertion.py` looks closer."""
    before = note.text[max(0, span.start - 4) : span.start]
    return _BEFORE.search(before) is not None or _BEHIND.match(note.text, span.end) is not None


def in_table(note: Note, span: Span) -> bool:
    """Whether a place is in a cell, where a link is harder to read than in prose."""
    block = note.document.block_at(span.start)
    return block is not None and block.kind == "table"
