"""The sentence of a note that a quote is read in, and what it stands under: a heading, a header, a lead-in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.evidence.clause import sentences_around
from gigamind.spans import Span

_MAX_LINES = 500  # above a table's row or a list's item

HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]++(.*)$|[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t:：]*$")
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LEAD_IN = re.compile(r"[:：][\s*_]*$")


@dataclass(frozen=True, slots=True)
class Passage:
    """What a quote is read in.

    Attributes:
        heading: the nearest one above, without marks; empty where there is none.
        text: the whole sentences that the quote touches, as the note has them; before a list's item the line that
            leads to it, before a table's row its header.
    """

    heading: str
    text: str


def passage_of(span: Span, text: str) -> Passage:
    """The sentences that a span touches, and what they stand under."""
    around = sentences_around(text, span)
    start = text.rfind("\n", 0, around.start) + 1
    end = text.find("\n", around.end)
    line = text[start : end if end >= 0 else len(text)]
    said = around.slice(text)
    if line.lstrip(" \t>").startswith("|"):
        header = _header(text, start)
        said = f"{header}\n{line}" if header else line
    elif item := _ITEM.match(line):
        lead_in = _lead_in(text, start, len(item["indent"]))
        said = f"{lead_in}\n{said}" if lead_in else said
    elif HEADING.match(line):
        said = line
    return Passage(_heading_above(text, start), said)


def _lines_above(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Where the lines before an offset start, and the lines, the nearest first."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        yield before, text[before : start - 1]
        start = before


def _heading_above(text: str, start: int) -> str:
    for _, line in _lines_above(text, start):
        if found := HEADING.match(line):
            return (found[1] or found[2] or "").strip(" \t#*_`")
    return ""


def _header(text: str, start: int) -> str:
    """The first line of a table, but for its first rows, which have it at hand."""
    header = ""
    for number, (_, line) in enumerate(_lines_above(text, start)):
        if "|" not in line or number >= _MAX_LINES:
            break
        header = line
    return header


def _lead_in(text: str, start: int, indent: int) -> str:
    """The line with a colon that a list's item stands under."""
    for number, (_, line) in enumerate(_lines_above(text, start)):
        if number >= _MAX_LINES or HEADING.match(line):
            break
        item = _ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (item is None and depth == 0)):
            return line if _LEAD_IN.search(line) else ""
    return ""
