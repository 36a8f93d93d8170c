"""Units of amounts in Korean and English, each by one name, and amounts that are written in words."""

import re
from collections.abc import Iterator, Mapping

# By name: how Korean says it, and how English does.
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
    "%": (r"%|퍼센트", r"percent\b"),
    "회": (r"회|번(?!째)|차례", r"times\b"),
    "개": (r"개(?!월)", r"pieces?\b|items?\b"),
    "km": ("킬로미터", r"km\b"),
    "kg": ("킬로그램", r"kg\b"),
    "GB": ("기가바이트", r"gb\b"),
    "MB": ("메가바이트", r"mb\b"),
}
_PATTERNS = {name: re.compile(rf"(?:{ko})|(?:{en})") for name, (ko, en) in _UNITS.items()}
UNIT = "|".join(f"{ko}|{en}" for ko, en in _UNITS.values())

_KOREAN_UNIT = "|".join(ko for ko, _ in _UNITS.values())
_DIGITS = {char: value for value, char in enumerate("영일이삼사오육칠팔구")}
_SMALL = {"십": 10, "백": 100, "천": 1_000}
_SINO = re.compile(rf"(?<![가-힣])([일이삼사오육칠팔구십백천만]+)\s?({_KOREAN_UNIT})")
_NATIVE = {
    "한": 1, "두": 2, "세": 3, "석": 3, "네": 4, "넉": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9,
    "열": 10, "열한": 11, "열두": 12, "스무": 20, "서른": 30,
}  # fmt: skip
_NATIVE_AMOUNT = re.compile(rf"(?<![가-힣])({'|'.join(_NATIVE)})\s?({_KOREAN_UNIT})")
_DAYS = {
    "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "여드레": 8, "아흐레": 9, "열흘": 10,
    "보름": 15,
}  # fmt: skip
_DAY = re.compile(rf"(?<![가-힣])(?:{'|'.join(_DAYS)})")
_ENGLISH = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "ninety": 90, "hundred": 100,
}  # fmt: skip
_ENGLISH_AMOUNT = re.compile(rf"\b({'|'.join(_ENGLISH)})\b(?:[\s-]({UNIT}))?")


def unit_of(text: str) -> str:
    """The name of a unit in lower case; empty for what is none."""
    bare = text.strip()
    return next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(bare)), "")


def amounts_in_words(text: str) -> Iterator[tuple[int, str]]:
    """Amounts and their units of a text in lower case, generously: "이 일" is read as two days."""
    yield from ((_sino(found[1]), unit_of(found[2])) for found in _SINO.finditer(text))
    yield from ((_NATIVE[found[1]], unit_of(found[2])) for found in _NATIVE_AMOUNT.finditer(text))
    yield from ((_DAYS[found[0]], "일") for found in _DAY.finditer(text))
    for found in _ENGLISH_AMOUNT.finditer(text):
        value, unit = _ENGLISH[found[1]], unit_of(found[2] or "")
        if unit or value > 1:  # "one" alone is mostly no number
            yield value, unit


def _sino(word: str) -> int:
    """The value of a numeral such as "삼만오천": what stands before "만" counts ten thousand times."""
    many, ten_thousand, few = word.rpartition("만")
    value = _under_ten_thousand(few)
    return value + 10_000 * (_under_ten_thousand(many) or 1) if ten_thousand else value


def _under_ten_thousand(word: str) -> int:
    total = digit = 0
    for char in word:
        if char in _SMALL:
            total, digit = total + (digit or 1) * _SMALL[char], 0
        else:
            digit = _DIGITS.get(char, 0)
    return total + digit
