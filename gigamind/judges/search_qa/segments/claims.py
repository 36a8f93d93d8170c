"""Splits an answer into sentences, and numbers those that a judge decides on: all that have a word of their own.

List items, table rows and code blocks are split separately; a citation stays with the sentence before it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gigamind.judges.search_qa.segments.citations import end_of_citations, without_citations
from gigamind.judges.search_qa.segments.lines import Line, Piece, composed, lines_of, mask, piece
from gigamind.spans import Span
from gigamind.text import sentences

# A quoted sentence within a sentence that continues: "좋다." 라고 말했다.
_GOES_ON = re.compile(
    r"(?:이?라(?:고|며|면서|는)|고 |하고 |하며 |said |asked |wrote |he said|she said)"
)
_AT_EDGES = re.compile(r"[*`]|(?<!\w)(?!-\d)[^\w\s]+|[^\w\s%]+(?!\w)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer, numbered from 1; a claim unless it gets another role."""

    id: int
    piece: Piece


def claims_of(pieces: Sequence[Piece]) -> tuple[Claim, ...]:
    """Return the sentences among the pieces of an answer, numbered in order, regardless of their roles."""
    sentence_pieces = (sentence for sentence in pieces if sentence.role != "other")
    return tuple(
        Claim(number, sentence) for number, sentence in enumerate(sentence_pieces, start=1)
    )


def pieces_of(answer: str) -> tuple[Piece, ...]:
    """Return the pieces of an answer in order; without overlap, they cover all but white space and markers."""
    whole = composed(answer)
    pieces = (part for line in lines_of(whole.text) for part in _pieces_of_line(whole.text, line))
    return tuple(replace(part, span=whole.origin(part.span)) for part in pieces)


def comparable(text: str) -> str:
    """Return a claim without what people omit or add when they copy it; marks inside numbers and words stay."""
    folded = unicodedata.normalize("NFC", without_citations(text)).casefold()
    return " ".join(_AT_EDGES.sub("", folded).split())


def _pieces_of_line(answer: str, line: Line) -> Iterator[Piece]:
    if line.shape == "code":
        yield piece(answer, line.span, line.shape, line.span.slice(answer).strip())
    elif line.shape == "row":
        yield piece(answer, line.span, line.shape, without_citations(line.text))
    elif line.shape == "heading":
        yield piece(answer, line.span, line.shape)
    else:
        for span in _sentences_in(answer, line.span):
            yield piece(answer, span, line.shape)


def _sentences_in(answer: str, span: Span) -> list[Span]:
    """Return the sentences in a span, each with its citations; text between two of them belongs to the later one."""
    text = span.slice(answer)
    spans: list[Span] = []
    for sentence in sentences(mask(text)):
        last = spans[-1].end if spans else 0
        if sentence.end <= last:  # the full stops after a citation, which belong to it
            continue
        start = last + _blank_at_start(text[last : sentence.end])
        end = max(sentence.end, end_of_citations(text, sentence.end))
        if spans and text[last - 1] in '"”’」』' and _GOES_ON.match(text[start:end]):
            start = spans.pop().start
        spans.append(Span(start, end))
    rest = text[spans[-1].end :] if spans else text
    if rest.strip():  # citations at the end
        end = len(text.rstrip())
        begin = spans.pop().start if spans else _blank_at_start(text)
        spans.append(Span(begin, end))
    return [Span(span.start + part.start, span.start + part.end) for part in spans]


def _blank_at_start(text: str) -> int:
    return len(text) - len(text.lstrip())
