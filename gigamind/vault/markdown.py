"""Parse notes with pyromark, plus Obsidian's comments, wikilinks and embeds; ranges are code points of the note."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, cast
from urllib.parse import unquote

import numpy as np
import pyromark
from pyromark import Options

from gigamind.i18n import Message
from gigamind.spans import Span, spliced
from gigamind.vault import frontmatter

if TYPE_CHECKING:
    from pyromark.event import Event


# Frontmatter is removed first: pulldown-cmark would accept a YAML block anywhere in a note.
_OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_WIKILINKS
    | Options.ENABLE_MATH
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
)
_SHOWN = {"Text", "Code", "InlineMath", "DisplayMath"}
_LEADING_BITS, _CONTINUATION = 0xC0, 0x80  # a UTF-8 byte 10xxxxxx starts no character


class Mark(NamedTuple):
    """One parser event."""

    phase: Literal["enter", "leave", "leaf"]  # a leaf has no content: text, breaks, rules
    name: str  # as in pulldown-cmark: "Paragraph", "Link", "Text", "SoftBreak", ...
    start: int  # first code point; for "enter" and "leave" of the whole element
    end: int  # code point after the last
    text: str = ""  # visible text of a leaf
    level: int = 0  # 1 to 6 at the start of a heading
    destination: str | None = None  # of a Markdown link or image at its start; None for wikilinks


def marks(text: str) -> Iterator[Mark]:
    """Yield every event of a text without frontmatter, in order."""
    index = _code_points(text)
    for event, bytes_ in pyromark.events_with_range(text, options=_OPTIONS):
        yield _mark(event, index(bytes_["start"]), index(bytes_["end"]))


def _mark(event: "Event", start: int, end: int) -> Mark:
    if isinstance(event, str):
        return Mark("leaf", event, start, end, "" if event == "Rule" else " ")
    if "Start" in event:
        tag = event["Start"]
        name, level, destination = "", 0, None
        if isinstance(tag, str):
            name = tag
        elif "Heading" in tag:
            name, level = "Heading", int(tag["Heading"]["level"][1])
        elif "Link" in tag:
            name, destination = "Link", _destination(tag["Link"])
        elif "Image" in tag:
            name, destination = "Image", _destination(tag["Image"])
        else:
            name = next(iter(tag))
        return Mark("enter", name, start, end, "", level, destination)
    if "End" in event:
        tag = event["End"]
        return Mark("leave", tag if isinstance(tag, str) else next(iter(tag)), start, end)
    name, value = next(iter(event.items()))
    return Mark("leaf", name, start, end, cast("str", value) if name in _SHOWN else "")


def _destination(link: "Mapping[str, object]") -> str | None:
    kind, address = link["link_type"], cast("str", link["dest_url"])
    if isinstance(kind, dict):
        return None
    return "mailto:" + address if kind == "Email" else address


def _code_points(text: str) -> Callable[[int], int]:
    if text.isascii():
        return int
    encoded = np.frombuffer(text.encode(), dtype=np.uint8)
    before = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum((encoded & _LEADING_BITS) != _CONTINUATION, out=before[1:])
    return before.item


ADDRESS = r"(?<!\w)\w++://\S+|www\.\S+"  # in running text, where the parser sees no link
FILLER = "\ufffe"  # a noncharacter: plain text for the parser, never shown to a reader
_CHARACTER = re.compile(r"[^\r\n]")
_END_OF_LINE = re.compile(r"[ \t]*+(?:[\r\n]|\Z)")


def mask_comments(text: str) -> str:
    """Return the text with every comment blanked; all other characters keep their offsets.

    A line that is entirely comment becomes spaces, a comment beside other text `FILLER`, as indented text is code.
    """
    if "%%" not in text:
        return text
    return spliced(text, ((span, _blank(text, span)) for span in comments(text)))


def comments(text: str) -> Iterator[Span]:
    """Yield the ranges of comments, including the `%%` marks.

    A comment that opens inside a line must end in the same block: a stray "100%%" must not swallow the next section.
    One that opens a line may span several blocks. A mark without a partner is text.
    """
    signs = list(_percent_marks(text))
    at = 0
    while at + 1 < len(signs):
        (start, block), (last, last_block) = signs[at], signs[at + 1]
        if block == last_block or not text[text.rfind("\n", 0, start) + 1 : start].strip():
            yield Span(start, last + 2)
            at += 2
        else:
            at += 1


def _percent_marks(text: str) -> Iterator[tuple[int, int]]:
    depth = block = 0
    in_code = False
    for mark in marks(text):
        if mark.phase == "enter":
            block += depth == 0
            depth += 1
            in_code = mark.name == "CodeBlock"
        elif mark.phase == "leave":
            depth -= 1
            in_code = False
        elif mark.name == "Text" and not in_code:
            at = text.find("%%", mark.start, mark.end)
            while at >= 0:
                if at == 0 or text[at - 1] != "\\":
                    yield at, block
                at = text.find("%%", at + 2, mark.end)


def _blank(text: str, span: Span) -> str:
    lines = span.slice(text).split("\n")
    fills = [" "] * len(lines)
    if text[text.rfind("\n", 0, span.start) + 1 : span.start].strip(" \t"):
        fills[0] = FILLER
    if not _END_OF_LINE.match(text, span.end):
        fills[-1] = FILLER
    return "\n".join(_CHARACTER.sub(fill, line) for fill, line in zip(fills, lines, strict=True))


BlockKind = Literal[
    "heading", "paragraph", "list", "quote", "code", "table", "html", "math", "rule", "footnote"
]


@dataclass(frozen=True, slots=True)
class Heading:
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

    kind: BlockKind
    span: Span  # blocks are in text order and never overlap


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed note."""

    frontmatter: Mapping[str, object]  # the YAML mapping at the top, or empty
    body_start: int  # first code point after the frontmatter and a byte order mark
    headings: tuple[Heading, ...]
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
    """Parse a whole note, including byte order mark and frontmatter. Time and memory are linear in the text."""
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
        running=tuple(reader.running()),
    )


@dataclass(slots=True)
class _Open:
    """A heading or link that is not closed yet."""

    mark: Mark  # its start
    first: int  # number of visible pieces before it
    inner_end: int  # end of its last inner element


class _Reader:
    """Collects the structure of a note; marks are relative to the body, results to the whole text."""

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
            self.headings.append(Heading(heading.mark.level, text, span))
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

    def _add_block(self, kind: BlockKind, mark: Mark) -> None:
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
