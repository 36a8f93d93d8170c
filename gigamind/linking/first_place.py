"""Compare places that contain the same name, by the text around them."""

import re

from gigamind.spans import Span
from gigamind.vault.notes import Note

# "**" between "]" and a letter closes nothing, between a letter and "[" it opens nothing; "![" is an embed.
_BEFORE = re.compile(r"(?:\w[*_~]{1,3}|[!\\])$")
_BEHIND = re.compile(r"[*_~]+\w")


def breaks_markup(note: Note, span: Span) -> bool:
    """Return whether a link would change how the text around is parsed; `insertion.py` checks precisely."""
    before = note.text[max(0, span.start - 4) : span.start]
    return _BEFORE.search(before) is not None or _BEHIND.match(note.text, span.end) is not None


def in_table(note: Note, span: Span) -> bool:
    """Return whether a place is in a table cell, where a link is harder to read than in prose."""
    block = note.document.block_at(span.start)
    return block is not None and block.kind == "table"
