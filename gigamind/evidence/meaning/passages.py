"""The passage that a span of a text really quotes: its whole words, and the negation that it was cut off from.

Offsets are code points.  "approved" inside "disapproved", "5일" inside "15일" and "approved" behind "not" are exact
matches, and prove nothing.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator

from gigamind.spans import Span

_LONGEST_WORD = 64
_LONGEST_NEGATION = 16
_MARKS = "*_~`"
_WORDS_IN, _WORDS_OUT, _SHIFT_CHARS = 2, 4, 80
_SPACED = re.compile(r"\S+")
_NEGATED_BEFORE = re.compile(
    r"(?:\b(?:not|no|never|cannot|only|hardly|rarely|unless|except|without)|\b\w{1,10}n['’]t|(?<!\w)[안못])\s+$",
    re.IGNORECASE,
)
_NEGATABLE = re.compile(r"(?:지[는도를]?|수[는가도]?)$")
_NEGATED_BEHIND = re.compile(r"\s*(?:않|못|말|없|아니|마[세십])\w*")
_SIGNED = re.compile(r"(?:^|[^\w)\].])[-+−–]$")


def whole_words(span: Span, text: str) -> Span:
    """The span, widened to the ends of the words that it cuts and to a negation right before or behind it."""
    start, end = span.start, span.end
    least, most = max(0, start - _LONGEST_WORD), min(len(text), end + _LONGEST_WORD)
    while start > least and _is_inside(text, start):
        start -= 1
    while end < most and _is_inside(text, end):
        end += 1
    if text[start].isdigit() and _SIGNED.search(text[max(0, start - 2) : start]):
        start -= 1
    if before := _NEGATED_BEFORE.search(text[max(0, start - _LONGEST_NEGATION) : start]):
        start -= len(before[0])
    if _NEGATABLE.search(text[max(start, end - _LONGEST_NEGATION) : end]) and (
        behind := _NEGATED_BEHIND.match(text, end)
    ):
        end = behind.end()
    return Span(start, end)


def shifted(span: Span, text: str) -> Iterator[Span]:
    """Spans that begin or end up to two words further inside, or four further outside, than `span`."""
    near = max(0, span.start - _SHIFT_CHARS)
    starts = [near + word.start() for word in _SPACED.finditer(text[near : span.end])]
    here = bisect_left(starts, span.start)
    for start in starts[max(0, here - _WORDS_OUT) : here + _WORDS_IN + 1]:
        if start != span.start:
            yield Span(start, span.end)
    ends = [
        span.start + word.end()
        for word in _SPACED.finditer(text[span.start : span.end + _SHIFT_CHARS])
    ]
    here = bisect_left(ends, span.end)
    for end in ends[max(0, here - _WORDS_IN) : here + _WORDS_OUT + 1]:
        if end != span.end:
            yield Span(span.start, end)


def _is_inside(text: str, at: int) -> bool:
    """Whether a word or number goes on over the offset, Markdown marks not counted."""
    left, right = at - 1, at
    while left > 0 and text[left] in _MARKS and at - left < _LONGEST_NEGATION:
        left -= 1
    while right + 1 < len(text) and text[right] in _MARKS and right - at < _LONGEST_NEGATION:
        right += 1
    if _is_point(text, left) or _is_point(text, right):
        return text[left].isdigit() or text[right].isdigit()
    return _is_letter(text[left]) and _is_letter(text[right])


def _is_point(text: str, at: int) -> bool:
    """Whether a point or comma stands between two digits: 1.5, 1,000."""
    return text[at] in ".," and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def _is_letter(char: str) -> bool:
    """Whether words are made of such characters and parted by spaces, as Japanese ones are not."""
    return (
        char.isdigit()
        or char.lower() != char.upper()
        or unicodedata.name(char, "").startswith("HANGUL")
        or unicodedata.combining(char) != 0
    )
