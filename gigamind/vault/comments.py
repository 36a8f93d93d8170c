"""Obsidian's `%%comments%%`, which are no Markdown and must be gone before links and headings are read."""

import re
from collections.abc import Iterator

from gigamind.vault.events import marks

FILLER = "\ufffe"  # a noncharacter: plain text to the parser, and no text of a reader
_CHARACTER = re.compile(r"[^\r\n]")


def mask_comments(text: str) -> str:
    """The text with every comment blanked, each character still at its offset.

    A line that is all comment becomes spaces.  A comment beside other text becomes `FILLER`, since spaces at the start
    of a line would make code of the text behind them.
    """
    if "%%" not in text:
        return text
    pieces: list[str] = []
    done = 0
    for start, end in _comments(text):
        pieces += [text[done:start], _blank(text, start, end)]
        done = end
    return "".join([*pieces, text[done:]])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of the comments, `%%` marks included.

    A comment that opens inside a line ends in the same block: a stray "100%%" must not swallow the next section.  One
    that opens a line may run over many blocks.  A mark without a partner is text.
    """
    found = list(_percent_marks(text))
    at = 0
    while at + 1 < len(found):
        (start, block), (last, last_block) = found[at], found[at + 1]
        if block == last_block or not text[text.rfind("\n", 0, start) + 1 : start].strip():
            yield start, last + 2
            at += 2
        else:
            at += 1


def _percent_marks(text: str) -> Iterator[tuple[int, int]]:
    """Each `%%` outside code, math and HTML: its offset, and the number of its top-level block."""
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


def _blank(text: str, start: int, end: int) -> str:
    """Spaces or fillers of the same length, line breaks kept."""
    lines = text[start:end].split("\n")
    fills = [" "] * len(lines)
    if _text_before(text, start):
        fills[0] = FILLER
    if _text_after(text, end):
        fills[-1] = FILLER
    return "\n".join(_CHARACTER.sub(fill, line) for fill, line in zip(fills, lines, strict=True))


def _text_before(text: str, start: int) -> bool:
    while start and text[start - 1] in " \t":
        start -= 1
    return start > 0 and text[start - 1] != "\n"


def _text_after(text: str, end: int) -> bool:
    while end < len(text) and text[end] in " \t":
        end += 1
    return end < len(text) and text[end] not in "\r\n"
