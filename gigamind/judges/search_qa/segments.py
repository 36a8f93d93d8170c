"""Splits an answer into sentences, and numbers those that a judge decides on: all that have a word of their own.

List items, table rows and code blocks are split separately; a citation, such as "[노트 1]", stays with the sentence
before it. Answers are composed (NFC) first; each character keeps its place in the original.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from gigamind.evidence.normalize import composes_backwards
from gigamind.spans import Span
from gigamind.text import goes_on, sentences

_AROUND = " \t*_`>-–—•·()"
_LABEL_ALONE = re.compile(
    r"(?:출처|근거|참고|참조|sources?|references?|see(?: also)?|cited(?: in)?)\s*+[:：]?[\s,;·/]*+",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:노트|notes?)\s?#?\d{1,4}(?!\w)(?:\s?(?:,|;|·|&|and|및|와|과|~|-)\s?\d{1,4}(?!\w))*",
    re.IGNORECASE,
)

_S = r"\s{0,3}"
_OPENING, _CLOSING = r"[\[【［]", r"[\]】］]"
_NOTE = r"(?:노트|[Nn]otes?|NOTES?)"
_NUMBER = r"\d{1,4}(?!\d)"
_AND = r"(?:[,;/&·、~–-]|,?\s?\band\b|및|와|과)"
_LIST = rf"{_NOTE}{_S}#?{_NUMBER}(?:{_S}{_AND}{_S}(?:{_NOTE}{_S})?#?{_NUMBER})*"
_LINK = r"\((?:https?://|obsidian:|[#/]|\./)[^()\s]{0,300}\)"
_NAMED = rf"`?(?<!\[){_OPENING}{_S}{_LIST}{_S}{_CLOSING}(?!\])(?:{_LINK})?`?"
_NAMED_RUN = rf"{_NAMED}(?:{_S}(?:{_AND}{_S})?{_NAMED})*"
_LABEL = r"(?:(?:출처|근거|[Ss]ources?|[Rr]ef(?:erence)?s?)\s?[:：]?\s?)?"
_IN_BRACKETS = (
    rf"[(（]\s?{_LABEL}(?:{_NAMED_RUN}|{_LIST})(?:{_S}{_AND}{_S}(?:{_NAMED}|{_LIST}))*\s?[)）]"
)
_ONE = rf"(?:{_IN_BRACKETS}|{_NAMED})"
_ALONE = r"\[[1-9]\d?(?:\s?[,;]\s?[1-9]\d?){0,9}\]"
# These words are followed by a value; letters and brackets by an index.
_NO_VALUE = "".join(
    rf"(?<!{before})"
    for before in (
        *(rf"\b{word} " for word in ("is", "are", "was", "of", "to", "at", "in", "by", "index", "array", "list")),
        *("returns ", "equals ", "= ", ": ", "[은는이가을를] ", r"[A-Za-z0-9_(){}\[\]=$\\`+*/<>-]"),
    )
)  # fmt: skip
_ALONE_BEHIND = (
    rf"{_NO_VALUE}{_ALONE}(?:\s?{_ALONE})*(?={_S}(?:[.,;!?。…)]|$))"
    rf"|(?:(?<=[.!?。…] )|(?<=[.!?。…])){_ALONE}(?:\s?{_ALONE})*(?![\w(\[:])"
)
_MENTION = re.compile(
    rf"[(（]\s?(?:[Ss]ee(?: also)?|[Cc]f\.?|참고[:：]?|참조[:：]?)?\s?{_LIST}\s?(?:참고|참조)?\s?[)）]"
)
_RUN = rf"(?:{_ONE}(?:{_S}(?:{_AND}{_S})?{_ONE})*|{_ALONE_BEHIND})"
_CITATION = re.compile(rf"(?P<run>{_RUN})|`[^`\n]{{1,300}}`")
_BEHIND = re.compile(rf"(?:[^\S\r\n]{{0,9}}(?:{_RUN})(?!\w))+(?:[.。…]+(?!\w))?")
_NUMBERS = re.compile(rf"{_LINK}|(?P<list>{_LIST}|{_ALONE})")
_RANGE = re.compile(rf"(\d+){_S}[~–-]{_S}(?:{_NOTE}{_S})?#?(\d+)|(\d+)")
_MAX_RANGE = 50
_MARKS = re.compile(rf"{_LINK}|[\[\]【】［］()（）`]")
_PARTICLE = r"(?:에 (?:따르면|의하면)|에서(?:는|도)?|에(?:는|도)?|의|[은는이가을를과와])"
# "갤럭시 노트 10" and "note 30 days in advance" are no citations.
_NAME_IN_TEXT = re.compile(
    rf"(?<!\w)(?<!갤럭시 )(?<![Gg]alaxy )노트{_S}{_NUMBER}(?:{_S}{_AND}{_S}(?:노트{_S})?{_NUMBER})*"
    rf"(?:{_PARTICLE}(?!\w)|(?=\s?(?:참고|참조|[,):]|$)))"
    rf"|\b(?:[Aa]ccording to|[Pp]er|[Ss]ee|[Ii]n|[Ff]rom|[Bb]y)\s(?:{_LIST}|{_ALONE})(?=\s?(?:[,.;)]|$))"
    rf"|(?<!\w)N(?:ote|OTE)s?\s{_NUMBER}(?:{_S}{_AND}{_S}(?:Note\s)?{_NUMBER})*"
    r"(?=\s(?:says?|states?|mentions?|describes?|lists?|shows?|gives?|adds?|also|both)\b|\s?:)"
    rf"|{_ALONE}{_PARTICLE}(?!\w)"
)


@dataclass(frozen=True, slots=True)
class _Citation:
    """A citation, or several next to each other, of notes numbered from 1; not checked.

    `names` is the part that remains in a sentence that continues with it ("노트 1" of `[노트 1]에 따르면`); else "".
    """

    span: Span
    numbers: tuple[int, ...]
    names: str


def _citations_in(text: str) -> Iterator[_Citation]:
    """Yield the citations of a composed text in order; code has none."""
    for match in _CITATION.finditer(text):
        if match["run"] is not None:
            goes_on = text[match.end() : match.end() + 1].isalnum()
            names = (
                " ".join(_MARKS.sub(" ", match[0]).split()).replace(" ,", ",") if goes_on else ""
            )
            yield _Citation(Span(match.start(), match.end()), _numbers(match[0]), names)


def citations(text: str) -> tuple[int, ...]:
    """Return the numbers of the notes that a text cites, in order, each once; `(노트 2 참고)` counts, too."""
    whole = unicodedata.normalize("NFC", text)
    mentions = [(citation.span.start, citation.numbers) for citation in _citations_in(whole)]
    mentions += [(match.start(), _numbers(match[0])) for match in _MENTION.finditer(whole)]
    return tuple(dict.fromkeys(number for _, numbers in sorted(mentions) for number in numbers))


def _names_of_notes(text: str) -> tuple[int, ...]:
    """Return the numbers of the notes that a line of sources names, with or without brackets, in order, each once."""
    return _numbers(unicodedata.normalize("NFC", text))


def _end_of_citations(text: str, at: int) -> int:
    """Return the end of the citations right after an offset of a composed text, with a full stop; `at` without any."""
    behind = _BEHIND.match(text, at)
    return behind.end() if behind else at


def _without_citations(text: str) -> str:
    """Return a composed text without citations, with single spaces; `[노트 1]에 따르면` only loses its brackets."""
    whole = " ".join(unicodedata.normalize("NFC", text).split())
    kept: list[str] = []
    at = 0
    for citation in _citations_in(whole):
        before = whole[at : citation.span.start]
        kept += (before, citation.names) if citation.names else (before.removesuffix(" "),)
        at = citation.span.end
    return ("".join(kept) + whole[at:]).strip()


def without_note_names(text: str) -> str:
    """Return a text without citations and names of notes, so that their numbers do not count as its own."""
    bare = _MENTION.sub(" ", _without_citations(text))
    return " ".join(_NAME_IN_TEXT.sub(" ", bare).split()).lstrip(", ")


def _numbers(run: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for match in _NUMBERS.finditer(run):
        for first, last, alone in _RANGE.findall(match["list"] or ""):
            if alone or not 0 < int(last) - int(first) <= _MAX_RANGE:
                numbers += [int(number) for number in (first, last, alone) if number]
            else:
                numbers += range(int(first), int(last) + 1)
    return tuple(dict.fromkeys(numbers))


Role = Literal[
    "claim", "abstention", "courtesy", "lead_in", "question", "heading", "source", "other"
]
_Shape = Literal["prose", "heading", "item", "row", "code"]

_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer.

    Its role is `claim` until a model reports another one; `other` without a word, or with only numbers of notes.
    """

    span: Span  # code points of the answer, with its citations
    text: str  # composed, without list markers and citations; a table row with its column names
    role: Role
    cited: tuple[int, ...]  # numbers of the notes that it names, from 1, each once; not checked
    shape: _Shape = "prose"
    id: int = 0  # number of a sentence, from 1; 0 for `other`


def _piece(answer: str, span: Span, shape: _Shape, text: str | None) -> Piece:
    """Return the piece of a span; `text` if it differs from the answer."""
    raw = span.slice(answer)
    shown = _without_citations(raw) if text is None else text
    left = _NAME.sub("", shown.replace("*", "")).strip(_AROUND + ",;&:：.")
    # Without its citations, it may have only numbers of notes and a label such as "출처:".
    if not _WORD.search(shown) or not left or _LABEL_ALONE.fullmatch(left):
        return Piece(span, shown, "other", _names_of_notes(raw), shape)
    return Piece(span, shown, "claim", citations(raw), shape)


@dataclass(frozen=True, slots=True)
class _Composed:
    """A composed text; `origins` are the offsets in the original of each character and of the end."""

    text: str
    origins: Sequence[int]

    def origin(self, span: Span) -> Span:
        return Span(self.origins[span.start], self.origins[span.end])


def _composed(text: str) -> _Composed:
    """Compose a text character by character."""
    if unicodedata.is_normalized("NFC", text):
        return _Composed(text, range(len(text) + 1))
    parts: list[str] = []
    origins: list[int] = []
    starts = [0, *(at for at in range(1, len(text)) if not composes_backwards(text[at]))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = unicodedata.normalize("NFC", text[start:end])
        moved = len(part) != end - start
        origins += [start] * len(part) if moved else range(start, end)
        parts.append(part)
    return _Composed("".join(parts), (*origins, len(text)))


_ENDS = str.maketrans(dict.fromkeys(".!?…。！？\n", "x"))
_QUOTES = '"”’」』'
_STOPS = ".!?。！？"  # includes the empty text before a bracket at the beginning
_MAX_QUOTED = 300  # characters; a mark that stays open for longer is no quotation
_WHOLE = re.compile(
    rf"""
    "[^"\n]{{1,{_MAX_QUOTED}}}" | “[^”\n]{{1,{_MAX_QUOTED}}}” | ‘[^’\n]{{1,{_MAX_QUOTED}}}’
  | 「[^」\n]{{1,{_MAX_QUOTED}}}」 | 『[^』\n]{{1,{_MAX_QUOTED}}}』 | 《[^》\n]{{1,{_MAX_QUOTED}}}》
  | `[^`\n]+` | \[\[[^\[\]\n]+\]\] | \]\([^()\s]+\)
  | \([^()\n]{{1,{_MAX_QUOTED}}}\) | （[^（）\n]{{1,{_MAX_QUOTED}}}）
  | (?:https?://|www\.)[^\s<>()]*[^\s<>().,!?;:]
  | \b(?:Prof|Jr|Sr|Gen|Rep|Sen|Gov|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec
      |pp?|vol|ed|eds|al|est|min|max|avg|dept|tel|ext)
    \.(?=\s+[\da-z]|[,;:)])
  | \b(?:a\.m|p\.m|Ph\.D|M\.Sc|B\.Sc|U\.S|U\.K|E\.U)\.(?!\s+[A-Z가-힣]|\s*$)
  | \b(?:et\ al|No|Art|Ch|Eq|Sec|Fig)\.(?=\s*[\d(])
  | (?<=[\w가-힣])(?:\.{{2,}}|…+)(?=\s*[a-z가-힣])               # a pause, not an end
    """,
    re.VERBOSE,
)
# Syllables that a polite 요 may follow: open ones with the vowels of 아, 애, 어, 에, 여, 예, 와, 왜, 워 and 웨.
_OPEN = "".join(
    chr(0xAC00 + 588 * first + 28 * vowel)
    for first in range(19)
    for vowel in (0, 1, 4, 5, 6, 7, 9, 10, 14, 15)
)
_EMOJI = r"[\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d\U0001f000-\U0001faff]"
# A sentence also ends after an emoji that follows its full stop directly, or after a polite ending.
_EMOJI_END = re.compile(rf"(?:[.!?…。！？]|니다|[가-힣][요죠]){_EMOJI}{{1,12}}(?=\s|$)")
_LOWER_BEHIND = re.compile(r"\s[a-z]")
# A polite Korean ending ends a sentence even without a full stop.
_POLITE = re.compile(
    rf"(?:니다|(?:(?<=[가-힣])[{_OPEN}]|(?![개가]요)[{_OPEN}]|지|거든|군|걸)요|[가-힣]죠)(?= [가-힣A-Z\d\"'“‘「])"
    r"(?! (?:라고|라는|라며|하고|하며|하는|만|마는|고 |며 |이라))"
)


def _mask(text: str) -> str:
    """Mask a composed text for the splitter: no ends in quotations, brackets, code and abbreviations, no citations."""
    masked = _WHOLE.sub(_without_ends, re.sub(r"\s", " ", text))
    blanks = list(masked)
    for citation in _citations_in(text):  # white space, unless it goes on: "[노트 1]에 따르면"
        filler = "x" if citation.names else " "
        blanks[citation.span.start : citation.span.end] = filler * len(citation.span)
    ended = _EMOJI_END.sub(lambda match: match[0][:-1].translate(_ENDS) + ".", "".join(blanks))
    return _POLITE.sub(lambda match: match[0][:-1] + ".", ended)


def _without_ends(match: re.Match[str]) -> str:
    """Return a quotation or bracket without sentence ends, except one before its closing, which may be real."""
    whole = match[0]
    body, closing = whole[:-1], whole[-1]
    ends = (
        len(body) > 1
        and body[-1] in ".!?。！？…"
        and not _LOWER_BEHIND.match(match.string, match.end())
    )
    before = match.string[max(0, match.start() - 2) : match.start()].rstrip()[-1:]
    if ends and (closing in _QUOTES or (closing in ")）" and before in _STOPS)):
        return body[:-1].translate(_ENDS) + body[-1] + closing
    return whole.translate(_ENDS)


_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^\s`]*)([^`]*)$")
_ATTRIBUTES = re.compile(r"(?:\{[^{}]*\}|[\w-]++=\S++|\s)*$")
_PROSE_IN_FENCE = frozenset({"", "text", "txt", "plaintext", "markdown", "md"})
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]+")
_BOLD_ALONE = re.compile(r"[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t]*+[:：]?[ \t]*+$")
_RULE = re.compile(r"[ \t>]*(?:(?:[-*_][ \t]*){3,}|=+[ \t]*)$")
_ITEM = re.compile(
    r"[ \t>]*(?:[-*+•·◦▪‣–][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+(?!\d+\.(?:\s|$))"
    r"|[①-⑳][ \t]*|[가나다라마바사아자차카타파하][.)][ \t]+|\(\d{1,2}\)[ \t]+)"
)
_QUOTED = re.compile(r"[ \t]*>[ \t>]*")
_LANGUAGE = re.compile(r"[\w+#.-]{0,20}$", re.ASCII)
_END_OF_LINE = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_TABLE_RULE = re.compile(r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*\|?[ \t]*$")
_BOLD_LEVEL = 7  # lower than headings with six signs


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without its markers, or several lines of one sentence; `text` are the cells of a row with columns."""

    span: Span
    shape: _Shape
    text: str = ""
    level: int = 0  # of a heading

    def is_over(self, below: "_Line | None") -> bool:
        """Return whether it may be the heading of the line below it."""
        return below is not None and (below.shape != "heading" or below.level > self.level)


def _lines_of(answer: str) -> list[_Line]:
    """Return the lines with text, in order; a heading with nothing below it counts as a statement."""
    found = _Reader(answer).read()
    return [
        line if line.shape != "heading" or line.is_over(below) else replace(line, shape="prose")
        for line, below in zip(found, (*found[1:], None), strict=False)
    ]


class _Reader:
    def __init__(self, answer: str) -> None:
        self._answer = answer
        ends = list(_END_OF_LINE.finditer(answer))
        starts = (0, *(end.end() for end in ends))
        stops = (*(end.start() for end in ends), len(answer))
        self._raw = [Span(start, stop) for start, stop in zip(starts, stops, strict=True)]
        self._found: list[_Line] = []
        self._at = 0
        self._joins = False  # whether the next line may continue the last one

    def read(self) -> list[_Line]:
        while self._at < len(self._raw):
            text = self._text(self._at)
            if fence := _FENCE.match(text):
                self._read_fence(fence)
            elif self._is_table(text):
                self._read_table()
            else:
                self._read_line(text)
            self._at += 1
        return self._found

    def _text(self, index: int) -> str:
        return self._raw[index].slice(self._answer) if index < len(self._raw) else ""

    def _is_table(self, text: str) -> bool:
        rule = self._text(self._at + 1)
        if "|" not in text or "-" not in rule or not _TABLE_RULE.match(rule):
            return False
        return len(_cells(text)) == len(_cells(rule))

    def _read_line(self, text: str) -> None:
        joins, self._joins = self._joins, False
        if not text.strip() or _RULE.match(text):
            return
        if heading := _HEADING.match(text):
            self._add(self._at, "heading", heading.end(), level=heading[0].count("#"))
        elif _BOLD_ALONE.match(text) and any(self._text(self._at + at).strip() for at in (1, 2)):
            self._add(self._at, "heading", level=_BOLD_LEVEL)
        else:
            self._joins, item = True, _ITEM.match(text)
            marker = item or _QUOTED.match(text)
            begin = marker.end() if marker else 0
            last = self._found[-1] if joins and self._found and not item else None
            if last and _is_wrapped(last.span.slice(self._answer), text[begin:].lstrip()):
                end = self._raw[self._at].start + len(text.rstrip())
                self._found[-1] = _Line(Span(last.span.start, end), last.shape)
            else:
                self._add(self._at, "item" if item else "prose", begin)

    def _add(
        self, index: int, shape: _Shape, begin: int = 0, *, level: int = 0, cells: str = ""
    ) -> None:
        text = self._text(index)[begin:]
        if text.strip():
            start = self._raw[index].start + begin + len(text) - len(text.lstrip())
            span = Span(start, start + len(text.strip()))
            self._found.append(_Line(span, shape, cells, level))

    def _read_fence(self, opening: re.Match[str]) -> None:
        self._joins = False
        fence, language = opening[1], opening[2].lower()
        if not _LANGUAGE.match(language) or not _ATTRIBUTES.match(opening[3]):
            self._add(self._at, "prose", opening.start(2))
        first = self._at = self._at + 1
        close = re.compile(rf"[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        while self._at < len(self._raw) and not close.match(self._text(self._at)):
            if language in _PROSE_IN_FENCE:
                self._read_line(self._text(self._at))
            self._at += 1
        if language not in _PROSE_IN_FENCE and self._at > first:
            span = Span(self._raw[first].start, self._raw[self._at - 1].end)
            if span.slice(self._answer).strip():
                self._found.append(_Line(span, "code"))
        self._joins = False

    def _read_table(self) -> None:
        self._joins = False
        header, names = self._at, _cells(self._text(self._at))
        place, filled = len(self._found), set[int]()
        self._at += 1
        while "|" in self._text(self._at + 1):
            self._at += 1
            cells = _cells(self._text(self._at))
            filled |= {column for column, cell in enumerate(cells) if cell}
            named = zip([*names, *[""] * len(cells)], cells, strict=False)
            self._add_row(
                self._at, [f"{name}: {cell}" if name and cell else cell for name, cell in named]
            )
        if any(name and column not in filled for column, name in enumerate(names)):
            self._add_row(header, names)
            self._found.insert(place, self._found.pop())

    def _add_row(self, index: int, cells: Sequence[str]) -> None:
        if any(cells):
            self._add(index, "row", cells="; ".join(filter(None, cells)))


def _is_wrapped(before: str, text: str) -> bool:
    # Unlike lines of notes, those of answers are rarely wrapped before a capital letter.
    is_inside = text[:1].islower() or "가" <= text[:1] <= "힣"
    return is_inside and goes_on(_without_citations(before.rpartition("\n")[2]), text)


def _cells(row: str) -> list[str]:
    inside = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inside)]


# A quoted sentence within a sentence that continues: "좋다." 라고 말했다.
_GOES_ON = re.compile(
    r"(?:이?라(?:고|며|면서|는)|고 |하고 |하며 |said |asked |wrote |he said|she said)"
)
_AT_EDGES = re.compile(r"[*`]|(?<!\w)(?!-\d)[^\w\s]+|[^\w\s%]+(?!\w)")


def claims_of(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the sentences among the pieces of an answer: each is a claim unless it gets another role."""
    return tuple(piece for piece in pieces if piece.id)


def pieces_of(answer: str) -> tuple[Piece, ...]:
    """Return the pieces of an answer in order; without overlap, they cover all but white space and markers."""
    whole = _composed(answer)
    pieces = (part for line in _lines_of(whole.text) for part in _pieces_of_line(whole.text, line))
    numbers = count(1)
    return tuple(
        replace(part, span=whole.origin(part.span), id=next(numbers) if part.role != "other" else 0)
        for part in pieces
    )


def comparable(text: str) -> str:
    """Return a claim without what people omit or add when they copy it; marks inside numbers and words stay."""
    folded = unicodedata.normalize("NFC", _without_citations(text)).casefold()
    return " ".join(_AT_EDGES.sub("", folded).split())


def _pieces_of_line(answer: str, line: _Line) -> Iterator[Piece]:
    texts = {"code": line.span.slice(answer).strip(), "row": _without_citations(line.text)}
    is_whole = line.shape in {"code", "row", "heading"}
    for span in [line.span] if is_whole else _sentences_in(answer, line.span):
        yield _piece(answer, span, line.shape, texts.get(line.shape))


def _sentences_in(answer: str, span: Span) -> list[Span]:
    """Return the sentences in a span, each with its citations; text between two of them belongs to the later one."""
    text = span.slice(answer)
    spans: list[Span] = []
    for sentence in sentences(_mask(text)):
        last = spans[-1].end if spans else 0
        if sentence.end <= last:  # the full stops after a citation, which belong to it
            continue
        start = last + _blank_at_start(text[last : sentence.end])
        end = max(sentence.end, _end_of_citations(text, sentence.end))
        if spans and text[last - 1] in '"”’」』' and _GOES_ON.match(text[start:end]):
            start = spans.pop().start
        spans.append(Span(start, end))
    rest = text[spans[-1].end :] if spans else text
    if rest.strip():  # citations at the end
        end = len(text.rstrip())
        begin = spans.pop().start if spans else _blank_at_start(text)
        spans.append(Span(begin, end))
    return [Span(span.start + part.start, span.start + part.end) for part in spans]


def _blank_at_start(text: str) -> int:
    return len(text) - len(text.lstrip())
