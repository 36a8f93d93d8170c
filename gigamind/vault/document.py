"""The parts of one Markdown note, each with its range in code points of the note's text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gigamind.spans import Span

BlockKind = Literal[
    "heading", "paragraph", "list", "quote", "code", "table", "html", "math", "rule", "footnote"
]


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading.

    Attributes:
        level: 1 to 6.
        text: the visible text, markers and link brackets off.
        span: the whole heading, markers included, without the line break at its end.
    """

    level: int
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Link:
    """One link or embed to another note, to this note, or to an attachment.  External addresses are not links here.

    Attributes:
        target: the note or file as written, percent-decoded in Markdown links; "" points into the same note.
        fragment: what follows the first "#", such as "h1#h2" or "^block"; "" without one.
        text: what the reader sees.
        span: the whole link, brackets and "!" included.
        text_span: where `text` stands.
        embed: written with a leading "!".
        wikilink: `[[...]]` rather than `[...](...)`.
    """

    target: str
    fragment: str
    text: str
    span: Span
    text_span: Span
    embed: bool
    wikilink: bool


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level block, in the order of the text; blocks never overlap."""

    kind: BlockKind
    span: Span


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed note.

    Attributes:
        frontmatter: the YAML mapping at the top, or empty.
        body_start: the first code point after the frontmatter (and after a byte order mark).
        warnings: what could not be read, such as broken YAML, each a sentence without the note's path.
    """

    frontmatter: Mapping[str, object]
    body_start: int
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...] = ()
