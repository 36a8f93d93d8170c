"""What a link says: the note it names, the place in it, and the text a reader sees."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from gigamind.spans import Span
from gigamind.vault.document import Link

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SIZE = re.compile(
    r"(?:^|\|)[ \t]*\d+(?:x\d+)?[ \t]*$"
)  # ![[img.png|100x145]], ![alt|100](img.png)


@dataclass(frozen=True, slots=True)
class RawLink:
    """One link as the parser found it.

    Attributes:
        span: the whole link in the note.
        inner_end: where the visible part ends; of Markdown links only.
        visible: the text between the brackets, inline markers off.
        destination: the address of a Markdown link, unescaped; None in a wikilink.
    """

    span: Span
    inner_end: int
    visible: str
    destination: str | None
    embed: bool


def read_link(raw: RawLink, text: str) -> Link | None:
    """The link, or None when it leads out of the vault, nowhere, or is none in Obsidian."""
    return _wikilink(raw, text) if raw.destination is None else _markdown_link(raw, raw.destination)


def _wikilink(raw: RawLink, text: str) -> Link | None:
    start, end = raw.span.start + 2 + raw.embed, raw.span.end - 2
    inner = text[start:end]
    if "\n" in inner:
        return None
    written, pipe, alias = inner.partition("|")
    if pipe:
        written = written.removesuffix("\\")  # in a table the pipe is escaped: [[note\|alias]]
    target, _, fragment = written.partition("#")
    if not target.strip() and not fragment.strip():
        return None
    visible = raw.visible
    if raw.embed:
        alias, visible = _SIZE.sub("", alias), _SIZE.sub("", visible)
    if alias.strip():
        text_span = _trimmed(alias, start + inner.index("|") + 1)
        visible = visible.strip()
    else:
        text_span = _trimmed(written, start)
        visible = written.strip()
    return Link(
        target.strip(), fragment.strip(), visible, raw.span, text_span, raw.embed, wikilink=True
    )


def _markdown_link(raw: RawLink, destination: str) -> Link | None:
    if _SCHEME.match(destination) or destination.startswith("//") or destination in {"", "#"}:
        return None
    target, _, fragment = destination.partition("#")
    start, end, visible = raw.span.start + 1 + raw.embed, raw.inner_end, raw.visible
    size = _SIZE.search(visible) if raw.embed else None
    if size is not None:
        end -= len(visible) - size.start()
        visible = visible[: size.start()]
    return Link(
        unquote(target),
        unquote(fragment),
        visible,
        raw.span,
        Span(start, max(start, end)),
        raw.embed,
        wikilink=False,
    )


def _trimmed(part: str, start: int) -> Span:
    """The span of `part` without the white space around it; `part` begins at `start`."""
    left = start + len(part) - len(part.lstrip())
    return Span(left, left + len(part.strip()))
