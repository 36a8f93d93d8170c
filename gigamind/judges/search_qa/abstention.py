"""Recognises statements that the notes do not say something, or that the author does not know it."""

import re
from collections.abc import Set as AbstractSet

from gigamind.evidence.align import align
from gigamind.evidence.critical import NEGATION
from gigamind.evidence.result import Aligned
from gigamind.judges.search_qa.reading import Reading
from gigamind.judges.search_qa.words import GRAMMAR, HANGUL, OF_ITSELF, TELLING, stem, stems

_DENIAL = re.compile(
    rf"{NEGATION.pattern}|\b(?:un(?:clear|known|certain|able|sure|specified)|impossible|difficult|hard|insufficient|lacks?|nothing|silent)\b"
    r"|모[르릅른]|불분명|불명확|어렵|부족|미상"
)
_ONLY = re.compile(r"\bonly\b|(?<!지)만(?!\w)|뿐")
_SAYS_NO = re.compile(r"\S*다(?:고|는|며)")  # "없다고 나와 있습니다": the notes state a negative
_NEAR = 5  # words from a negation to the negated word: after it in English, before it in Korean
_REACH = 120  # characters around a negation that are checked


def is_abstention(words: str, sentence: str) -> bool:
    """Return whether words of a sentence state that the notes do not say something or the author does not know it."""
    place = align(words, sentence)
    return isinstance(place, Aligned) and place.method != "fuzzy" and denies_knowledge(words)


def lacks_something(text: str, asked: AbstractSet[str]) -> bool:
    """Return whether words deny something that is asked for, or say that the notes have only something else."""
    folded = text.casefold().replace("’", "'")
    if _ONLY.search(folded) and not TELLING.isdisjoint(stems(folded)):
        return True
    denials = (match.end() for match in _DENIAL.finditer(folded))
    reading = Reading(text)
    denied = {stem(reading.keys[at]) for at in reading.denials}
    is_denied = any(not _SAYS_NO.match(folded, end) for end in denials)
    return (
        is_denied
        and bool(denied)
        and denied <= asked | TELLING
        and not (OF_ITSELF - GRAMMAR).isdisjoint(stems(folded))
    )


def denies_knowledge(text: str) -> bool:
    """Return whether words state that the notes do not say something or the author does not know it."""
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
    """Return a sentence without the words of its abstention; unchanged if it does not abstain."""
    return sentence.replace(words, " ", 1) if words and is_abstention(words, sentence) else sentence
