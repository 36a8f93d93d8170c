"""The numbers of a text, so that one that an answer adds to its notes is seen: amounts with their units, and dates.

"3월 5일" and "2026-03-05" have the same date, "3,000만 원" and "30,000,000 KRW" the same amount; "90일" and "90분" are
two.  A number in digits is looked for; what notes have in words ("삼십 일", "one hour") is known as well.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal

from gigamind.evidence.characters import fold_unit
from gigamind.judges.search_qa.number_dates import blanked, dates, months, times
from gigamind.judges.search_qa.number_words import UNIT, amounts_in_words, unit_of
from gigamind.spans import Span

_NUMBER = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*"
_SCALES = {"천": 10**3, "만": 10**4, "억": 10**8, "조": 10**12}
_ENGLISH_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "k": 10**3}
_AMOUNT = re.compile(
    rf"(?P<number>{_NUMBER})(?:(?P<scale>(?:천\s?)?[만억]|천(?=\s?(?:원|명|개|건|달러))|조(?=\s?(?:원|달러|\d)))"
    r"|\s?(?P<times>thousand|million|billion)\b|(?P<k>k)\b)?"
)
_GOES_ON = re.compile(rf"\s?(?=(?:{_NUMBER})\s?(?:(?:천\s?)?[만억천]|원))")
_UNIT_BEHIND = re.compile(rf"\s?(?:{UNIT})")
_CURRENCY_BEFORE = re.compile(r"[$€₩](?=\s?$)")


@dataclass(frozen=True, slots=True)
class Number:
    """An amount, a date or a time.

    Attributes:
        value: canonical, as "1.5", "3-5" for the fifth of March, or "10:30".
        unit: by its name, `date` or `time`; empty when none is known.
        year: of a date; empty when it is not said.
    """

    value: str
    unit: str
    year: str = ""


def known_numbers(text: str) -> frozenset[Number]:
    """What numbers a text says, in digits or in words."""
    return frozenset(number for _, number in _numbers(text)) | frozenset(_loosely(text))


def new_numbers(claim: str, known: Collection[Number]) -> tuple[str, ...]:
    """The numbers in digits of a claim that are not known, as the claim has them, each once.

    An amount is known by its value, unless both have units and they are two; a date by all that both say of it.
    """
    new = (
        span.slice(claim).strip()
        for span, number in sorted(_numbers(claim), key=lambda one: one[0])
        if not any(_same(number, other) for other in known)
    )
    return tuple(dict.fromkeys(new))


def _same(one: Number, other: Number) -> bool:
    if one.value != other.value or (one.year and other.year and one.year != other.year):
        return False
    return not (one.unit and other.unit) or one.unit == other.unit


def _folded(text: str) -> str:
    """Lower case, full-width digits and dashes plain, of the same length."""
    folded = ((char, fold_unit(char)) for char in text)
    return "".join(plain if len(plain) == 1 else char for char, plain in folded)


def _numbers(text: str) -> list[tuple[Span, Number]]:
    folded = _folded(text)
    found: list[tuple[Span, Number]] = []
    for read, unit in ((dates, "date"), (times, "time")):
        there = [(span, Number(value, unit, year)) for span, value, year in read(folded)]
        folded = blanked(folded, [span for span, _ in there])
        found += there
    return found + list(_amounts(folded))


def _amounts(text: str) -> Iterator[tuple[Span, Number]]:
    at = 0
    while match := _AMOUNT.search(text, at):
        start, value, end = match.start(), *_sum(text, match)
        unit = _UNIT_BEHIND.match(text, end) or _CURRENCY_BEFORE.search(
            text[max(0, start - 2) : start]
        )
        at = max(end, unit.end()) if unit else end
        yield Span(start, at), Number(value, unit_of(unit[0]) if unit else "")


def _sum(text: str, match: re.Match[str]) -> tuple[str, int]:
    """The value of "1억 2,000만" and where it ends; a version such as 1.2.3 stays as it is."""
    if match["number"].count(".") > 1:
        return match["number"], match.end("number")
    value, end = _value(match), match.end()
    last: re.Match[str] | None = match
    while last and last["scale"] and (more := _GOES_ON.match(text, end)):
        last = _AMOUNT.match(text, more.end())
        if last is not None:
            value, end = value + _value(last), last.end()
    plain = f"{value:f}"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain), end


def _value(match: re.Match[str]) -> Decimal:
    value = Decimal(match["number"].replace(",", ""))
    for char in match["scale"] or "":
        value *= _SCALES.get(char, 1)
    return value * _ENGLISH_SCALES.get(match["times"] or match["k"] or "", 1)


def _loosely(text: str) -> Iterator[Number]:
    """What a text says besides: amounts in words, and the parts of its dates and times."""
    for value, unit in amounts_in_words(_folded(text)):
        yield Number(str(value), unit)
    yield from (Number(month, "월") for month in months(_folded(text)))
    for _, one in _numbers(text):
        if one.year:
            yield Number(one.year, "년")
        if one.unit == "date":
            month, _, day = one.value.partition("-")
            yield from (Number(month, "date", one.year), Number(month, "월"))
            yield from [Number(day, "일")] if day else []
        elif one.unit == "time":
            yield from _times_said(one.value)


def _times_said(value: str) -> Iterator[Number]:
    """A time by the clock of 12 hours and of 24, and a full hour without its minutes."""
    hour, minute = map(int, value.split(":"))
    for said in {hour, (hour + 12) % 24, hour % 12 or 12}:
        yield Number(f"{said}:{minute:02}", "time")
        if not minute:
            yield Number(str(said), "시")
