"""Korean particles that follow the last sound of a word: 이/가, 은/는, 을/를.

The sound is known for Hangul and digits and for Latin abbreviations; for Latin words it is told by the spelling, as
Korean writes them (이미지, 파일, 봇, 테스트).  Where it is not known, both forms stand: 이(가).
"""

import re
from typing import Literal

Pair = Literal["이/가", "은/는", "을/를"]

_ASIDE = re.compile(
    r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*$"
)  # a particle agrees with the word before the bracket
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
