"""Balanced fusion: cosine plus word matches in cosine points, and a score for whether the best note answers the query.

`weighted` fusion divides BM25 by the query's best score.  One shared word then counts as much as a whole question, and
no score shows whether the vault answers.  Balanced fusion keeps BM25 absolute.  BM25 counts less when the vault knows
little of the query, and a note in another language than the best matches is not penalised for missing words.  All
constants were chosen on XQuAD in English and Spanish and on the example queries with even ids;
`benchmarks/verdict_fusion.py` measures the rest.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.fuse import (
    ChunkLayout,
    Floats,
    Fusion,
    Ints,
    Scored,
    nearest_notes,
    relative,
)
from gigamind.retrieval.index import VectorIndex
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.text import tokens
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note

_K1, _B = 0.4, 0.3  # near IDF coverage: repetitions count little, and long chunks lose little
_WEIGHT = 0.02  # points per unit of BM25 ...
_WHOLE = 0.7  # ... but a full match (BM25 near the query's IDF mass) counts at least this, however short the query
_TRUSTED = 0.5  # below this share of the IDF mass in the vault, words count linearly less
_HEADING = 0.06  # points for a query that contains a whole heading; titles: see `Fusion`
_PARTLY = 4  # exponent of the share of a name that the query contains
_MATCHES = 10  # best matches whose majority gives the language of the matched words ...
_LIFTED_TO = 4  # ... and the rank whose BM25 is the minimum for notes in another language
_WORDS = 0.8  # weight of the words in an answer_score; the cosine has weight 1 ...
_ANSWERED = 2.0  # ... and the divisor of both, so that the default min_score separates answerable queries best


@dataclass(frozen=True, slots=True)
class _CosineScale:
    """The range of cosines of an embedding model."""

    low: float  # cosine of unrelated texts; counts 0
    high: float  # cosine that counts 1; may exceed the highest cosine of the model

    @property
    def slope(self) -> float:
        """Points per unit of cosine."""
        return 1 / (self.high - self.low)


# By embedder family: the full name before "@".  Scales of other models map their median cosines of XQuAD paragraphs,
# related (0.38 for the default model) and unrelated (0.05), to those of the default model.
_COSINE_SCALES: Mapping[str, _CosineScale] = {
    "use-multilingual": _CosineScale(0.0, 1.0),
    "e5-small": _CosineScale(0.72, 1.13),  # medians 0.875 and 0.738 of 20 English questions
}
# For any other model: if unrelated texts have cosines far above 0, cosines differ little and words dominate.
_UNKNOWN_SCALE = _CosineScale(0.0, 1.0)


def cosine_scale(embedder: str) -> _CosineScale:
    """Return the scale of an embedder by its full name."""
    return _COSINE_SCALES.get(embedder.partition("@")[0], _UNKNOWN_SCALE)


@dataclass(frozen=True, slots=True)
class _WordPoints:
    """Word matches of one query."""

    chunks: Floats  # absolute BM25 of each chunk, >= 0
    notes: Floats  # BM25 of each note's best chunk, raised if in another language than the best
    titles: Floats  # share of each note's best title or alias in the query, in [0, 1]
    headings: Floats  # share of each note's best heading in the query, in [0, 1]
    mass: float  # sum of the IDF of the query's distinct terms
    trust: float  # in [0, 1]; 1 if the vault knows at least half of the mass

    @property
    def rate(self) -> float:
        """Points per unit of BM25."""
        return self.trust * max(_WEIGHT, _WHOLE / self.mass) if self.mass else 0.0

    def order_points(self, title: float) -> Floats:
        """Return the word points of each note for ranking; a whole title in the query adds `title` points."""
        return self.rate * self.notes + (title * self.titles + _HEADING * self.headings)

    def answer_scores(self, semantic: Floats) -> Floats:
        """Return a score in [0, 1] for whether each note answers, from its cosine on the scale of the model.

        The share of the words passes to the cosine if the vault does not know the words of the query.
        """
        coverage = np.minimum(1.0, self.notes / self.mass) if self.mass else self.notes
        return np.minimum(1.0, (semantic * (2 - self.trust) + _WORDS * coverage) / _ANSWERED)


@dataclass(frozen=True, slots=True)
class _Names:
    places: dict[str, Ints]
    note: Ints
    mass: Floats
    is_title: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Balance:
    """Balanced fusion over one vault; derived data are computed at first use."""

    keyword: KeywordIndex
    layout: ChunkLayout
    notes: Sequence[Note]
    scale: _CosineScale

    def prepare(self) -> None:
        """Compute the derived data, so that the first query is not slower than others."""
        _derived = self._saturation, self._names, self._languages

    def read(self, query: str) -> _WordPoints:
        """Return the word matches of a query."""
        total, named = np.zeros(self.keyword.size), np.zeros(len(self._names.note))
        mass = seen = 0.0
        for term in dict.fromkeys(self.keyword.terms(query)):
            row = self.keyword.rows.get(term)
            own = slice(*self.keyword.starts[row : row + 2]) if row is not None else slice(0)
            chunks = self.keyword.chunks[own]
            idf = self._idf(len(chunks))
            mass += idf
            if len(chunks):
                seen += idf
                total[chunks] += idf * self._saturation[own]
            if (places := self._names.places.get(term)) is not None:
                named[places] += idf
        notes = self._lift(self.layout.best(total))
        trust = min(1.0, seen / mass / _TRUSTED) if mass else 0.0
        return _WordPoints(total, notes, *self._named(named), mass, trust)

    def score(
        self, words: _WordPoints, fusion: Fusion, index: VectorIndex, query: Vectors
    ) -> Scored:
        """Return the scores of all notes; raise IndexingError if the vector index failed."""
        points = replace(fusion, alpha=self.scale.slope, low=self.scale.low, ceiling=math.inf)
        lexical = words.order_points(fusion.title)
        semantic, known = nearest_notes(lexical, self.layout, points, index, query)
        order = np.where(known, points.join(semantic, lexical), 0.0)
        base = words.answer_scores(points.semantic(semantic))
        return Scored(
            semantic, relative(words.notes), np.where(order > 0, base, 0.0), order * fusion.boosts
        )

    @cached_property
    def _saturation(self) -> Floats:
        lengths = self.keyword.lengths.astype(np.float64)
        norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        counts = self.keyword.occurrences
        return counts * (_K1 + 1) / (counts + norm[self.keyword.chunks])

    @cached_property
    def _languages(self) -> Ints:
        numbers: dict[str, int] = {}
        languages = map(note_language, self.notes)
        return np.array([numbers.setdefault(language, len(numbers)) for language in languages])

    @cached_property
    def _names(self) -> _Names:
        postings: defaultdict[str, list[int]] = defaultdict(list)
        note: list[int] = []
        mass: list[float] = []
        is_title: list[bool] = []
        for place, own in enumerate(self.notes):
            headings = (heading.text for heading in own.document.headings)
            for titles, called in ((True, (own.title, *own.aliases)), (False, headings)):
                for parts in (set(tokens(name)) for name in set(called)):
                    for token in parts:
                        postings[token].append(len(note))
                    note.append(place)
                    counts = [len(self.keyword.postings(part)) for part in sorted(parts)]
                    mass.append(sum(map(self._idf, counts)) or 1.0)
                    is_title.append(titles)
        places = {token: np.array(own) for token, own in postings.items()}
        return _Names(places, np.array(note, np.int64), np.array(mass), np.array(is_title, bool))

    def _idf(self, count: int) -> float:
        return math.log(1 + (self.keyword.size - count + 0.5) / (count + 0.5))

    def _named(self, matched_mass: Floats) -> tuple[Floats, Floats]:
        hit = np.flatnonzero(matched_mass)
        notes, is_title = self._names.note[hit], self._names.is_title[hit]
        shares = np.minimum(1.0, matched_mass[hit] / self._names.mass[hit]) ** _PARTLY
        best: list[Floats] = []
        for own in (is_title, ~is_title):
            best.append(np.zeros(len(self.notes)))
            np.maximum.at(best[-1], notes[own], shares[own])
        return best[0], best[1]

    def _lift(self, notes: Floats) -> Floats:
        """Raise the BM25 of notes in another language than most of the best matches to the fourth best score.

        In a vault of one language nothing changes.  There, a rule by similarity of common words alone cost short
        queries up to 0.02 MRR.
        """
        matches = _best(notes, _MATCHES)
        if not len(matches) or not self._languages.any():
            return notes
        foreign = self._languages != np.bincount(self._languages[matches]).argmax()
        floor = notes[matches[_LIFTED_TO - 1]] if len(matches) >= _LIFTED_TO else 0.0
        return np.where(foreign, np.maximum(notes, floor), notes)


def _best(scores: Floats, count: int) -> Ints:
    top = (
        np.argpartition(scores, -count)[-count:] if len(scores) > count else np.arange(len(scores))
    )
    ordered = top[np.argsort(-scores[top], kind="stable")]
    return ordered[scores[ordered] > 0]
