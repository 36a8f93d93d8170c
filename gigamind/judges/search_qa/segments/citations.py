"""Finds the notes that an answer cites: "[노트 1]" in a sentence, and lines such as "Sources: Note 1"."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.spans import Span

_AROUND = " \t*_`>-–—•·()"
_LABEL_ALONE = re.compile(
    r"(?:출처|근거|참고|참조|sources?|references?|see(?: also)?|cited(?: in)?)\s*+[:：]?[\s,;·/]*+",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:노트|notes?)\s?#?\d{1,4}(?!\w)(?:\s?(?:,|;|·|&|and|및|와|과|~|-)\s?\d{1,4}(?!\w))*",
    re.IGNORECASE,
)


def names_only_notes(text: str) -> bool:
    """Return whether a sentence without its citations has only numbers of notes and a label such as "출처:"."""
    left = _NAME.sub("", text.replace("*", "")).strip(_AROUND + ",;&:：.")
    return not left or bool(_LABEL_ALONE.fullmatch(left))


_S = r"\s{0,3}"
_OPEN, _CLOSE = r"[\[【［]", r"[\]】］]"
_NOTE = r"(?:노트|[Nn]otes?|NOTES?)"
_NUMBER = r"\d{1,4}(?!\d)"
_AND = r"(?:[,;/&·、~–-]|,?\s?\band\b|및|와|과)"
_LIST = rf"{_NOTE}{_S}#?{_NUMBER}(?:{_S}{_AND}{_S}(?:{_NOTE}{_S})?#?{_NUMBER})*"
_LINK = r"\((?:https?://|obsidian:|[#/]|\./)[^()\s]{0,300}\)"
_NAMED = rf"`?(?<!\[){_OPEN}{_S}{_LIST}{_S}{_CLOSE}(?!\])(?:{_LINK})?`?"
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
class Citation:
    """A citation, or several next to each other, of notes numbered from 1; not checked.

    `names` is the part that remains in a sentence that continues with it ("노트 1" of `[노트 1]에 따르면`); else "".
    """

    span: Span
    numbers: tuple[int, ...]
    names: str


def citations_in(text: str) -> Iterator[Citation]:
    """Yield the citations of a composed text in order; code has none."""
    for match in _CITATION.finditer(text):
        if match["run"] is not None:
            goes_on = text[match.end() : match.end() + 1].isalnum()
            names = (
                " ".join(_MARKS.sub(" ", match[0]).split()).replace(" ,", ",") if goes_on else ""
            )
            yield Citation(Span(match.start(), match.end()), _numbers(match[0]), names)


def citations(text: str) -> tuple[int, ...]:
    """Return the numbers of the notes that a text cites, in order, each once; `(노트 2 참고)` counts, too."""
    whole = unicodedata.normalize("NFC", text)
    mentions = [(citation.span.start, citation.numbers) for citation in citations_in(whole)]
    mentions += [(match.start(), _numbers(match[0])) for match in _MENTION.finditer(whole)]
    return tuple(dict.fromkeys(number for _, numbers in sorted(mentions) for number in numbers))


def names_of_notes(text: str) -> tuple[int, ...]:
    """Return the numbers of the notes that a line of sources names, with or without brackets, in order, each once."""
    groups = (_numbers(match[0]) for match in _NUMBERS.finditer(unicodedata.normalize("NFC", text)))
    return tuple(dict.fromkeys(number for numbers in groups for number in numbers))


def end_of_citations(text: str, at: int) -> int:
    """Return the end of the citations right after an offset of a composed text, with a full stop; `at` without any."""
    behind = _BEHIND.match(text, at)
    return behind.end() if behind else at


def without_citations(text: str) -> str:
    """Return a composed text without citations, with single spaces; `[노트 1]에 따르면` only loses its brackets."""
    whole = " ".join(unicodedata.normalize("NFC", text).split())
    kept: list[str] = []
    at = 0
    for citation in citations_in(whole):
        before = whole[at : citation.span.start]
        kept += (before, citation.names) if citation.names else (before.removesuffix(" "),)
        at = citation.span.end
    return ("".join(kept) + whole[at:]).strip()


def without_note_names(text: str) -> str:
    """Return a text without citations and names of notes, so that their numbers do not count as its own."""
    bare = _MENTION.sub(" ", without_citations(text))
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
