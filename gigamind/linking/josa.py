"""Korean particles behind a name: "모아 재배치에서는" names "모아 재배치", "회의적인" does not name "회의"."""

import re

from gigamind.datasets.particles import ends_in_consonant

# After a consonant, after a vowel; what stands in both lists takes either.  고, 며 and 하고 are left out: they nearly
# always end a verb ("가지고", "배포하고").
_AFTER_CONSONANT = (
    "은 이 을 과 으로 이나 이라 이라고 이라는 이라도 이란 이든 이며 이고 이다 이에요 이었다 이야 아"
)
_AFTER_VOWEL = "는 가 를 와 로 나 라 라고 라는 라도 란 든 다 예요 였다 야"
_AFTER_ANY = (
    "의 에 에서 에게 에게서 께 께서 한테 한테서 도 만 까지 부터 마다 보다 처럼 같이 만큼 밖에 조차 마저 대로 뿐"
    " 쯤 씩 치고 인 인데 입니다 입니까 인가 인지 이랑 랑 끼리 들"
)
_RIEUL_ENDS_OPEN = {"로", "으로"}  # 서울로: after ㄹ, 로 stands as after a vowel
# A second particle: 에서는, 까지도, 만의, 으로부터, 들이, 에게만은.
_SECOND = (
    "은 는 이 가 을 를 의 도 만 에 에서 에게 로 으로 와 과 부터 까지 라도 이라도 나 이나 처럼 보다"
    " 인 입니다 이다 서"
)

_FIRST_SYLLABLE, _LAST_SYLLABLE, _FINALS, _RIEUL = 0xAC00, 0xD7A3, 28, 8


def _alternatives(*lists: str) -> str:
    words = {word for one in lists for word in one.split()}
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_JOSA = re.compile(
    rf"(?P<first>{_alternatives(_AFTER_CONSONANT, _AFTER_VOWEL, _AFTER_ANY)})"
    rf"(?:(?:{_alternatives(_SECOND)}){{0,2}})(?!\w)"
)
_NEEDS_CONSONANT = frozenset(_AFTER_CONSONANT.split()) - frozenset(_AFTER_ANY.split())
_NEEDS_VOWEL = frozenset(_AFTER_VOWEL.split()) - frozenset(_AFTER_ANY.split())


def is_particle(word: str, text: str, end: int) -> bool:
    """Whether what follows `word` in `text`, from `end` to the end of the run of letters, is one to three particles.

    Behind Hangul the first particle must agree with the last sound: "규정가" is no "규정" with a particle.
    """
    found = _JOSA.match(text, end)
    return found is not None and _agrees(word, found["first"])


def _agrees(word: str, particle: str) -> bool:
    last = ord(word[-1])
    if not _FIRST_SYLLABLE <= last <= _LAST_SYLLABLE:
        return True  # how a Latin word sounds is only guessed
    if particle in _RIEUL_ENDS_OPEN and (last - _FIRST_SYLLABLE) % _FINALS == _RIEUL:
        return particle == "로"
    if particle in _NEEDS_CONSONANT:
        return ends_in_consonant(word) is True
    if particle in _NEEDS_VOWEL:
        return ends_in_consonant(word) is False
    return True
