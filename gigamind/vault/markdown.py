"""Parse notes: headings, blocks, links, wikilinks and embeds; ranges are code points of the note."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import unquote

from gigamind.i18n import Message
from gigamind.spans import Span
from gigamind.vault import frontmatter
from gigamind.vault.marks import FILLER, Mark, marks, mask_comments

_BlockKind = Literal[
    "heading", "paragraph", "list", "quote", "code", "table", "html", "math", "rule", "footnote"
]


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading."""

    level: int  # 1 to 6
    text: str  # visible text, without markers and link brackets
    span: Span  # the whole heading including markers, without the final line break


@dataclass(frozen=True, slots=True)
class Link:
    """A link or embed to another note, to the same note or to an attachment. External addresses are excluded."""

    target: str  # note or file as written, percent-decoded in Markdown links; "" for the same note
    fragment: str  # the part after the first "#", such as "h1#h2" or "^block"; "" if absent
    text: str  # visible text
    span: Span  # the whole link, including brackets and "!"
    text_span: Span  # span of `text`
    embed: bool  # whether it starts with "!"
    wikilink: bool  # `[[...]]` rather than `[...](...)`


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block."""

    kind: _BlockKind
    span: Span  # blocks are in text order and never overlap


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed note."""

    frontmatter: Mapping[str, object]  # the YAML mapping at the top, or empty
    body_start: int  # first code point after the frontmatter and a byte order mark
    headings: tuple[_Heading, ...]
    links: tuple[Link, ...]
    blocks: tuple[Block, ...]
    warnings: tuple[Message, ...] = ()  # unreadable parts, such as invalid YAML, without the path
    # text in which a link could be written: no headings, code, links, images or HTML. The spans are disjoint and in
    # order; neighbours that the parser split at a sign that is plain text are merged.
    running: tuple[Span, ...] = ()

    def block_at(self, place: int) -> Block | None:
        """Return the last block that starts at or before a code point; None before the first."""
        behind = bisect_right(self.blocks, place, key=lambda block: block.span.start)
        return self.blocks[behind - 1] if behind else None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a whole note, including byte order mark and frontmatter. Time and memory are linear in the text."""
        front = frontmatter.split(text)
        reader = _Reader(text, front.body_start)
        reader.read()
        return cls(
            frontmatter=front.fields,
            body_start=front.body_start,
            headings=tuple(reader.headings),
            links=tuple(reader.links),
            blocks=tuple(reader.blocks),
            warnings=front.warnings,
            running=tuple(reader.running()),
        )


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# ![[img.png|100x145]], ![alt|100](img.png)
_SIZE = re.compile(r"(?:^|\|)[ \t]*\d+(?:x\d+)?[ \t]*$")


def _wikilink(text: str, span: Span, visible: str, *, embed: bool) -> Link | None:
    """Return the link, or None if it leads nowhere or is none in Obsidian; `visible` has no inline markers."""
    start, end = span.start + 2 + embed, span.end - 2
    inner = text[start:end]
    if "\n" in inner:
        return None
    written, pipe, alias = inner.partition("|")
    if pipe:
        written = written.removesuffix("\\")  # in a table the pipe is escaped: [[note\|alias]]
    target, _, fragment = written.partition("#")
    if not target.strip() and not fragment.strip():
        return None
    if embed:
        alias, visible = _SIZE.sub("", alias), _SIZE.sub("", visible)
    if alias.strip():
        text_span = _trimmed(alias, start + inner.index("|") + 1)
        visible = visible.strip()
    else:
        text_span = _trimmed(written, start)
        visible = written.strip()
    target, fragment = target.strip(), fragment.strip()
    return Link(target, fragment, visible, span, text_span, embed, wikilink=True)


def _markdown_link(
    destination: str, span: Span, end: int, visible: str, *, embed: bool
) -> Link | None:
    """Return the link, or None if it leaves the vault or leads nowhere; `end` is the end of its visible text."""
    if _SCHEME.match(destination) or destination.startswith("//") or destination in {"", "#"}:
        return None
    target, _, fragment = destination.partition("#")
    start = span.start + 1 + embed
    size = _SIZE.search(visible) if embed else None
    if size is not None:
        end -= len(visible) - size.start()
        visible = visible[: size.start()]
    target, fragment, text_span = unquote(target), unquote(fragment), Span(start, max(start, end))
    return Link(target, fragment, visible, span, text_span, embed, wikilink=False)


def _trimmed(part: str, start: int) -> Span:
    left = start + len(part) - len(part.lstrip())
    return Span(left, left + len(part.strip()))


_CLOSED_TO_LINKS = {"Heading", "CodeBlock", "Link", "Image", "HtmlBlock"}
_KINDS: dict[str, _BlockKind] = {
    "Paragraph": "paragraph",
    "Heading": "heading",
    "List": "list",
    "BlockQuote": "quote",
    "CodeBlock": "code",
    "Table": "table",
    "HtmlBlock": "html",
    "FootnoteDefinition": "footnote",
    "Rule": "rule",
}


@dataclass(slots=True)
class _Open:
    """A heading or link that is not closed yet."""

    mark: Mark  # its start
    first: int  # number of visible pieces before it
    inner_end: int  # end of its last inner element


class _Reader:
    """Collects the structure of a note; marks are relative to the body, results to the whole text."""

    def __init__(self, text: str, body_start: int) -> None:
        self.headings: list[_Heading] = []
        self.links: list[Link] = []
        self.blocks: list[Block] = []
        self._text = text
        self._body_start = body_start
        self._masked = mask_comments(text[body_start:])
        self._depth = 0
        self._only_math = False
        self._visible: list[str] = []
        self._open: list[_Open] = []
        self._nested = 0  # links inside an open link, which a reader sees as plain text
        self._closed_to_links = 0
        self._running: list[list[int]] = []

    def read(self) -> None:
        for mark in marks(self._masked):
            if mark.phase == "enter":
                self._enter(mark)
            elif mark.phase == "leave":
                self._leave(mark)
            else:
                self._leaf(mark)

    def running(self) -> list[Span]:
        return [self._span(start, end) for start, end in self._running]

    def _enter(self, mark: Mark) -> None:
        self._closed_to_links += mark.name in _CLOSED_TO_LINKS
        if self._depth == 0:
            self._only_math = mark.name == "Paragraph"
        self._depth += 1
        for outer in self._open:
            outer.inner_end = max(outer.inner_end, mark.end)
        if mark.name in {"Link", "Image"}:
            around = self._open[-1].mark.name if self._open else "Heading"
            if self._nested or around == "Image" or (around == "Link" and mark.name == "Link"):
                self._nested += 1
                return
        elif mark.name != "Heading":
            return
        self._open.append(_Open(mark, len(self._visible), mark.start))

    def _leave(self, mark: Mark) -> None:
        self._closed_to_links -= mark.name in _CLOSED_TO_LINKS
        self._depth -= 1
        if mark.name in {"Link", "Image"} and self._nested:
            self._nested -= 1
        elif mark.name in {"Link", "Image"}:
            self._close_link(self._open.pop())
        elif mark.name == "Heading":
            heading = self._open.pop()
            text = " ".join(self._shown_since(heading).split())
            span = self._span(mark.start, self._last_character(mark))
            self.headings.append(_Heading(heading.mark.level, text, span))
        if self._depth == 0:
            self._add_block("math" if self._only_math else _KINDS.get(mark.name, "paragraph"), mark)
        if not self._open:
            self._visible.clear()

    def _leaf(self, mark: Mark) -> None:
        if self._depth == 0 and mark.name == "Rule":
            self._add_block("rule", mark)
        if mark.name == "Text" and not self._closed_to_links:
            if self._running and self._running[-1][1] == mark.start:
                self._running[-1][1] = mark.end
            else:
                self._running.append([mark.start, mark.end])
        if mark.name != "DisplayMath" and mark.text.strip():
            self._only_math = False
        if self._open:
            self._visible.append(mark.text)
            for outer in self._open:
                outer.inner_end = max(outer.inner_end, mark.end)

    def _close_link(self, link: _Open) -> None:
        span, visible = self._span(link.mark.start, link.mark.end), self._shown_since(link)
        destination, embed = link.mark.destination, link.mark.name == "Image"
        if destination is None:
            read = _wikilink(self._text, span, visible, embed=embed)
        else:
            end = link.inner_end + self._body_start
            read = _markdown_link(destination, span, end, visible, embed=embed)
        if read is not None:
            self.links.append(read)

    def _add_block(self, kind: _BlockKind, mark: Mark) -> None:
        start, end = mark.start, self._last_character(mark)
        # The parser omits the indent of indented code.
        while start and self._masked[start - 1] in " \t":
            start -= 1
        if self._masked[start:end].strip(FILLER + " \t\r\n"):
            self.blocks.append(Block(kind, self._span(start, end)))

    def _last_character(self, mark: Mark) -> int:
        end = mark.end
        while end > mark.start and self._masked[end - 1].isspace():
            end -= 1
        return end

    def _shown_since(self, opened: _Open) -> str:
        return "".join(self._visible[opened.first :]).replace(FILLER, "")

    def _span(self, start: int, end: int) -> Span:
        return Span(start + self._body_start, end + self._body_start)
