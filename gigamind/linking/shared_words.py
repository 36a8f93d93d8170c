"""Measure shared distinctive words of two texts: the cosine of their tf-idf vectors over a vault."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gigamind.text import tokens
from gigamind.vault.notes import Note

_DIGITS = 6  # of a cosine; further ones depend on the order of summation


class Vector(NamedTuple):
    """A sparse unit vector: positions, int32, and values, float64."""

    places: npt.NDArray[np.int32]
    parts: npt.NDArray[np.float64]


class SharedWords:
    """Compares texts with the notes of one vault (Salton & Buckley 1988: 1 + ln tf, ln N/df, cosine)."""

    def __init__(self, notes: Iterable[Note]) -> None:
        counts = {note.path: Counter(tokens(_text(note))) for note in notes}
        frequencies: Counter[str] = Counter()
        for of_note in counts.values():
            frequencies.update(of_note.keys())
        self._idf = {token: log((len(counts) + 1) / n) for token, n in frequencies.items()}
        self._place = {token: place for place, token in enumerate(self._idf)}
        self._idfs = np.fromiter(self._idf.values(), np.float64, len(self._idf))
        self._weights: dict[str, float] = {}  # a vault repeats its phrases
        self._rarest = log(len(counts) + 1)
        self._notes = {path: self._unit(of_note) for path, of_note in counts.items()}
        # One vector in dense form, which is compared with many.
        self._laid: Vector | None = None
        self._row = np.zeros(len(self._idf))

    def vector(self, text: str) -> Vector:
        """Return the unit vector of a text; unknown words are left out, so it may be empty."""
        return self._unit(Counter(tokens(text)))

    def cosine(self, text: Vector, note: str) -> float:
        """Return the cosine of a text's vector and the note at this path, in [0, 1]."""
        if self._laid is not text:
            if self._laid is not None:
                self._row[self._laid.places] = 0.0
            self._row[text.places] = text.parts
            self._laid = text
        places, parts = self._notes[note]
        return round(float((self._row[places] * parts).sum()), _DIGITS)

    def cosine_of_notes(self, left: str, right: str) -> float:
        """Return the cosine of the notes at two paths, in [0, 1]."""
        return self.cosine(self._notes[left], right)

    def weight(self, text: str) -> float:
        """Return how distinctive a phrase is: the idf of its words, the rarest first, each next one half."""
        known = self._weights.get(text)
        if known is None:
            rare = sorted(
                [self._idf.get(token, 0.0) for token in _distinct_tokens(text)], reverse=True
            )
            known = self._weights[text] = sum([idf / 2**at for at, idf in enumerate(rare)])
        return known

    def overlap(self, left: str, right: str) -> float:
        """Return the share of distinctive words that two phrases have in common, in [0, 1]."""
        words, other = _distinct_tokens(left), _distinct_tokens(right)
        both = words & other
        shared, every = (
            sum([self._idf.get(token, self._rarest) for token in sorted(some)])
            for some in (both, words | other)
        )
        return shared / every if both and every else 0.0

    def _unit(self, counts: Counter[str]) -> Vector:
        known = [(self._place[token], n) for token, n in counts.items() if token in self._place]
        places, frequencies = np.array(known, np.int32).reshape(-1, 2).T.copy()
        parts = (1 + np.log(frequencies)) * self._idfs[places]
        length = np.sqrt((parts * parts).sum())
        return Vector(places, parts / length if length else parts)


@lru_cache(maxsize=65_536)  # a vault repeats its phrases, and phrases their words
def _distinct_tokens(text: str) -> frozenset[str]:
    first, space, rest = text.partition(" ")
    return _distinct_tokens(first) | _distinct_tokens(rest) if space else frozenset(tokens(text))


def _text(note: Note) -> str:
    """Return the text of a note with its title counted twice."""
    return f"{note.title}\n{note.title}\n{note.text[note.document.body_start :]}"
