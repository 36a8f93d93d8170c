"""Korean particles (은/는, 이/가, 을/를 and so on), which follow the last sound of the word before them.

The sound is known for Hangul, digits and Latin abbreviations.  For Latin words it is guessed from the spelling, as
Korean writes them (이미지, 파일, 봇, 테스트).  Where it is unknown, both forms are shown: 이(가).
"""

import re
from typing import Literal, cast, get_args

Pair = Literal["이/가", "은/는", "을/를", "과/와", "이었/였", "이라/라", "으로/로"]
_PAIRS: dict[str, Pair] = {
    "{}({})".format(*pair.split("/")): pair for pair in cast("tuple[Pair, ...]", get_args(Pair))
}
PAIRS = re.compile("|".join(map(re.escape, _PAIRS)))

# A particle agrees with the word before the bracket.
_ASIDE = re.compile(r"(?:(?<!\s)\s++)?[(（\[][^()（）\[\]]*[)）\]]\s*$")
_SIGNS = r"[\s\"'”’」』》>)\]*_~`.,:;!?…]"
_SILENT = re.compile(rf"(?<!{_SIGNS}){_SIGNS}+$")
FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3
FINAL_CONSONANTS = 28  # a syllable's index modulo 28 is its final consonant
_CLOSED_DIGITS = set("013678")  # 영 일 삼 육 칠 팔
_CLOSED_LETTERS = set("LMNR")  # 엘 엠 엔 알
_ENDS_IN_L = re.compile(r"[178LR]$|[a-z]le?$")  # 일 칠 팔 엘 알, 메일, 파일
_L = 8  # its number among the final consonants
_OPEN_SIGNS = set("%+℃")  # 퍼센트, 플러스
_LATIN = re.compile(r"(?<![A-Za-z])[A-Za-z]+$")
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
    """Return the word with the form of the particle that fits its last sound."""
    closed, opened = pair.split("/")
    ends = ends_in_consonant(word)
    if ends is None:
        return f"{word}{closed}({opened})"
    if pair == "으로/로" and _ends_in_l(word):  # 서울로
        return word + opened
    return word + (closed if ends else opened)


def with_particles(literal: str, before: str = "") -> str:
    """Return `before` and `literal` as one text, with the fitting form of each pair such as "은(는)" in the literal.

    Pairs inside `before` stay, as they are part of somebody's text.
    """
    text, start = before, 0
    for match in PAIRS.finditer(literal):
        text = with_particle(text + literal[start : match.start()], _PAIRS[match[0]])
        start = match.end()
    return text + literal[start:]


def _ends_in_l(word: str) -> bool:
    spoken = _spoken_part(word)
    if FIRST_SYLLABLE <= ord(spoken[-1]) <= LAST_SYLLABLE:
        return (ord(spoken[-1]) - FIRST_SYLLABLE) % FINAL_CONSONANTS == _L
    return _ENDS_IN_L.search(spoken) is not None


def _spoken_part(word: str) -> str:
    """Return the word without signs and brackets at its end, which are not read aloud."""
    return _SILENT.sub("", _ASIDE.sub("", word)) or _SILENT.sub("", word)


def ends_in_consonant(word: str) -> bool | None:
    """Return whether the last sound of a word is a consonant in Korean; None if its script does not show it."""
    spoken = _spoken_part(word)
    last = spoken[-1:]
    if not last:
        return None
    if FIRST_SYLLABLE <= ord(last) <= LAST_SYLLABLE:
        return (ord(last) - FIRST_SYLLABLE) % FINAL_CONSONANTS != 0
    if last.isascii() and last.isdigit():
        return last in _CLOSED_DIGITS
    if last in _OPEN_SIGNS:
        return False
    latin = _LATIN.search(spoken)
    return None if latin is None else _latin_ends_in_consonant(latin[0])


def _latin_ends_in_consonant(word: str) -> bool:
    if word.isupper():  # read letter by letter
        return word[-1] in _CLOSED_LETTERS
    return _CLOSED_WORD.search(word.lower()) is not None
