"""How many telling words two texts share: the cosine of their tf-idf vectors over a vault."""

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from math import log, sqrt

from gigamind.text import tokens
from gigamind.vault.notes import Note

Vector = Mapping[str, float]
"""Token -> its part of a unit vector."""


class SharedWords:
    """Compares texts with the notes of one vault (Salton & Buckley 1988: 1 + ln tf, ln N/df, cosine)."""

    def __init__(self, notes: Iterable[Note]) -> None:
        counts = {note.path: Counter(tokens(_text(note))) for note in notes}
        frequencies: Counter[str] = Counter()
        for of_note in counts.values():
            frequencies.update(of_note.keys())
        self._idf = {token: log((len(counts) + 1) / n) for token, n in frequencies.items()}
        self._weights: dict[str, float] = {}  # a vault repeats its phrases
        self._rarest = log(len(counts) + 1)
        self._notes = {path: self._unit(of_note) for path, of_note in counts.items()}

    def vector(self, text: str) -> Vector:
        """The unit vector of a text; words that no note has are left out, so it may be empty."""
        return self._unit(Counter(tokens(text)))

    def cosine(self, text: Vector, note: str) -> float:
        """Of a text's vector and the note at this path, in [0, 1]."""
        other = self._notes[note]
        small, large = (text, other) if len(text) < len(other) else (other, text)
        return sum([part * large[token] for token, part in small.items() if token in large])

    def cosine_of_notes(self, left: str, right: str) -> float:
        """Of the notes at two paths, in [0, 1]."""
        return self.cosine(self._notes[left], right)

    def weight(self, text: str) -> float:
        """How much a phrase tells: the idf of its words, the rarest first, each next one counting half."""
        known = self._weights.get(text)
        if known is None:
            rare = sorted([self._idf.get(token, 0.0) for token in _telling(text)], reverse=True)
            known = self._weights[text] = sum([idf / 2**at for at, idf in enumerate(rare)])
        return known

    def overlap(self, left: str, right: str) -> float:
        """Share of the telling words of two phrases that stand in both, in [0, 1]."""
        one, other = _telling(left), _telling(right)
        both = one & other
        every = self._rarity(one | other) if both else 0.0
        return self._rarity(both) / every if every else 0.0

    def _rarity(self, some: AbstractSet[str]) -> float:
        return sum([self._idf.get(token, self._rarest) for token in sorted(some)])

    def _unit(self, counts: Counter[str]) -> Vector:
        parts = {t: (1 + log(n)) * self._idf[t] for t, n in counts.items() if t in self._idf}
        length = sqrt(sum(part * part for part in parts.values()))
        return {token: part / length for token, part in parts.items()} if length else {}


@lru_cache(maxsize=65_536)  # a vault repeats its phrases, and phrases their words
def _telling(text: str) -> frozenset[str]:
    """The tokens of a short text."""
    first, space, rest = text.partition(" ")
    return _telling(first) | _telling(rest) if space else frozenset(tokens(text))


def _text(note: Note) -> str:
    """A note as it is counted: its title stands for more than one word of its text."""
    return f"{note.title}\n{note.title}\n{note.text[note.document.body_start :]}"
