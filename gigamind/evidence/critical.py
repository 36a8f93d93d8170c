"""Differences that reverse a statement although hardly a letter changes: fuzzy matches with them score 0.91 to 0.97.

Both texts are normalised: lower case, plain quotation marks.
"""

import re
from typing import Literal

Critical = Literal["number", "negation", "polarity"]
Unstated = Literal["struck_out", "comment", "outdated", "placeholder"]
"""Why text of a note is not stated by its author; see `stated`."""

# The lookahead of possible first characters halves the time or better.
NEGATION = re.compile(
    r"(?=[않못없아불금안지nwc])(?:"
    r"않|못|없|아[니닌닐님닙]|불가|금지|(?<!\w)안(?= )|지 ?마(?=[라세십시]|$)|지 ?말(?=[라아고것 ]|$)"
    r"|\b(?:not|no|never|without|none|neither|nor|cannot)\b|n't\b)"
)
# Pairs of opposites. A word that contains another comes first; otherwise "비활성화" would count as "활성화".
_POLE = re.compile(
    r"(?=[비활불가증감상하허차미포제추삭성실시중필선이초최찬반동거승유무공])(?:"
    r"비활성화|활성화|불가능|가능|증가|감소|상승|하락|허용|차단|미포함|포함|제외|추가|삭제|성공|실패|시작|중지|필수|선택"
    r"|이상|이하|초과|미만|이전|이후|최대|최소|찬성|반대|동의|거부|승인|반려|유료|무료|비공개|공개)"
    r"|(?=[eidarsfmtobplh])\b(?:enabl|disabl|increas|decreas|disallow|allow|deny|denied|includ|exclud|remov|succe|fail|accept|reject"
    r"|(?:add(?:s|ed|ing)?|start|stop|true|false|required|optional|before|after|more|less|above|below|public|private"
    r"|max(?:imum)?|min(?:imum)?|high(?:er|est)?|low(?:er|est)?)\b)"
)
_NUMBER = re.compile(r"[\d²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅞]+(?:[.,:/-]\d+)*")
# Each word and its opposite; English words are given by the stems above.
_OPPOSITES = (
    ("활성화", "비활성화"), ("가능", "불가능"), ("증가", "감소"), ("상승", "하락"), ("허용", "차단"),
    ("포함", "미포함"), ("포함", "제외"), ("추가", "삭제"), ("성공", "실패"), ("시작", "중지"), ("필수", "선택"),
    ("이상", "이하"), ("이상", "미만"), ("초과", "이하"), ("초과", "미만"), ("이전", "이후"), ("최대", "최소"),
    ("찬성", "반대"), ("동의", "거부"), ("승인", "반려"), ("승인", "거부"), ("유료", "무료"), ("공개", "비공개"),
    ("enabl", "disabl"), ("increas", "decreas"), ("allow", "disallow"), ("allow", "den"), ("includ", "exclud"),
    ("add", "remov"), ("succe", "fail"), ("accept", "reject"), ("start", "stop"), ("true", "false"),
    ("required", "optional"), ("before", "after"), ("more", "less"), ("above", "below"), ("public", "private"),
    ("max", "min"), ("high", "low"),
)  # fmt: skip


def differences(quote: str, passage: str) -> tuple[Critical, ...]:
    """Return what differs: the numbers in order, the count of negations, the count of each opposite."""
    differing: list[Critical] = []
    if _NUMBER.findall(quote) != _NUMBER.findall(passage):
        differing.append("number")
    if len(NEGATION.findall(quote)) != len(NEGATION.findall(passage)):
        differing.append("negation")
    if sorted(_POLE.findall(quote)) != sorted(_POLE.findall(passage)):
        differing.append("polarity")
    return tuple(differing)


def are_opposed(statement: str, passage: str) -> bool:
    """Return whether a lower-case text has a word whose opposite the other has, but no word of that pair in both."""
    left, right = (set(map(_stem, _POLE.findall(text))) for text in (statement, passage))
    both = ((left, right), (right, left))
    return any(one in a - b and other in b - a for a, b in both for one, other in _OPPOSITES)


_STEMS = frozenset(stem for pair in _OPPOSITES for stem in pair if stem.isascii())


def _stem(pole: str) -> str:
    return max((stem for stem in _STEMS if pole.startswith(stem)), key=len, default=pole)
