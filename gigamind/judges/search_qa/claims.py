"""Cuts an answer into sentences, and tells which are claims: the ones that a judge decides on, numbered by us.

An answer is Markdown: each item of a list, row of a table and block of code is looked at by itself, headings are none,
and a citation stays with the sentence it follows.  Spans count code points of the answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gigamind.judges.search_qa.lines import Line, Shape, lines_of
from gigamind.judges.search_qa.masking import mask
from gigamind.judges.search_qa.pieces import (
    CITATION,
    CITED_BEHIND,
    Piece,
    piece,
    role_of,
    without_citations,
)
from gigamind.spans import Span
from gigamind.text import sentences

_LEADS_IN = re.compile(
    r"[:：]\**\s*$|(?:다음|아래)(?:과|와) 같(?:습니다|아요|다)\.?\s*$|\bas follows\.?\s*$|\bfollowing:?\s*$"
)
_INTRODUCED: frozenset[Shape] = frozenset({"item", "row", "code"})
# A sentence in a quotation that goes on behind it: "좋다." 라고 말했다.
_GOES_ON = re.compile(
    r"(?:이?라(?:고|며|면서|는)|고 |하고 |하며 |said |asked |wrote |he said|she said)"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer.

    Attributes:
        id: its number, from 1.
    """

    id: int
    piece: Piece


def claims_of(pieces: Sequence[Piece]) -> tuple[Claim, ...]:
    """The claims among the pieces of an answer, numbered in their order."""
    found = (one for one in pieces if one.role == "claim")
    return tuple(Claim(number, one) for number, one in enumerate(found, start=1))


def pieces_of(answer: str) -> tuple[Piece, ...]:
    """The pieces of an answer in their order; they overlap nowhere, and cover all but white space and markers."""
    lines = lines_of(answer)
    found: list[Piece] = []
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else None
        found += _pieces_of_line(answer, line, following)
    return tuple(found)


def _pieces_of_line(answer: str, line: Line, following: Line | None) -> Iterator[Piece]:
    if line.shape == "heading":
        yield piece(answer, line.span, "heading")
    elif line.shape == "code":
        yield piece(answer, line.span, "claim", line.span.slice(answer).strip())
    elif line.shape == "row":
        shown = without_citations(line.text)
        yield piece(answer, line.span, role_of(shown), shown)
    else:
        spans = _sentences_in(answer, line.span)
        for number, span in enumerate(spans, start=1):
            last = number == len(spans)
            introduces = last and following is not None and following.shape in _INTRODUCED
            yield piece(
                answer, span, "lead_in" if introduces and _is_lead_in(span.slice(answer)) else None
            )


def _is_lead_in(text: str) -> bool:
    """Whether a sentence only announces what follows it; one with a number states something of its own."""
    bare = without_citations(text)
    return bool(_LEADS_IN.search(bare)) and not any(char.isdigit() for char in bare)


def _sentences_in(answer: str, span: Span) -> list[Span]:
    """The sentences under a span, each with the citations behind it."""
    text = span.slice(answer)
    found: list[Span] = []
    for sentence in sentences(mask(text)):
        start, end = sentence.start, sentence.end
        if behind := CITED_BEHIND.match(text, end):
            end = behind.end()
        before = text[found[-1].end : start] if found else text[:start]
        if CITATION.search(before):
            start = (
                found[-1].end + len(before) - len(before.lstrip())
                if found
                else len(text) - len(text.lstrip())
            )
        if found and _GOES_ON.match(text[start:end]) and text[found[-1].end - 1] in '"”’」』':
            start = found.pop().start
        found.append(Span(start, end))
    if not found and text.strip():  # nothing but citations
        begin = len(text) - len(text.lstrip())
        found.append(Span(begin, begin + len(text.strip())))
    return [Span(span.start + one.start, span.start + one.end) for one in found]
