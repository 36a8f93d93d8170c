"""The events of pyromark's Markdown parser: flat, typed, and with ranges in code points instead of bytes."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
import pyromark
from pyromark import Options

if TYPE_CHECKING:
    from pyromark.event import Event

# Frontmatter is split off before: pulldown-cmark would take a YAML block anywhere in a note.
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
    """One event.

    Attributes:
        phase: an element begins, ends, or holds nothing (text, breaks, rules).
        name: as in pulldown-cmark: "Paragraph", "Link", "Text", "SoftBreak", ...
        start: first code point; of the whole element when it begins and when it ends.
        end: code point after the last.
        text: what a leaf shows.
        level: 1 to 6 where a heading begins.
        destination: where a Markdown link or image begins, its address; None in wikilinks.
    """

    phase: Literal["enter", "leave", "leaf"]
    name: str
    start: int
    end: int
    text: str = ""
    level: int = 0
    destination: str | None = None


def marks(text: str) -> Iterator[Mark]:
    """Every event of a text without frontmatter, in order."""
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
    """The map from a UTF-8 byte offset to a code point offset; built in one pass over the text."""
    if text.isascii():
        return int
    encoded = np.frombuffer(text.encode(), dtype=np.uint8)
    before = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum((encoded & _LEADING_BITS) != _CONTINUATION, out=before[1:])
    return before.item
