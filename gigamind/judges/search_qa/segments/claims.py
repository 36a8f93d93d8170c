"""Cuts an answer into sentences, and tells which are claims: the ones that a judge decides on, numbered by us.

An answer is Markdown: each item of a list, row of a table and block of code is looked at by itself, headings are none,
and a citation stays with the sentence it follows.  Spans count code points of the answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gigamind.judges.search_qa.segments.citations import (
    end_of_citations,
    heads_sources,
    is_title,
    without_citations,
)
from gigamind.judges.search_qa.segments.lines import Line, Shape, composed, lines_of, mask
from gigamind.judges.search_qa.segments.pieces import Piece, piece, role_of
from gigamind.judges.search_qa.segments.statements import introduces
from gigamind.spans import Span
from gigamind.text import sentences

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
    whole = composed(answer)
    lines = lines_of(whole.text)
    found: list[Piece] = []
    in_sources = False  # whether a line above says that titles follow
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else None
        pieces = list(_pieces_of_line(whole.text, line, following))
        if in_sources:
            pieces = [_as_title(one) for one in pieces]
        titles = in_sources and all(one.role == "other" for one in pieces)
        in_sources = titles or any(heads_sources(one.text) for one in pieces)
        found += pieces
    return tuple(replace(one, span=whole.origin(one.span)) for one in found)


def _as_title(one: Piece) -> Piece:
    """A line under "출처:" that has the form of a title is one."""
    return replace(one, role="other") if one.role == "claim" and is_title(one.text) else one


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
            leads = last and following is not None and following.shape in _INTRODUCED
            yield piece(
                answer, span, "lead_in" if leads and _is_lead_in(span.slice(answer)) else None
            )


def _is_lead_in(text: str) -> bool:
    bare = without_citations(text)
    return introduces(bare) and role_of(bare) == "claim"


def _sentences_in(answer: str, span: Span) -> list[Span]:
    """The sentences under a span, each with the citations behind it; what is left between two belongs to the later."""
    text = span.slice(answer)
    found: list[Span] = []
    for sentence in sentences(mask(text)):
        last = found[-1].end if found else 0
        if sentence.end <= last:  # the full stops behind a citation, which were taken with it
            continue
        start = last + _blank_at_start(text[last : sentence.end])
        end = max(sentence.end, end_of_citations(text, sentence.end))
        if found and text[last - 1] in '"”’」』' and _GOES_ON.match(text[start:end]):
            start = found.pop().start
        found.append(Span(start, end))
    rest = text[found[-1].end :] if found else text
    if rest.strip():  # citations that nothing follows
        end = len(text.rstrip())
        begin = found.pop().start if found else _blank_at_start(text)
        found.append(Span(begin, end))
    return [Span(span.start + one.start, span.start + one.end) for one in found]


def _blank_at_start(text: str) -> int:
    return len(text) - len(text.lstrip())
