"""Finds the parts of a note that its author does not state: they can be found and quoted, but prove nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gigamind.evidence.critical import Unstated
from gigamind.spans import Span, spliced

if TYPE_CHECKING:
    from gigamind.vault.marks import Mark

# A heading, a callout or the `status` of a note marks its text as outdated by one of its parts, not by its topic.
_OUTDATED = re.compile(
    r"(?:(?:outdated|obsolete|deprecated|superseded)\b.*|no longer (?:valid|current|in use).*"
    r"|(?:구 ?버전|이전 버전|옛 버전|폐기[된됨]|만료[된됨]|더 이상 유효하지|더는 유효하지).*|폐기|만료)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[()\[\]：–—]|:(?=\s|$)|\s-\s")
_MARKUP = " \t\r\n>*_`~#!."
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]+\}\}|\{%[^\n]*?%\}|<%[^\n]*?%>")
# A setting or a statement behind a comment sign; a comment in words explains the code and is no part of it.
_CODE_COMMENT = re.compile(r"^[ \t]*+(?:#|//|--|;)[#/;-]*+[ \t]*+", re.MULTILINE)
_SETTING = re.compile(r"[\w.\"'\[\]-]++[ \t]*+[:=][ \t]*+(?:\"[^\"]*+\"|'[^']*+'|[^\s,;]++)[,;]?")
_STATEMENT = re.compile(r"[;{}]$|\w\([^()]*+\)$")
_BRACKETED = {"CodeBlock": (("/*", "*/"), ("<!--", "-->")), "HtmlBlock": (("<!--", "-->"),)}
_BRACKETED["InlineHtml"] = _BRACKETED["HtmlBlock"]
_STRUCK = re.compile(r"</?(?:del|s|strike)\b[^<>]*>", re.IGNORECASE)
_ENDS = re.compile(r"\w(?:.*\w)?", re.DOTALL)  # from the first to the last letter
# Texts without such a sign are not parsed.
_SIGNS = re.compile(
    rf"~~|<!--|%%|\{{\{{|\{{%|<%|^[ \t]*(?:```|~~~)|{_STRUCK.pattern}|{_OUTDATED.pattern}",
    re.IGNORECASE | re.MULTILINE,
)


def why_unstated(text: str, span: Span) -> Unstated | None:
    """Return why the first or last word of a span is not stated; None if both are."""
    parts = unstated(text)
    match = _ENDS.search(span.slice(text)) if parts else None
    if match is None:
        return None
    ends = (span.start + match.start(), span.start + match.end() - 1)
    return next(
        (why for part, why in parts if any(part.start <= at < part.end for at in ends)), None
    )


@lru_cache(maxsize=256)
def stated(text: str) -> str:
    """Return the text with everything that is not stated replaced by spaces; all offsets stay."""
    done, parts = 0, list[tuple[Span, str]]()
    for part, _why in unstated(text):
        start = max(done, part.start)
        if start < part.end:
            blank = re.sub(r"[^\n]", " ", text[start : part.end])
            parts.append((Span(start, part.end), blank))
            done = part.end
    return spliced(text, parts)


@lru_cache(maxsize=256)
def unstated(text: str) -> tuple[tuple[Span, Unstated], ...]:
    """Return the parts of a note that state nothing, by their start, each with the reason; parts may overlap."""
    return tuple(sorted(_unstated(text))) if _SIGNS.search(text) else ()


def _unstated(text: str) -> Iterator[tuple[Span, Unstated]]:
    # Imported here because most texts need no parser.
    from gigamind.vault.frontmatter import split, text_field
    from gigamind.vault.marks import comments, marks

    front = split(text)
    base, body = front.body_start, text[front.body_start :]
    begun = [mark for mark in marks(body) if mark.phase != "leave"]
    code = [mark for mark in begun if mark.name in {"Code", "CodeBlock"}]
    placeholders = (
        match.span()
        for match in _PLACEHOLDER.finditer(body)
        if not any(mark.start <= match.start() < mark.end for mark in code)
    )
    is_old = _is_outdated(text_field(front.fields, "status"))
    found: dict[Unstated, Iterable[tuple[int, int]]] = {
        "outdated": [(0, len(body))] if is_old else _outdated(body, begun),
        "struck_out": _struck_out(body, begun),
        "comment": [*_commented(body, begun), *((s.start, s.end) for s in comments(body))],
        "placeholder": placeholders,
    }
    for why, places in found.items():
        for start, end in places:
            yield Span(base + start, base + end), why


def _outdated(body: str, begun: Sequence["Mark"]) -> Iterator[tuple[int, int]]:
    headings = [mark for mark in begun if mark.name == "Heading"]
    for number, heading in enumerate(headings):
        if _is_outdated(body[heading.start : heading.end]):
            behind = (h.start for h in headings[number + 1 :] if h.level <= heading.level)
            yield heading.end, next(behind, len(body))
    for mark in begun:
        if mark.name == "BlockQuote":
            line = body[mark.start : mark.end].lstrip(" \t>").partition("\n")[0]
            kind, _bracket, title = line.removeprefix("[!").partition("]")
            if _is_outdated(kind) or _is_outdated(title.lstrip("+-")):
                yield mark.start, mark.end


def _struck_out(body: str, begun: Sequence["Mark"]) -> Iterator[tuple[int, int]]:
    opened: int | None = None
    for mark in begun:
        if mark.name == "Strikethrough":
            yield mark.start, mark.end
        elif mark.name in {"InlineHtml", "Html"} and _STRUCK.match(body, mark.start):
            closes = body.startswith("</", mark.start)
            if opened is not None and closes:
                yield opened, mark.end
            opened = None if closes else mark.start


def _commented(body: str, begun: Sequence["Mark"]) -> Iterator[tuple[int, int]]:
    for mark in begun:
        for opening, closing in _BRACKETED.get(mark.name, ()):
            start = body.find(opening, mark.start, mark.end)
            while start >= 0:
                end = body.find(closing, start, mark.end)
                end = mark.end if end < 0 else end + len(closing)
                if opening != "/*" or _STATEMENT.search(
                    body[start:end].removesuffix(closing).strip()
                ):
                    yield start, end
                start = body.find(opening, end, mark.end)
        if mark.name == "CodeBlock":
            for sign in _CODE_COMMENT.finditer(body, mark.start, mark.end):
                end = body.find("\n", sign.end(), mark.end)
                line = body[sign.end() : mark.end if end < 0 else end].rstrip()
                if _SETTING.fullmatch(line) or _STATEMENT.search(line):
                    yield sign.start(), sign.end() + len(line)


def _is_outdated(title: str) -> bool:
    """Return whether a title is, or starts with, a mark of outdated text, also in brackets or behind a dash."""
    return any(_OUTDATED.fullmatch(part.strip(_MARKUP)) for part in _PARTS.split(title))
