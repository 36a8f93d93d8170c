"""The words of a quote and of its source, for comparison.

White space, case, punctuation, quotation marks and Markdown are ignored; meaningful signs are kept.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gigamind.i18n import ends_in_consonant

ELLIPSIS = "..."
# The lookahead skips characters that begin no word, which saves a third of the time.
_WORD = re.compile(
    r"""
    (?=[^\s,;:'"])(?:
      (?P<hangul>[가-힣ㄱ-ㅎㅏ-ㅣ]+)
    | (?P<article>\b(?:the|an?)\b(?!\s(?:few|little)\b))
    | (?P<letters>[^\W\d_가-힣ㄱ-ㅎㅏ-ㅣ]+(?:'[^\W\d_가-힣ㄱ-ㅎㅏ-ㅣ]+)*(?:\+\+|\#(?!\w))?)
    | (?P<number>\d+(?:[.,:]\d+)*)
    | (?P<tag></?(?:br|[ubip]|em|strong|mark|su[bp]|kbd|div|span)\b[^<>]*+>)
    | (?P<ellipsis>\.{2,}|[\[(](?:\.{3}|중략|생략)[\])])
    | (?P<sign>(?<![-=])[-=]++>|(?<![\w)\].])[-+](?=[.]?\d)
        | [%‰°$€£¥₩₿¢&<>=≤≥≠≒≈±+×÷√∞○◯⭕◎✕✖❌✗✘✓✔✅☑☒△▲▽▼↑↓→←↔⇒⇐²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅞])
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<stop>[.!?。](?=["')\]*_\s]|$)))
    """,
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Characters between two parts of one word or number: non-refundable, can't, 10~20, 1/2.
_LETTERS_JOINED, _DIGITS_JOINED = frozenset("-'"), frozenset("-~/:.,")

# A particle that may be omitted after a stem of two syllables, or of any length after a digit or another script.
_PARTICLE = re.compile(r"(?:(?:에서|에|으로|로)(?:는|의)?|은|는|이|가|을|를|의)$")
_AFTER_CONSONANT, _AFTER_VOWEL = frozenset("은이을으"), frozenset("는가를")  # their first syllables
# What may be cut off the last word of a quote: particles and declarative endings.
_REST = re.compile(
    r"(?:에게?|에서|으로|로|와|과)?(?:은|는|이|가|을|를|의)?"
    r"|(?:이|하|되|였|이었|했|하였|됐|되었)?(?:다|며|으며|고|지만|습니다|는데|므로|니)|[하되](?:나|는|여|어|어서)"
    r"|(?:입|합|됩)니다|[한된]다?|(?:이에|예|해|돼)요|해서|[인한]데|[임함됨]"
)
_REPORTED = re.compile(r"(?:다|[이하으]라|냐|하자)$")  # a denial may follow "확인되었다고"


class Word(NamedTuple):  # a dataclass takes three times as long to create
    """One word."""

    text: str  # its letters, digits or sign, lower-cased, without its particle
    particle: str  # a Korean particle that may be omitted, or ""
    start: int
    end: int  # offset of its end, with the particle
    bracket: int = 0  # number of the bracket around it, from 1; 0 outside
    tight: bool = False  # it belongs to the word or number before it
    ends: bool = False  # a sentence ends after it

    @property
    def whole(self) -> str:
        return self.text + self.particle

    @property
    def is_number(self) -> bool:
        return any(map(str.isdigit, self.text))


_PLAIN = frozenset(("hangul", "letters"))
# The constructor of a named tuple takes twice as long.
_new_word: "Callable[[type[Word], tuple[object, ...]], Word]" = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def words(text: str) -> list[Word]:
    """Return the words of a normalised text, in order, without articles."""
    parsed: list[Word] = []
    kind, end, brackets, depth = "", -1, 0, 0
    for match in _WORD.finditer(text):
        last, kind = kind, match.lastgroup or ""
        start, stop = match.span()
        gap = text[end:start] if end >= 0 else " "
        end = stop
        if kind in _PLAIN and gap == " ":  # most words; the general case below takes twice as long
            stem, particle = _stem(match[0], 2) if kind == "hangul" else (match[0], "")
            bracket = brackets if depth else 0
            parsed.append(_new_word(Word, (stem, particle, start, stop, bracket, False, False)))
        elif kind in {"open", "close"}:
            brackets += kind == "open"
            depth = max(0, depth + (1 if kind == "open" else -1))
            if kind == "close" and parsed and depth == 0:
                kind = "bracket"
        elif kind == "stop":
            if parsed:
                parsed[-1] = _new_word(Word, (*parsed[-1][:-1], True))
        elif kind not in {"tag", "article"}:
            raw, glued = match[0], not gap and last not in {"", "hangul"}
            is_apart = not glued and not (gap and not gap.strip("'\""))
            if kind == "hangul" and parsed and not is_apart and _PARTICLE.fullmatch(raw):
                stem, _, first, _, *rest = parsed[-1]
                parsed[-1] = _new_word(Word, (stem, raw, first, stop, *rest))
                continue
            tight = gap != " " and _is_tight(gap, last, kind)
            if kind == "hangul":
                stem, particle = _stem(raw, 1 if glued else 2)
            else:
                stem, particle = _text(kind, raw), ""
            bracket = brackets if depth else 0
            parsed.append(_new_word(Word, (stem, particle, start, stop, bracket, tight, False)))
    return parsed


def _text(kind: str, raw: str) -> str:
    if kind == "ellipsis":
        return ELLIPSIS
    if kind == "number":
        return _THOUSANDS.sub("", raw)
    return "→" if kind == "sign" and raw.endswith(">") and len(raw) > 1 else raw


def _is_tight(gap: str, last: str, kind: str) -> bool:
    if not gap:
        joins = {"number", "letters", "hangul", "sign"}
        return (last, kind) != ("hangul", "number") and last in joins
    joined = _DIGITS_JOINED if last == kind == "number" else _LETTERS_JOINED
    return gap in joined and last in {"number", "letters"} and kind in {"number", "letters"}


@lru_cache(maxsize=16384)
def _stem(word: str, least: int) -> tuple[str, str]:
    match = _PARTICLE.search(word, least)
    if match is None:
        return word, ""
    stem, particle = word[: match.start()], match[0]
    if _REPORTED.search(stem):
        return word, ""
    closed = ends_in_consonant(stem)
    if (particle[0] in _AFTER_CONSONANT and not closed) or (particle in _AFTER_VOWEL and closed):
        return word, ""
    return stem, particle


def is_rest(begun: str, word: str) -> bool:
    """Return whether the rest of a word adds nothing to its beginning."""
    rest = word[len(begun) :]
    if not begun or not word.startswith(begun) or not "가" <= rest[:1] <= "힣":
        return False
    return bool(_REST.fullmatch(rest)) and not _REPORTED.search(begun)
