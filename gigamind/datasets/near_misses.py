"""Turn questions into near misses by changing a year, a version or a name to one that occurs nowhere in the vault."""

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gigamind.datasets.question_forms import Draft
from gigamind.i18n import ends_in_consonant
from gigamind.vault.notes import Note

_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.])")
_VERSION = re.compile(r"\bv\d+(?:\.\d+)*\b|(?<=[A-Za-z] )\d+(?:\.\d+)+\b")
_FURTHEST = 40
# A name is capitalised inside sentences and never occurs in lower case.
_NAME = re.compile(r"(?<=[a-z,가-힣] )[A-Z][a-z]{2,}\b")
_LATIN = re.compile(r"\b[A-Z][a-z]{2,}\b")
_LEAST_NAMED = 2
_NO_NAMES = frozenset((*calendar.month_name, *calendar.day_name))
_STRANGERS = ("Ravenholt", "Quillmere", "Tervana", "Ostrander", "Belvoire", "Kestrelby", "Lindaro")
_CITY_NAMES = (
    "서울|부산|대구|인천|광주|대전|울산|수원|전주|청주|포항|제주|강릉|목포|여수|춘천|진주|천안|원주|군산|경주|안동|순천|통영"
    "|속초|김천|나주"
)
_CITIES: Sequence[str] = _CITY_NAMES.split("|")
# Only particles that fit every city with the same kind of final sound may follow.
_CITY = re.compile(
    rf"(?<![가-힣])(?:{_CITY_NAMES})(?=$|[^가-힣]|(?:시|점|은|는|이|가|을|를|의|에|에서|로|으로)(?![가-힣]))"
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a vault."""

    text: str  # all texts and paths, in lower case
    names: frozenset[str]  # capitalised words that are names

    @classmethod
    def of(cls, notes: Iterable[Note]) -> "Vocabulary":
        """Return the vocabulary of these notes."""
        texts = [f"{note.path}\n{note.text}" for note in notes]
        named = Counter(name for text in texts for name in _NAME.findall(_prose(text)))
        small = {word for text in texts for word in re.findall(r"\b[a-z]{3,}\b", text)}
        names = {
            n for n, count in named.items() if count >= _LEAST_NAMED and n.lower() not in small
        }
        return cls("\n".join(texts).lower(), frozenset(names - _NO_NAMES))

    def knows(self, word: str) -> bool:
        """Return whether the word occurs anywhere in the vault."""
        return word.lower() in self.text


def near_misses(draft: Draft, vault: Vocabulary) -> Iterator[Draft]:
    """Yield the question with one word changed, once for each kind of word in it."""
    for place in ("subject", "title"):
        words: str = getattr(draft, place)
        for change, old, new in _changes(words, vault):
            changed = {place: words.replace(old, new)}
            yield replace(draft, form="near-miss", change=change, evidence=None, **changed)


def _changes(words: str, vault: Vocabulary) -> Iterator[tuple[str, str, str]]:
    if year := _YEAR.search(words):
        others = (str(int(year[0]) + d * s) for d in range(1, _FURTHEST) for s in (1, -1))
        yield from _first_unknown("year", year[0], others, vault)
    if version := _VERSION.search(words):
        head, last = re.fullmatch(r"(.*?)(?<!\d)(\d+)", version[0]).groups()  # pyright: ignore[reportOptionalMemberAccess]  it ends so
        others = (f"{head}{int(last) + d}" for d in range(1, _FURTHEST))
        yield from _first_unknown("version", version[0], others, vault)
    for name in _LATIN.findall(words):
        if name in vault.names:
            start = sum(map(ord, name)) % len(_STRANGERS)
            strangers = (*_STRANGERS[start:], *_STRANGERS[:start])
            yield from _first_unknown("name", name, strangers, vault)
            break
    if city := _CITY.search(words):
        start = _CITIES.index(city[0])
        alike = (
            other
            for other in (*_CITIES[start:], *_CITIES[:start])
            if ends_in_consonant(other) == ends_in_consonant(city[0])
        )
        yield from _first_unknown("name", city[0], alike, vault)


def _first_unknown(
    change: str, old: str, others: Iterable[str], vault: Vocabulary
) -> Iterator[tuple[str, str, str]]:
    new = next((other for other in others if not vault.knows(other)), None)
    if new is not None:
        yield change, old, new


def _prose(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
