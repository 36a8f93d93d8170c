"""The lines of a Markdown answer, each with what it is: prose, heading, list item, table row or code.

The reader of notes is not used here: a chat shows comments, frontmatter and HTML as text, and a claim must not hide
in them.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from gigamind.judges.search_qa.segments.statements import states
from gigamind.spans import Span

Shape = Literal["prose", "heading", "item", "row", "code"]

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^\s`]*)([^`]*)$")
_ATTRIBUTES = re.compile(r"\s*(?:\{[^{}]*\}|[\w-]+=\S+|\s)*$")
_PROSE_IN_FENCE = frozenset({"", "text", "txt", "plaintext", "markdown", "md"})
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]+")
_BOLD_ALONE = re.compile(r"[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t]*[:：]?[ \t]*$")
_RULE = re.compile(r"[ \t>]*(?:(?:[-*_][ \t]*){3,}|=+[ \t]*)$")
_ITEM = re.compile(
    r"[ \t>]*(?:[-*+•·◦▪‣–][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+(?!\d+\.(?:\s|$))"
    r"|[①-⑳][ \t]*|[가나다라마바사아자차카타파하][.)][ \t]+|\(\d{1,2}\)[ \t]+)"
)
_QUOTED = re.compile(r"[ \t]*>[ \t>]*")
_LANGUAGE = re.compile(r"[\w+#.-]{0,20}$", re.ASCII)
_END_OF_LINE = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ENDED = re.compile(
    r"[.!?。！？:：;…\]][\"'”’」』)*_\s]*$|(?:다|요|죠|까|음|함|임|됨|것|등|중)[\s*_]*$"
)
_BOLD_LEVEL = 7  # below those of six signs
_MIN_WRAPPED = 30  # characters: a shorter line was ended on purpose


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or several that are one sentence's.

    Attributes:
        span: without markers in front and white space around.
        text: of a row, its cells with their column names; else empty.
    """

    span: Span
    shape: Shape
    text: str = ""


def lines_of(answer: str) -> list[Line]:
    """The lines that hold text, in their order."""
    reader = _Reader(answer)
    return reader.read()


class _Reader:
    def __init__(self, answer: str) -> None:
        self._answer = answer
        ends = list(_END_OF_LINE.finditer(answer))
        starts = (0, *(end.end() for end in ends))
        stops = (*(end.start() for end in ends), len(answer))
        self._raw = [Span(start, stop) for start, stop in zip(starts, stops, strict=True)]
        self._levels: dict[int, int] = {}  # of headings, by where they start
        self._found: list[Line] = []
        self._at = 0
        self._joins = False  # whether the next line may go on with the last one

    def read(self) -> list[Line]:
        while self._at < len(self._raw):
            self._read_one()
        following = (*self._found[1:], None)
        return [self._checked(*pair) for pair in zip(self._found, following, strict=False)]

    def _checked(self, line: Line, following: Line | None) -> Line:
        """A heading stands over something; over nothing, or over a heading of its own level, it is a statement."""
        if line.shape != "heading":
            return line
        over = following is not None and (
            following.shape != "heading"
            or self._levels[following.span.start] > self._levels[line.span.start]
        )
        return line if over else replace(line, shape="prose")

    def _text(self, index: int) -> str:
        return self._raw[index].slice(self._answer) if index < len(self._raw) else ""

    def _read_one(self) -> None:
        text = self._text(self._at)
        if fence := _FENCE.match(text):
            self._joins = False
            self._read_fence(fence)
            return
        if self._is_table(text):
            self._joins = False
            self._read_table()
            return
        self._read_line(text)
        self._at += 1

    def _is_table(self, text: str) -> bool:
        """Whether a header and its rule stand here, with as many cells (GFM): "A|B" over "---" is text over a line."""
        rule = self._text(self._at + 1)
        if "|" not in text or "-" not in rule or not _TABLE_RULE.match(rule):
            return False
        return len(_cells(text)) == len(_cells(rule))

    def _read_line(self, text: str) -> None:
        if not text.strip() or _RULE.match(text):
            self._joins = False
        elif heading := _HEADING.match(text):
            stated = states(text[heading.end() :])
            self._add("prose" if stated else "heading", heading.end(), heading[0].count("#"))
            self._joins = False
        elif self._is_bold_heading(text):
            self._add("heading", 0, _BOLD_LEVEL)
            self._joins = False
        elif item := _ITEM.match(text):
            self._add("item", item.end())
            self._joins = True
        else:
            quoted = _QUOTED.match(text)
            self._add_prose(text, quoted.end() if quoted else 0)

    def _add(self, shape: Shape, begin: int, level: int = 0) -> None:
        raw = self._raw[self._at]
        text = self._text(self._at)[begin:]
        if text.strip():
            start = raw.start + begin + len(text) - len(text.lstrip())
            self._levels[start] = level
            self._found.append(Line(Span(start, start + len(text.strip())), shape))

    def _add_prose(self, text: str, begin: int) -> None:
        last = self._found[-1] if self._joins and self._found else None
        if last and self._goes_on(last.span.slice(self._answer), text[begin:].lstrip()):
            end = self._raw[self._at].start + len(text.rstrip())
            self._found[-1] = Line(Span(last.span.start, end), last.shape)
        else:
            self._add("prose", begin)
        self._joins = True

    def _goes_on(self, before: str, text: str) -> bool:
        """Whether a line was wrapped: its last words end no sentence, and the next begin none."""
        last = before.rpartition("\n")[2]
        if len(last) < _MIN_WRAPPED or _ENDED.search(last):
            return False
        return text[:1].islower() or "가" <= text[:1] <= "힣"

    def _is_bold_heading(self, text: str) -> bool:
        """Whether a line all in bold stands over something; one with a number or a full stop says something itself."""
        found = _BOLD_ALONE.match(text)
        more = any(
            self._text(index).strip()
            for index in range(self._at + 1, min(self._at + 3, len(self._raw)))
        )
        return bool(found) and more and not states(found[1])

    def _read_fence(self, opening: re.Match[str]) -> None:
        fence, language = opening[1], opening[2].lower()
        if not _LANGUAGE.match(language) or not _ATTRIBUTES.match(opening[3]):
            self._add("prose", opening.start(2))
        first = self._at = self._at + 1
        close = re.compile(rf"[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        while self._at < len(self._raw) and not close.match(self._text(self._at)):
            if language in _PROSE_IN_FENCE:
                self._read_line(self._text(self._at))
            self._at += 1
        if language not in _PROSE_IN_FENCE and self._at > first:
            span = Span(self._raw[first].start, self._raw[self._at - 1].end)
            if span.slice(self._answer).strip():
                self._found.append(Line(span, "code"))
        self._joins = False
        self._at += 1

    def _read_table(self) -> None:
        header, names = self._at, _cells(self._text(self._at))
        place, told = len(self._found), set[int]()
        self._at += 2
        while self._at < len(self._raw) and "|" in self._text(self._at):
            cells = _cells(self._text(self._at))
            told |= {column for column, cell in enumerate(cells) if cell}
            self._add_row(self._at, [*names, *[""] * len(cells)], cells)
            self._at += 1
        if any(name and column not in told for column, name in enumerate(names)):
            self._add_row(header, [""] * len(names), names, place)

    def _add_row(
        self, index: int, names: list[str], cells: list[str], place: int | None = None
    ) -> None:
        """A row with its column names; a header is one where no row shows what it says."""
        shown = [
            f"{name}: {cell}" if name else cell
            for name, cell in zip(names, cells, strict=False)
            if cell
        ]
        if shown:
            text = self._text(index)
            start = self._raw[index].start + len(text) - len(text.lstrip())
            row = Line(Span(start, start + len(text.strip())), "row", "; ".join(shown))
            self._found.insert(len(self._found) if place is None else place, row)


def _cells(row: str) -> list[str]:
    inside = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inside)]
