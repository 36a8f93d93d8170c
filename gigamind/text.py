"""Words of Korean and English text: the tokens that keyword search and text comparison count.

Words are lower-cased; a run of Hangul or other CJK characters becomes its character bigrams, which need no dictionary
and forgive particles (MRR of BM25 on KorQuAD paragraphs: whitespace words 0.835, bigrams 0.948, a morphological
analyser 0.938).
"""

import re
import unicodedata
from typing import Literal

from gigamind.spans import Span

# Hangul jamo, kana, CJK ideographs with extension A, compatibility jamo, Hangul syllables, compatibility ideographs,
# and the supplementary ideographic plane.
_CJK = (
    r"\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"([{_CJK}]+)|((?:(?![{_CJK}])[^\W_])+)")


_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"
)


def tokens(text: str) -> list[str]:
    """Keyword tokens in the order of the text, with repetitions.

    `"RAG 시스템의 v2"` gives `["rag", "시스", "스템", "템의", "v2"]`; a CJK run of one character stays as it is.
    """
    found: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFC", text).lower()):
        run = match[1]
        if run is None:
            found.append(match[2])
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
    return found


def plain(text: str) -> str:
    """Text for comparison: NFC, lower case, punctuation dropped, white space runs as one space (seed 4.1)."""
    kept = (
        c
        for c in unicodedata.normalize("NFC", text).lower()
        if not unicodedata.category(c).startswith("P")
    )
    return " ".join("".join(kept).split())


def printable(text: str) -> str:
    """A text without what a terminal or a page would obey: control characters, direction overrides, line ends."""
    return _UNPRINTABLE.sub(" ", text)


def printable_lines(text: str) -> str:
    """The same, with its line ends."""
    return "\n".join(map(printable, text.split("\n")))


def jaccard(left: str, right: str) -> float:
    """Shared words over all words of two `plain` texts, in [0, 1]; 0.0 when neither has a word."""
    a, b = set(left.split()), set(right.split())
    return len(a & b) / len(a | b) if a | b else 0.0


_BREAK = re.compile(
    r"""
    (?P<whole>                                          # full stops that end no sentence:
        \b\d{4}\.[ ]?\d{1,2}\.(?:[ ]?\d{1,2}\.)?       # 2026. 3. 5.
      | ^[ \t>]*\d{1,9}\.                               # the number of a list item
      | \b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|Ms|No|Nos|Fig|Sec|St|approx|Inc|Ltd|Co)\.
      | (?<!\w)(?:[A-Z]\.)+                             # initials
    )
    | (?<![.!?…。！？])[.!?…。！？]++ ["'”’」』)）\]]*+ (?=\s|$)  # the end, closing quotes and brackets included
    | [。！？]+ [”’」』）]*                              # full-width marks need no space behind them
    | \n                                               # a line of its own is a sentence of its own
    """,
    re.VERBOSE | re.MULTILINE,
)


def sentences(text: str) -> list[Span]:
    """Sentences in the order of the text, without the white space around them; blank ones are left out.

    A full stop ends a sentence only before white space, so that "3.5" and "v1.2" stay whole, and never in a Korean
    date or behind a usual English abbreviation, an initial or a list number.
    """
    found: list[Span] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match["whole"] is None:
            _append_trimmed(found, text, start, match.end())
            start = match.end()
    _append_trimmed(found, text, start, len(text))
    return found


def _append_trimmed(found: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if stripped := piece.strip():
        begin = start + piece.index(stripped[0])
        found.append(Span(begin, begin + len(stripped)))


# Korean particles follow the last sound of a word: 이/가, 은/는, 을/를.  The sound is known for Hangul, digits and
# abbreviations in Latin; for Latin words it is told by the spelling, as Korean writes them (이미지, 파일, 봇, 테스트).
# Where it is not known, both forms stand: 이(가).
Pair = Literal["이/가", "은/는", "을/를"]

# A particle agrees with the word before the bracket.
_ASIDE = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*$")
_SILENT = re.compile(r"[\s\"'”’」』》>)\]*_~`.,:;!?…]+$")
_FIRST, _LAST, _FINALS = 0xAC00, 0xD7A3, 28  # a syllable's index modulo 28 is its final consonant
_CLOSED_DIGITS = set("013678")  # 영 일 삼 육 칠 팔
_CLOSED_LETTERS = set("LMNR")  # 엘 엠 엔 알
_OPEN_SIGNS = set("%+℃")  # 퍼센트, 플러스
_LATIN = re.compile(r"[A-Za-z]+$")
_CLOSED_WORD = re.compile(
    r"""
      [lmn]e?$                              # 이메일, 파일, 타임, 파이프라인
    | ng$                                   # 미팅
    | (?<![aeiou])[aeiou](?:[bcpt]|ck|k|pp)$  # 웹, 메트릭, 맵, 봇, 피드백, 앱
    | ook$                                  # 북
    """,
    re.VERBOSE,
)


def with_particle(word: str, pair: Pair) -> str:
    """The word with the form of the particle that its last sound asks for."""
    closed, opened = pair.split("/")
    ends = ends_in_consonant(word)
    if ends is None:
        return f"{word}{closed}({opened})"
    return word + (closed if ends else opened)


def ends_in_consonant(word: str) -> bool | None:
    """Whether the last sound of a word is a consonant in Korean; None where its script does not tell."""
    heard = _SILENT.sub("", _ASIDE.sub("", word)) or _SILENT.sub("", word)
    last = heard[-1:]
    if not last:
        return None
    if _FIRST <= ord(last) <= _LAST:
        return (ord(last) - _FIRST) % _FINALS != 0
    if last.isascii() and last.isdigit():
        return last in _CLOSED_DIGITS
    if last in _OPEN_SIGNS:
        return False
    latin = _LATIN.search(heard)
    return None if latin is None else _latin_ends_in_consonant(latin[0])


def _latin_ends_in_consonant(word: str) -> bool:
    if word.isupper():  # read letter by letter
        return word[-1] in _CLOSED_LETTERS
    return _CLOSED_WORD.search(word.lower()) is not None
