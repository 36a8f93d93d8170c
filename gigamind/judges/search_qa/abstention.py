"""What says that the notes do not tell, or that the answerer does not know."""

import re

from gigamind.evidence.align import align
from gigamind.evidence.critical import NEGATION
from gigamind.evidence.result import Aligned
from gigamind.judges.search_qa.words import HANGUL, TELLING, stems

_DENIAL = re.compile(
    rf"{NEGATION.pattern}|\b(?:un(?:clear|known|certain|able|sure|specified)|impossible|difficult|hard|insufficient|lacks?|nothing|silent)\b"
    r"|모[르릅른]|불분명|불명확|어렵|부족|미상"
)
_SAYS_NO = re.compile(
    r"\S*다(?:고|는|며)"
)  # "없다고 나와 있습니다": the notes do tell, and they tell a no
_NEAR = 5  # words from a denial to what it denies: behind it in English, before it in Korean
_REACH = 120  # characters around a denial that are looked at


def is_abstention(words: str, sentence: str) -> bool:
    """Whether words that stand in a sentence deny that notes tell, or that the answerer knows."""
    place = align(words, sentence)
    return isinstance(place, Aligned) and place.method != "fuzzy" and denies_knowledge(words)


def denies_knowledge(text: str) -> bool:
    """Whether words deny that notes tell, or that the answerer knows."""
    folded = text.casefold().replace("’", "'")
    for denial in _DENIAL.finditer(folded):
        start = folded.rfind(" ", 0, denial.start()) + 1
        near = folded[start : start + _REACH].split()[: _NEAR + 1]
        if HANGUL.search(denial[0]):
            near = folded[max(0, denial.end() - _REACH) : denial.end()].split()[-_NEAR - 1 :]
        if not _SAYS_NO.match(folded, denial.end()) and not TELLING.isdisjoint(
            stems(" ".join(near))
        ):
            return True
    return False


def without_abstention(sentence: str, words: str) -> str:
    """A sentence without its words that say that the notes do not tell; as it is where they say no such thing."""
    return sentence.replace(words, " ", 1) if words and is_abstention(words, sentence) else sentence
