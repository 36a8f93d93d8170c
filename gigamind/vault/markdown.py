"""Reads one note's Markdown into headings, links and top-level blocks, as Obsidian does.

Every range counts code points of the text given.  Code, math, HTML blocks, frontmatter and `%%comments%%` hold no
links; a block that is all comment is left out, for no reader sees it.
"""

from dataclasses import dataclass

from gigamind.spans import Span
from gigamind.vault import frontmatter
from gigamind.vault.comments import FILLER, mask_comments
from gigamind.vault.document import Block, BlockKind, Document, Heading, Link
from gigamind.vault.events import Mark, marks
from gigamind.vault.wikilinks import RawLink, read_link

_KINDS: dict[str, BlockKind] = {
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


def parse(text: str) -> Document:
    """Parse a whole note, byte order mark and frontmatter included.  Time and memory grow linearly with the text."""
    front = frontmatter.split(text)
    reader = _Reader(text, front.body_start)
    reader.read()
    return Document(
        frontmatter=front.fields,
        body_start=front.body_start,
        headings=tuple(reader.headings),
        links=tuple(reader.links),
        blocks=tuple(reader.blocks),
        warnings=front.warnings,
    )


@dataclass(slots=True)
class _Open:
    """A heading or link whose end has not come yet.

    Attributes:
        mark: its beginning.
        first: how many visible pieces stand before it.
        inner_end: where the last thing inside it ends.
    """

    mark: Mark
    first: int
    inner_end: int


class _Reader:
    """Walks the marks of one note; marks count from the start of the body, everything kept from that of the text."""

    def __init__(self, text: str, body_start: int) -> None:
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.blocks: list[Block] = []
        self._text = text
        self._body_start = body_start
        self._masked = mask_comments(text[body_start:])
        self._depth = 0
        self._only_math = False
        self._visible: list[str] = []
        self._open: list[_Open] = []
        self._nested = 0  # links in the text of an open one, which a reader sees as plain text

    def read(self) -> None:
        for mark in marks(self._masked):
            if mark.phase == "enter":
                self._enter(mark)
            elif mark.phase == "leave":
                self._leave(mark)
            else:
                self._leaf(mark)

    def _enter(self, mark: Mark) -> None:
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
        self._depth -= 1
        if mark.name in {"Link", "Image"} and self._nested:
            self._nested -= 1
        elif mark.name in {"Link", "Image"}:
            self._close_link(self._open.pop())
        elif mark.name == "Heading":
            self._close_heading(self._open.pop())
        if self._depth == 0:
            self._add_block("math" if self._only_math else _KINDS.get(mark.name, "paragraph"), mark)
        if not self._open:
            self._visible.clear()

    def _leaf(self, mark: Mark) -> None:
        if self._depth == 0 and mark.name == "Rule":
            self._add_block("rule", mark)
        if mark.name != "DisplayMath" and mark.text.strip():
            self._only_math = False
        if self._open:
            self._visible.append(mark.text)
            for outer in self._open:
                outer.inner_end = max(outer.inner_end, mark.end)

    def _close_link(self, link: _Open) -> None:
        raw = RawLink(
            span=self._span(link.mark.start, link.mark.end),
            inner_end=link.inner_end + self._body_start,
            visible=self._shown_since(link),
            destination=link.mark.destination,
            embed=link.mark.name == "Image",
        )
        read = read_link(raw, self._text)
        if read is not None:
            self.links.append(read)

    def _close_heading(self, heading: _Open) -> None:
        text = " ".join(self._shown_since(heading).split())
        span = self._span(heading.mark.start, self._last_character(heading.mark))
        self.headings.append(Heading(heading.mark.level, text, span))

    def _add_block(self, kind: BlockKind, mark: Mark) -> None:
        start, end = mark.start, self._last_character(mark)
        while start and self._masked[start - 1] in " \t":  # of indented code, the indent is missing
            start -= 1
        if end > start and not self._masked[start:end].strip(FILLER + " \t\r\n"):
            return
        if end > start:
            self.blocks.append(Block(kind, self._span(start, end)))

    def _last_character(self, mark: Mark) -> int:
        """The end of an element without the white space behind it."""
        end = mark.end
        while end > mark.start and self._masked[end - 1].isspace():
            end -= 1
        return end

    def _shown_since(self, opened: _Open) -> str:
        return "".join(self._visible[opened.first :]).replace(FILLER, "")

    def _span(self, start: int, end: int) -> Span:
        return Span(start + self._body_start, end + self._body_start)
