"""Decides whether a quote that is in its source proves something: rules that all judges with quotes share.

It must say what its source says, be long enough or complete, not be cut so that its meaning changes, and not address
the judge. A quote with several places proves something if it does so at one of them.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from gigamind.evidence.align import exact_sites
from gigamind.evidence.normalize import fold_unit
from gigamind.evidence.proof import why_unproven
from gigamind.evidence.result import Aligned, Alignment, TextQuoteSelector
from gigamind.evidence.stated import why_unstated
from gigamind.prompting.fences import looks_like_instructions
from gigamind.spans import Span
from gigamind.text import sentences_touched

Weakness = Literal["quote_changed", "quote_too_short", "quote_cut", "not_stated", "speaks_to_judge"]

_MAX_SITES = 50  # of one quote that are checked
_FEWEST = 2  # letters and digits, even of a whole line; a single one occurs in every note
_MAX_MARKERS = 80  # characters on either side of a line
_MARKS = r"[*_`~\"'“”‘’«»「」『』]*+"
_ENDS = re.compile(rf"{_MARKS}(?:[.。!?！？…]++{_MARKS})?[ \t\r]*+(?:[|\n]|$)")
_STARTS = re.compile(r"[\n|]|(?<!\d)[:：](?!//)")
_MARKERS = re.compile(
    rf"[\s>]*+(?:#{{1,6}}\s++|[-*+•]\s++|\d{{1,3}}[.)]\s++)?(?:\[[ xX]\]\s++)?{_MARKS}\s*"
)
_MARK = re.compile(r"\[?\[[^\[\]\n]{1,80}\]\]?")
_WORD = re.compile(r"\d+(?:\.\d+)*\w*|\w+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ENDING = re.compile(
    r"(?<=[가-힣])(?:습니다|입니다|합니다|됩니다|이다|하다|한다|되다|된다|다|음|함|됨|임)$"
)


def strongest(
    place: Aligned, text: str, min_chars: int, *, statement: str | None = None, marks: bool = False
) -> tuple[Aligned, Weakness | None]:
    """Return the place where the quote proves most, and why it proves nothing even there; None if it proves something.

    `min_chars` are the letters and digits that it needs, unless it is a whole line or cell, or with `marks` a citation.
    A short line must have only words of the `statement` to prove, except those before a colon.
    """
    sites = exact_sites(place.span.slice(text), text)[:_MAX_SITES]
    first: Weakness | None = None
    for site in dict.fromkeys([place.span, *sites]):
        moved = _moved(place, site, text)
        weakness = _weakness(moved, text, min_chars, statement=statement, marks=marks)
        if weakness is None:
            return moved, None
        first = first or weakness
    return place, first


def best_proof(
    place: Alignment, texts: Sequence[str], min_chars: int, *, marks: bool = False
) -> tuple[Alignment, bool]:
    """Return the place where the quote proves most, and whether it proves something; `texts` are all sources."""
    if not isinstance(place, Aligned):
        return place, False
    best, weakness = strongest(place, texts[place.quote.source_index], min_chars, marks=marks)
    return best, weakness is None


def is_too_short(
    span: Span, text: str, min_chars: int, *, statement: str | None = None, marks: bool = False
) -> bool:
    """Return whether the words of a span are too few to prove anything; see `strongest`."""
    words = span.slice(text)
    count = sum(map(str.isalnum, words))
    if count >= min_chars or (marks and _is_mark(span, text)):
        return False
    if count < _FEWEST or not _is_whole(span, text):
        return True
    return statement is not None and not _stands_in(words, statement)


def _weakness(
    place: Aligned, text: str, min_chars: int, *, statement: str | None, marks: bool
) -> Weakness | None:
    if why_unstated(text, place.span):
        return "not_stated"
    if place.unproven and not place.unproven.is_cut:
        return "quote_changed"
    if is_too_short(place.span, text, min_chars, statement=statement, marks=marks):
        return "quote_too_short"
    if place.unproven and not (marks and _is_mark(place.span, text)):  # a citation negates nothing
        return "quote_cut"
    return "speaks_to_judge" if _speaks_to_judge(text, place.span) else None


def _speaks_to_judge(text: str, span: Span) -> bool:
    """Return whether the lines around a span look like instructions, so that a quote from there proves nothing.

    Lines instead of sentences: of 168 sentences of attacks, 139 are in such lines, but only 109 match by themselves.
    """
    touched = sentences_touched(text, span)
    first = min((sentence.start for sentence in touched), default=span.start)
    last = max((sentence.end for sentence in touched), default=span.end)
    line_end = text.find("\n", last)
    lines = text[text.rfind("\n", 0, first) + 1 : None if line_end < 0 else line_end]
    return looks_like_instructions(lines)


def _moved(place: Aligned, site: Span, text: str) -> Aligned:
    if site == place.span:
        return place
    unproven = why_unproven(place.quote.text, site, text, fuzzy=place.method == "fuzzy")
    return replace(place, span=site, selector=TextQuoteSelector.of(site, text), unproven=unproven)


def _is_whole(span: Span, text: str) -> bool:
    """Return whether the span is a whole line or cell, or everything after a colon, apart from markup."""
    begins = max((match.end() for match in _STARTS.finditer(text, 0, span.start)), default=0)
    if span.start - begins > _MAX_MARKERS or not _MARKERS.fullmatch(text, begins, span.start):
        return False
    return bool(_ENDS.match(text[span.end : span.end + _MAX_MARKERS]))


def _is_mark(span: Span, text: str) -> bool:
    around = text[max(0, span.start - 1) : span.end + 1]
    return any(_MARK.fullmatch(part) for part in (span.slice(text).strip(), around))


def _stands_in(words: str, statement: str) -> bool:
    """Return whether each word, without its ending, starts a word of the statement; of a row, of two cells."""
    folded = _folded(statement)
    label, *values = [cell for cell in _folded(words).split("|") if cell.strip()]
    matches = [
        all(_begins_word(word, folded) for word in _WORD.findall(cell.rpartition(":")[2]))
        for cell in (label, *values)
    ]
    return matches[0] and (not values or any(matches[1:]))


def _begins_word(word: str, statement: str) -> bool:
    stem = re.escape(_ENDING.sub("", word) or word)
    before = r"(?<![\d.])" if word[0].isdigit() else r"(?<!\w)"
    behind = r"(?!\.?\d)" if word[-1].isdigit() else ""
    return bool(re.search(f"{before}{stem}{behind}", statement))


def _folded(text: str) -> str:
    return _THOUSANDS.sub("", "".join(map(fold_unit, text)))
