"""The parser events of a note, and Obsidian's comments; ranges are code points of the text."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
import pyromark
from pyromark import Options

from gigamind.spans import Span, spliced

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
