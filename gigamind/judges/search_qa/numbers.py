"""Finds numbers that an answer has and its notes do not; all notations of Korean, English and ISO are one value."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from gigamind.evidence.normalize import fold_unit
from gigamind.spans import Span, spliced

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
_TIME = re.compile(
    r"(?:(?P<before>오전|오후|새벽|아침|저녁|밤)\s?)?(?<![\d:.,])(?P<hour>[01]?\d|2[0-4])"
    r"(?::(?P<minute>[0-5]\d)(?![\d:])|시(?!간)(?:\s?(?P<minutes>[0-5]?\d)분)?|(?=\s?[ap]\.?m\b))"
    r"(?:\s?(?P<behind>[ap])\.?m\b\.?)?"
)
_EVENING, _NOON = frozenset(("오후", "저녁", "밤")), 12


def _dates(text: str) -> Iterator[tuple[Span, str, str]]:
    """Yield each date of a lower-case text: its span, month and day as "3-5" or month as "3", and its year or ""."""
    for form in _FORMS:
        matches = list(form.finditer(text))
        for match in matches:
            parts = match.groupdict()
            month, day = int(parts.get("month") or parts.get("of_year") or 0), parts.get("day")
            if name := parts.get("name"):
                month = _MONTHS.index(name[:3]) + 1
            value = f"{month}-{int(day)}" if day else str(month)
            yield Span(match.start(), match.end()), value, parts.get("year") or ""
        text = _blanked(text, [Span(match.start(), match.end()) for match in matches])


def _times(text: str) -> Iterator[tuple[Span, str, str]]:
    """Yield the span of each time, its value on the 12-hour clock as "9:05", and "am", "pm" or "" if open."""
    for match in _TIME.finditer(text):
        before, hour, minute = match["before"], match["hour"], match["minute"] or match["minutes"]
        if not (minute or before or match["behind"]):
            continue  # an hour without minutes is an amount
        hours, half = int(hour) % 24, ""
        if hours > _NOON or before in _EVENING or match["behind"] == "p":
            half = "pm"
        elif before or match["behind"]:
            half = "am"
        elif match["minute"] and len(hour) > 1:  # on the 24-hour clock
            half = "pm" if hours == _NOON else "am"
        value = f"{hours % _NOON or _NOON}:{int(minute or 0):02}"
        yield Span(match.start(), match.end()), value, half


def _blanked(text: str, spans: Iterable[Span]) -> str:
    """Return a text of the same length with line ends in place of the spans."""
    return spliced(text, ((span, "\n" * len(span)) for span in sorted(spans)))


# Name -> the Korean and the English pattern.
_UNITS: Mapping[str, tuple[str, str]] = {
    "년": ("년", r"years?\b|yrs?\b"),
    "개월": (r"개월|달(?!러)", r"months?\b"),
    "월": ("월", r"\b\B"),
    "주": (r"주(?!년)", r"weeks?\b"),
    "일": ("일", r"days?\b"),
    "시간": ("시간", r"hours?\b|hrs?\b"),
    "시": (r"시(?!간)", r"o'clock\b|[ap]\.?m\b"),
    "분": (r"분(?!기)", r"minutes?\b|mins?\b"),
    "초": (r"초(?!과)", r"seconds?\b|secs?\b"),
    "원": ("원|₩", r"won\b|krw\b"),
    "달러": (r"달러|\$", r"dollars?\b|usd\b"),
    "유로": ("유로|€", r"euros?\b|eur\b"),
    "명": (r"명|인(?![가-힣])", r"people\b|persons?\b|members?\b|employees?\b"),
    "%p": (r"%p\b|%포인트|퍼센트 ?포인트", r"percentage points?\b|pp\b"),
    "%": (r"%|퍼센트", r"per ?cent\b"),
    "회": (r"회|번(?!째)|차례", r"times\b"),
    "개": (r"개(?!월)", r"pieces?\b|items?\b"),
    "km": ("킬로미터", r"km\b"),
    "kg": ("킬로그램", r"kg\b"),
    "GB": ("기가바이트", r"gb\b"),
    "MB": ("메가바이트", r"mb\b"),
}
_PATTERNS = {name: re.compile(rf"(?:{ko})|(?:{en})") for name, (ko, en) in _UNITS.items()}
_UNIT = "|".join(f"{ko}|{en}" for ko, en in _UNITS.values())

_KOREAN_UNIT = "|".join(ko for ko, _ in _UNITS.values())
_DIGITS = {char: value for value, char in enumerate("영일이삼사오육칠팔구")}
_SMALL = {"십": 10, "백": 100, "천": 1_000}
_SINO = re.compile(rf"(?<![가-힣])([일이삼사오육칠팔구십백천만]+)\s?({_KOREAN_UNIT})")
_ONES = {"한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9}
_TENS = {
    "열": 10, "스물": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
}  # fmt: skip
_NATIVE = {
    **_ONES, "석": 3, "넉": 4, **_TENS, "스무": 20,
    **{ten + unit: tens + units for ten, tens in _TENS.items() for unit, units in _ONES.items()},
}  # fmt: skip
_NATIVE_AMOUNT = re.compile(rf"(?<![가-힣])({'|'.join(_NATIVE)})\s?({_KOREAN_UNIT})")
_DAYS = {
    "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "여드레": 8, "아흐레": 9, "열흘": 10,
    "보름": 15,
}  # fmt: skip
_DAY_WORD = re.compile(rf"(?<![가-힣])(?:{'|'.join(_DAYS)})")
_ENGLISH_ONES = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
}  # fmt: skip
_ENGLISH_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_ENGLISH_SMALL = {
    **_ENGLISH_ONES, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, **_ENGLISH_TENS,
}  # fmt: skip
_TENS_AND_ONES = rf"(?:{'|'.join(_ENGLISH_TENS)})[\s-](?:{'|'.join(_ENGLISH_ONES)})"
_BELOW_HUNDRED = rf"(?:{_TENS_AND_ONES}|{'|'.join(_ENGLISH_SMALL)})\b"
_BELOW_THOUSAND = (
    rf"(?:(?:{_BELOW_HUNDRED}[\s-])?hundred\b(?:\s(?:and\s)?{_BELOW_HUNDRED})?|{_BELOW_HUNDRED})"
)
_ENGLISH_AMOUNT = re.compile(
    r"(?<!\d[\s-])(?<!few\s)(?<!several\s)\b"
    rf"(?P<words>(?:{_BELOW_THOUSAND}[\s-])?thousand\b(?:\s(?:and\s)?{_BELOW_THOUSAND})?|{_BELOW_THOUSAND})"
    rf"(?:[\s-](?P<unit>{_UNIT}))?"
)


@lru_cache(maxsize=1_024)
def _unit_of(text: str) -> str:
    """Return the name of a unit in lower case; "" if it is none."""
    bare = text.strip()
    return next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(bare)), "")


def is_number_word(*words: str) -> bool:
    """Return whether lower-case words are numbers such as "one" or "열두"."""
    return all(word in _ENGLISH_SMALL or word in _NATIVE for word in words)


def _sino(word: str) -> int:
    """Return the value of a numeral such as "삼만오천"; the part before "만" counts ten thousand times."""
    many, ten_thousand, few = word.rpartition("만")
    value = _under_ten_thousand(few)
    return value + 10_000 * (_under_ten_thousand(many) or 1) if ten_thousand else value


def _english(words: str) -> int:
    total = below = 0
    for word in re.split(r"[\s-]", words):
        if word == "thousand":
            total, below = (below or 1) * 1_000, 0
        elif word == "hundred":
            below = (below or 1) * 100
        else:
            below += _ENGLISH_SMALL.get(word, 0)  # "and" has no value
    return total + below


def _under_ten_thousand(word: str) -> int:
    total = digit = 0
    for char in word:
        if char in _SMALL:
            total, digit = total + (digit or 1) * _SMALL[char], 0
        else:
            digit = _DIGITS.get(char, 0)
    return total + digit


_NUMBER = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*"
_SCALES = {"천": 10**3, "만": 10**4, "억": 10**8, "조": 10**12}
_ENGLISH_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "k": 10**3}
_AMOUNT = re.compile(
    rf"(?P<number>{_NUMBER})(?:(?P<scale>(?:천\s?)?[만억]|천(?=\s?(?:원|명|개|건|달러))|조(?=\s?(?:원|달러|\d)))"
    r"|\s?(?P<times>thousand|million|billion)\b|(?P<k>k)\b)?"
)
_GOES_ON = re.compile(rf"\s?(?=(?:{_NUMBER})\s?(?:(?:천\s?)?[만억천]|원))")
_UNIT_BEHIND = re.compile(rf"\s?(?:{_UNIT})")
_CURRENCY_BEFORE = re.compile(r"(?:[$€₩]|\b(?:krw|usd|eur))(?=\s?$)")


@dataclass(frozen=True, slots=True)
class _Number:
    """An amount, a date or a time."""

    value: str  # canonical: "1.5", "3-5" for 5 March, "10:30" in either half of the day
    unit: str  # its name, `date` or `time`; "" if unknown
    within: str = ""  # the year of a date, or "am" or "pm" for a time; "" if not given


@lru_cache(maxsize=64)  # notes; each is compared with several claims
def known_numbers(text: str) -> frozenset[_Number]:
    """Return the numbers of a text, in digits or in words."""
    return frozenset(number for _, number in _numbers(text)) | frozenset(_loosely(text))


def _numbers_in(text: str) -> tuple[_Number, ...]:
    """Return the numbers in digits of a text, in order."""
    return tuple(number for _, number in _numbers(text))


def numbers_in_words(text: str) -> tuple[_Number, ...]:
    """Return the amounts in words of a text; lenient: "이 일" is read as two days."""
    folded = _folded(text)
    found = [(_sino(match[1]), _unit_of(match[2])) for match in _SINO.finditer(folded)]
    found += [(_NATIVE[match[1]], _unit_of(match[2])) for match in _NATIVE_AMOUNT.finditer(folded)]
    found += [(_DAYS[match[0]], "일") for match in _DAY_WORD.finditer(folded)]
    english = _ENGLISH_AMOUNT.finditer(folded)
    found += [(_english(match["words"]), _unit_of(match["unit"] or "")) for match in english]
    # "one" alone is usually no number.
    return tuple(_Number(str(value), unit) for value, unit in found if unit or value > 1)


def _is_known(number: _Number, known: Collection[_Number]) -> bool:
    """Return whether a known number is equal: its value, its unit if both have one, and all given parts of a date."""
    if number.unit != "time":
        return number in known or any(_same(number, other) for other in known)
    at_it = [other for other in known if (other.unit, other.value) == (number.unit, number.value)]
    if at_it:  # an hour without am or pm matches both
        return any(_same(number, other) for other in at_it)
    return any(_same(hour, other) for hour in _stated_hours(number) for other in known)


def new_numbers(claim: str, known: Collection[_Number]) -> tuple[str, ...]:
    """Return the numbers in digits of a claim that are not known, as written in the claim, each once."""
    new = (span for span, number in _numbers(claim) if not _is_known(number, known))
    return tuple(dict.fromkeys(span.slice(claim).strip() for span in new))


def number_refusal(
    claim: str, source: str, around: str, note: str, *, same_matter: bool
) -> Literal["number", "new_number"] | None:
    """Return "number" if `source` (the passage) or `note` has another number, "new_number" if it is not `around` it.

    Texts are in lower case; `same_matter` says whether claim and passage have the same topic.
    """
    digits = _numbers_in(claim)
    some = [number for number in numbers_in_words(claim) if number.value != "1"]
    if not digits and not some:
        return None
    known, claimed, in_source = (
        known_numbers(around), known_numbers(claim), _numbers_in(source),
    )  # fmt: skip
    missing = [number for number in digits if not _is_known(number, known)]
    missing_words = [number for number in some if number.unit and not _is_known(number, known)]
    there = (*in_source, *numbers_in_words(source))
    others = [number for number in there if not _is_known(number, claimed)]
    is_bare = any(not number.unit and not _is_known(number, known) for number in some)
    is_elsewhere = is_bare and any(number.value != "1" for number in others)
    alike = (
        number.unit == other.unit or number.value == other.value
        for number in (*missing, *missing_words)
        for other in others
        if other.unit
    )
    whole = known_numbers(note) if missing else known
    if (same_matter and any(alike)) or any(not _is_known(one, whole) for one in missing):
        return "number"
    units = {other.unit for other in others if other.unit}
    # A number that only the question has, beside another of its unit.
    is_elsewhere |= any(one.unit in units and not _is_known(one, in_source) for one in digits)
    return "new_number" if missing or is_elsewhere else None


# Units of one quantity, in the smallest of them: two weeks are 14 days.
_EQUAL: Mapping[str, tuple[int, str]] = {
    "초": (1, "초"), "분": (60, "초"), "시간": (3_600, "초"), "일": (86_400, "초"), "주": (604_800, "초"),
    "개월": (1, "개월"), "년": (12, "개월"),
}  # fmt: skip


def _in_smallest_unit(number: _Number) -> tuple[Decimal, str] | None:
    if number.unit not in _EQUAL or not number.value.replace(".", "", 1).isdigit():
        return None
    factor, unit = _EQUAL[number.unit]
    return Decimal(number.value) * factor, unit


def _same(number: _Number, other: _Number) -> bool:
    if number.unit and other.unit and number.unit != other.unit:
        amount = _in_smallest_unit(number)
        return amount is not None and amount == _in_smallest_unit(other)
    same_half = not (number.within and other.within) or number.within == other.within
    return number.value == other.value and same_half


@lru_cache(maxsize=16_384)
def _plain(char: str) -> str:
    folded = fold_unit(char)
    return folded if len(folded) == 1 else char


@lru_cache(maxsize=64)
def _folded(text: str) -> str:
    """Return a text as numbers are read: lower case, plain digits and dashes; one character for each."""
    return "".join(map(_plain, text))


@lru_cache(maxsize=64)
def _numbers(text: str) -> Sequence[tuple[Span, _Number]]:
    folded = _folded(text)
    numbers: list[tuple[Span, _Number]] = []
    for read, unit in ((_dates, "date"), (_times, "time")):
        in_source = [(span, _Number(value, unit, within)) for span, value, within in read(folded)]
        folded = _blanked(folded, [span for span, _ in in_source])
        numbers += in_source
    return sorted([*numbers, *_amounts(folded)], key=lambda pair: pair[0])


def _amounts(text: str) -> list[tuple[Span, _Number]]:
    """Return the amounts of a text; "1 hour 30 minutes" is one amount, 90 minutes."""
    found: list[tuple[Span, _Number]] = []
    for span, number in _single_amounts(text):
        last, before = found[-1] if found else (None, None)
        both = _sum_of_units(before, number) if before else None
        if last and both and not text[last.end : span.start].strip():
            found[-1] = Span(last.start, span.end), both
        else:
            found.append((span, number))
    return found


def _sum_of_units(number: _Number, behind: _Number) -> _Number | None:
    large, small = _in_smallest_unit(number), _in_smallest_unit(behind)
    if not (large and small) or large[1] != small[1]:
        return None
    factor = _EQUAL[behind.unit][0]
    is_smaller = factor < _EQUAL[number.unit][0]
    total = (large[0] + small[0]) / factor
    return _Number(f"{total.normalize():f}", behind.unit) if is_smaller else None


def _single_amounts(text: str) -> Iterator[tuple[Span, _Number]]:
    at = 0
    while match := _AMOUNT.search(text, at):
        start, value, end = match.start(), *_sum(text, match)
        before = text[max(0, start - 5) : start]
        unit = _UNIT_BEHIND.match(text, end) or _CURRENCY_BEFORE.search(before)
        at = max(end, unit.end()) if unit else end
        yield Span(start, at), _Number(value, _unit_of(unit[0]) if unit else "")


def _sum(text: str, match: re.Match[str]) -> tuple[str, int]:
    """Return the value of "1억 2,000만" and where it ends; a version such as 1.2.3 is kept."""
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


def _loosely(text: str) -> Iterator[_Number]:
    """Yield further numbers of a text: amounts in words, and the parts of its dates and times."""
    yield from numbers_in_words(text)
    for match in _MONTH_ALONE.finditer(_folded(text)):  # "may" is usually no month
        yield _Number(str(_MONTHS.index(match[0][:3]) + 1), "월")
    for _, number in _numbers(text):
        if number.unit == "date":
            yield from [_Number(number.within, "년")] if number.within else []
            month, _, day = number.value.partition("-")
            yield from (_Number(month, "date", number.within), _Number(month, "월"))
            yield from [_Number(day, "일")] if day else []
        elif number.unit == "time":
            yield from _stated_hours(number)


def _stated_hours(time: _Number) -> Iterator[_Number]:
    hour, minute = map(int, time.value.split(":"))
    if not minute:
        yield _Number(str(hour), "시")
        if time.within != "am":
            yield _Number(str(hour % _NOON + _NOON), "시")
