"""The context of a quote: its sentences, heading, the introduction of a row or list item, and their support."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from gigamind.evidence.clause import sentences_around
from gigamind.spans import Span

Contradiction = Literal["number", "negation", "polarity", "limit", "roles", "question", "reported"]

Refusal = Literal[
    "new_name", "new_number", "other_word", "other_sentence", "other_limits", "other_question"
]
"""Why the guard refuses a claim, apart from contradictions; a second check may decide the last two."""

HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]++(.*)$|[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t:：]*$")
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LABEL = re.compile(
    r"(?:\*\*|__)([^*_\n]+)(?:\*\*|__)|([^:：\n]{1,60}?)[ \t]*(?:[:：](?=\s|$)| [-–—] )"
)
_LEAD_IN = re.compile(r"[:：][\s*_]*$")
_MAX_LINES = 500  # lines read above a table row or list item


@dataclass(frozen=True, slots=True)
class Passage:
    """The context in which a quote is read.

    Attributes:
        heading: the nearest one above, without markup; "" if none.
        said: the whole sentences that the quote touches, as in the note, or a table row.
        lead: the introduction of a list item, or the header of a row; "" elsewhere.
        beside: the other rows of the table, without its header, or items of the list; empty elsewhere.
        near: the paragraph of prose, at most 600 characters on each side.
    """

    heading: str
    said: str  # part of the fingerprint of second looks
    lead: str = ""
    beside: tuple[str, ...] = ()
    near: str = ""

    @property
    def text(self) -> str:
        return f"{self.lead}\n{self.said}" if self.lead else self.said

    @property
    def is_terse(self) -> bool:
        """Whether it is a row or list item, which omits the grammar between its words."""
        return is_row(self.said) or bool(_ITEM.match(self.said))


@dataclass(frozen=True, slots=True)
class Support:
    """How a passage supports a claim; the fields from `sparse` on need both in one language.

    Attributes:
        contradictions: definite contradictions, each once.
        share: the score: share of the claim's words that the passage, its heading and title carry, in [0, 1].
        doubtful: requires a second check.
        foreign: claim and passage are in different languages, so that words cannot be compared.
        sparse: the score is below the default threshold of the language.
        refusal: why the guard refuses the claim, apart from contradictions; None if it passes.
    """

    contradictions: tuple[Contradiction, ...]
    share: float
    doubtful: bool
    foreign: bool = False
    sparse: bool = False
    refusal: Refusal | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the guard refuses the claim, whatever its score."""
        return bool(self.contradictions or self.refusal)


def passage_of(span: Span, text: str) -> Passage:
    """Return the sentences that a span touches, with their context."""
    around = sentences_around(text, span)
    start = text.rfind("\n", 0, around.start) + 1
    rest, *below = text[around.end :].split("\n")
    line, above = text[start : around.end] + rest, text[:start].split("\n")[-2::-1]
    said, lead, beside = around.slice(text), "", list[str]()
    if is_row(line):
        rows = [
            list(takewhile(lambda row: "|" in row, lines[:_MAX_LINES])) for lines in (above, below)
        ]
        said, lead = line, rows[0].pop() if rows[0] else ""
        beside = [*rows[0], *rows[1]]
    elif item := _ITEM.match(line):
        indent = len(item["indent"])
        lead = _lead_in(text, start, above[:_MAX_LINES], indent)
        beside = [row for rows in (above, below) for row in _items(rows[:_MAX_LINES], indent)]
    elif HEADING.match(line):
        said = line
    match = next(filter(None, map(HEADING.match, above)), None)
    heading = (match[1] or match[2] or "").strip(" \t#*_`") if match else ""
    near = "" if lead or beside else _paragraph(text, around)
    return Passage(heading, said, lead, tuple(beside), near)


_REACH = 600  # characters of a paragraph on each side of a sentence


def _paragraph(text: str, around: Span) -> str:
    least = max(0, around.start - _REACH)
    start = max(least, text.rfind("\n\n", least, around.start) + 2)
    end = text.find("\n\n", around.end, around.end + _REACH)
    return text[start : end if end >= 0 else around.end + _REACH]


def is_row(line: str) -> bool:
    """Return whether a line is a table row."""
    return line.lstrip(" \t>").startswith("|")


def label_of(line: str) -> str:
    """Return the subject of a row or list item: its first cell, or the text before its colon or in bold; "" if none."""
    if is_row(line):
        return line.strip(" \t>|").partition("|")[0].strip()
    item = _ITEM.match(line)
    match = _LABEL.match(line, item.end() if item else 0)
    return (match[1] or match[2]).strip() if match else ""


def _items(lines: Iterable[str], indent: int) -> Iterator[str]:
    for line in lines:
        item = _ITEM.match(line)
        depth = len(item["indent"]) if item else len(line) - len(line.lstrip())
        if item and depth == indent:
            yield line
        elif line.strip() and depth <= indent:
            return


def _lead_in(text: str, start: int, above: Sequence[str], indent: int) -> str:
    for line in takewhile(lambda row: not HEADING.match(row), above):
        start -= len(line) + 1
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (not _ITEM.match(line) and depth == 0)):
            whole = sentences_around(text, Span(start, start + len(line)))
            return whole.slice(text) if _LEAD_IN.search(line) else ""
    return ""
