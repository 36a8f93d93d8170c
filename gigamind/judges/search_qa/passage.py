"""What a quote stands in, with the heading above and what leads to a row or an item, and what that does for a claim."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.clause import sentences_around
from gigamind.judges.search_qa.reading import Substitution
from gigamind.spans import Span

Contradiction = Literal[
    "number", "negation", "polarity", "limit", "roles", "question", "heading", "reported"
]

HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]++(.*)$|[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t:：]*$")
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LEAD_IN = re.compile(r"[:：][\s*_]*$")
_MAX_LINES = 500  # above a table's row or a list's item


@dataclass(frozen=True, slots=True)
class Passage:
    """What a quote is read in.

    Attributes:
        heading: the nearest one above, without marks; empty where there is none.
        said: the whole sentences that the quote touches, as the note has them, or a table's row.
        lead: what leads to a list's item, or the header of a row; empty elsewhere.
    """

    heading: str
    said: str
    lead: str = ""

    @property
    def text(self) -> str:
        """All of it but the heading."""
        return f"{self.lead}\n{self.said}" if self.lead else self.said

    @property
    def is_terse(self) -> bool:
        """Whether it is a row or an item, which names things and leaves out the grammar between them."""
        return self.said.startswith("|") or bool(_ITEM.match(self.said))


@dataclass(frozen=True, slots=True)
class Support:
    """What a passage does for a claim.

    Attributes:
        contradictions: what speaks against it for certain, each once.
        share: of the claim's words that passage, title and question have, in [0, 1].
        doubtful: to be looked at a second time.
        foreign: claim and passage are of two languages, so that words tell nothing.
        sparse: they are of one, and have little in common; a row or an item, in content words.
        new_names: of one, and the claim has a name that stands nowhere in the note.
        far_number: the claim has a number that does not stand around the passage: in digits one that stands elsewhere
            in the note, in words one where the passage has another.
        only_possible: of one, and the claim states what the passage says may be.
        other_limits: of one, and one of the two has a condition, bound, reason or denial that the other seems to lack.
        substitution: of one, and the claim copies the passage but for this word; None where it does not.
    """

    contradictions: tuple[Contradiction, ...]
    share: float
    doubtful: bool
    foreign: bool = False
    sparse: bool = False
    new_names: bool = False
    far_number: bool = False
    only_possible: bool = False
    other_limits: bool = False
    substitution: Substitution | None = None


def passage_of(span: Span, text: str) -> Passage:
    """The sentences that a span touches, and what they stand under."""
    around = sentences_around(text, span)
    start = text.rfind("\n", 0, around.start) + 1
    end = text.find("\n", around.end)
    line = text[start : end if end >= 0 else len(text)]
    said, lead = around.slice(text), ""
    if line.lstrip(" \t>").startswith("|"):
        said, lead = line, _header(text, start)
    elif item := _ITEM.match(line):
        lead = _lead_in(text, start, len(item["indent"]))
    elif HEADING.match(line):
        said = line
    return Passage(_heading_above(text, start), said, lead)


def _lines_above(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Where the lines before an offset start, and the lines, the nearest first."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        yield before, text[before : start - 1]
        start = before


def _heading_above(text: str, start: int) -> str:
    for _, line in _lines_above(text, start):
        if match := HEADING.match(line):
            return (match[1] or match[2] or "").strip(" \t#*_`")
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
    """The sentences of the line with a colon that a list's item stands under."""
    for number, (before, line) in enumerate(_lines_above(text, start)):
        if number >= _MAX_LINES or HEADING.match(line):
            break
        item = _ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (item is None and depth == 0)):
            leads = _LEAD_IN.search(line)
            return (
                sentences_around(text, Span(before, before + len(line))).slice(text)
                if leads
                else ""
            )
    return ""
