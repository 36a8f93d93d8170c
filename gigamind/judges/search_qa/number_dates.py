"""Dates and times in Korean, English and ISO notation, each by one value."""

import re
from collections.abc import Iterable, Iterator

from gigamind.spans import Span

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?<!\d)(?P<year>\d{{4}})\s?(?:[-./]|년)\s?(?P<month>{_MONTH})\s?(?:[-./]|월)\s?(?P<day>{_DAY})(?!\d)\s?일?",
        rf"(?<!\d)(?P<year>\d{{4}})(?:-(?P<month>{_MONTH})(?![\d-])|년\s?(?P<of_year>{_MONTH})월)",
        rf"(?<!\d)(?P<month>{_MONTH})월\s?(?P<day>{_DAY})일",
        rf"\b(?P<name>{_NAME})\.?\s(?P<day>{_DAY})(?:st|nd|rd|th)?(?![\d:])(?:,?\s(?P<year>\d{{4}})\b)?",
        rf"(?<!\d)(?P<day>{_DAY})(?:st|nd|rd|th)?\s(?P<name>{_NAME})\b(?:,?\s(?P<year>\d{{4}})\b)?",
    )
)
_MONTH_ALONE = re.compile(rf"\b(?!may)(?:{_NAME})\b|(?<=\b(?:in|of|by) )may\b")
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-4])(?::([0-5]\d)(?![\d:])|시\s?([0-5]?\d)분)")


def dates(text: str) -> Iterator[tuple[Span, str, str]]:
    """Where a date stands in a text in lower case, its month and day as "3-5" or month as "3", and its year or ""."""
    for form in _FORMS:
        matches = list(form.finditer(text))
        for match in matches:
            parts = match.groupdict()
            month, day = _month(parts), parts.get("day")
            value = f"{month}-{int(day)}" if day else str(month)
            yield Span(match.start(), match.end()), value, parts.get("year") or ""
        text = blanked(text, [Span(match.start(), match.end()) for match in matches])


def times(text: str) -> Iterator[tuple[Span, str, str]]:
    """Where a time with its minutes stands in a text, and the time as "9:05"; the third part is empty."""
    for match in _TIME.finditer(text):
        value = f"{int(match[1])}:{int(match[2] or match[3]):02}"
        yield Span(match.start(), match.end()), value, ""


def months(text: str) -> Iterator[str]:
    """The months that a text in lower case names in English, by their numbers; "may" is mostly none."""
    for match in _MONTH_ALONE.finditer(text):
        yield str(_MONTHS.index(match[0][:3]) + 1)


def blanked(text: str, spans: Iterable[Span]) -> str:
    """A text of the same length with line ends in place of what stands under spans."""
    kept, at = "", 0
    for span in sorted(spans):
        kept += text[at : span.start] + "\n" * len(span)
        at = span.end
    return kept + text[at:]


def _month(parts: dict[str, str | None]) -> int:
    if name := parts.get("name"):
        return _MONTHS.index(name[:3]) + 1
    return int(parts.get("month") or parts.get("of_year") or 0)
