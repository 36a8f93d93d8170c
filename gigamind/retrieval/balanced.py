"""Balanced fusion: cosine plus what the query's words add, in points of cosine; and how far its best may be believed.

`weighted` divides BM25 by the query's best: one shared word then counts as much as a whole question, and no score says
whether the vault answers.  Here BM25 stays absolute.  It counts less the less of the query the vault knows, and a note
in another language than the best matches is not blamed for holding none of the words.  All constants were chosen on
XQuAD in English and Spanish and on the example queries with even ids; `benchmarks/verdict_fusion.py` measures the rest.
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
from gigamind.retrieval.settings import DEFAULT_TITLE_WEIGHT
from gigamind.text import tokens
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note

_K1, _B = 0.4, 0.3  # near IDF coverage: a word counts nearly once, and a long chunk pays little
_WEIGHT = 0.02  # points for one unit of BM25 ...
_WHOLE = 0.7  # ... but a query found whole (BM25 near its IDF mass) counts at least this, however short it is
_TRUSTED = 0.5  # where the vault knows less of the query's IDF mass, words fade out linearly
_HEADING = 0.06  # points for a query that holds a whole heading; of a title or alias see `Balance`
_PARTLY = 4  # power of the share of a name that the query holds
_MATCHES = 10  # best matches, most of which say in which language the words were found ...
_LIFTED_TO = 4  # ... and the rank among them whose BM25 a note in another language is given
_WORDS = 0.8  # share of the words in an answer_score, beside 1 for the cosine ...
_ANSWERED = 2.0  # ... and what both are divided by, so that the seed's min_score parts best what is answerable

MIN_ANSWER_SCORE = 0.3
"""The answer_score below which a query is best called unanswerable: equal error on both kinds of query, over XQuAD
English and Spanish, straight, across and mixed, in vaults of 60 to 5 000 notes."""


@dataclass(frozen=True, slots=True)
class CosineScale:
    """Which cosines an embedding model gives.

    Attributes:
        low: of texts that have nothing in common; it counts 0.
        high: it counts 1; it may lie beyond what the model gives.
    """

    low: float
    high: float

    @property
    def slope(self) -> float:
        """Points for one unit of cosine."""
        return 1 / (self.high - self.low)


# By embedder family: the full name before "@".  That of another model than the default one puts its median cosines, of
# paragraphs of XQuAD that answer a question and of strangers, where the default one has its own (0.38 and 0.05).
COSINE_SCALES: Mapping[str, CosineScale] = {
    "use-multilingual": CosineScale(0.0, 1.0),
    "e5-small": CosineScale(0.72, 1.13),  # medians 0.875 and 0.738 of 20 English questions
}
# Of any other model: where strangers have cosines far above 0, cosines differ little, and the words lead.
UNKNOWN_SCALE = CosineScale(0.0, 1.0)


def cosine_scale(embedder: str) -> CosineScale:
    """That of an embedder by its full name."""
    return COSINE_SCALES.get(embedder.partition("@")[0], UNKNOWN_SCALE)


@dataclass(frozen=True, slots=True)
class WordPoints:
    """What the words of one query say.

    Attributes:
        chunks: absolute BM25 of each chunk, >= 0.
        notes: that of each note's best chunk, lifted for notes in another language than the best matches.
        titles: how far the query holds each note's best title or alias, in [0, 1].
        headings: the same of its best heading.
        mass: IDF of all different terms of the query.
        trust: in [0, 1]: 1 where the vault knows half of the mass or more.
    """

    chunks: Floats
    notes: Floats
    titles: Floats
    headings: Floats
    mass: float
    trust: float

    @property
    def rate(self) -> float:
        """Points for one unit of BM25."""
        return self.trust * max(_WEIGHT, _WHOLE / self.mass) if self.mass else 0.0

    def order_points(self, title: float | Floats) -> Floats:
        """What the words add to each note's place, where a whole title in the query is worth `title` points."""
        return self.rate * self.notes + (title * self.titles + _HEADING * self.headings)

    def answer_scores(self, semantic: Floats) -> Floats:
        """How far each note may be believed to answer, in [0, 1], from its cosine on the scale of its model.

        The words' share passes to the cosine where the vault does not know the query's words.
        """
        held = np.minimum(1.0, self.notes / self.mass) if self.mass else self.notes
        return np.minimum(1.0, (semantic * (2 - self.trust) + _WORDS * held) / _ANSWERED)


@dataclass(frozen=True, slots=True)
class _Names:
    """All names of a vault: `held[token]` are places in `note`, `mass` (IDF of its tokens) and `is_title`."""

    held: dict[str, Ints]
    note: Ints
    mass: Floats
    is_title: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Balance:
    """Words of one vault as balanced fusion weighs them; what it works out once, it works out when first asked.

    Attributes:
        title: points for a query that holds a whole title or alias.
    """

    keyword: KeywordIndex
    layout: ChunkLayout
    notes: Sequence[Note]
    scale: CosineScale
    title: float = DEFAULT_TITLE_WEIGHT

    def prepare(self) -> None:
        """Work out now what the first query would."""
        _ = self._saturation, self._names, self._languages

    def read(self, query: str) -> WordPoints:
        """What the words of a query say."""
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
            if (places := self._names.held.get(term)) is not None:
                named[places] += idf
        notes = self._lift(self.layout.best(total))
        trust = min(1.0, seen / mass / _TRUSTED) if mass else 0.0
        return WordPoints(total, notes, *self._named(named), mass, trust)

    def score(
        self, words: WordPoints, fusion: Fusion[float], index: VectorIndex, query: Vectors
    ) -> Scored:
        """Scores of all notes.

        Raises:
            IndexingError: the vector index failed.
        """
        points = replace(fusion, alpha=self.scale.slope, low=self.scale.low, ceiling=math.inf)
        lexical = words.order_points(self.title)
        semantic, known = nearest_notes(lexical, self.layout, points, index, query)
        order = np.where(known, points.join(semantic, lexical), 0.0)
        base = words.answer_scores(points.semantic(semantic))
        return Scored(
            semantic, relative(words.notes), np.where(order > 0, base, 0.0), order * fusion.boosts
        )

    @cached_property
    def _saturation(self) -> Floats:
        """BM25 of one term in one chunk over the term's IDF, for each posting."""
        lengths = self.keyword.lengths.astype(np.float64)
        norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        counts = self.keyword.occurrences
        return counts * (_K1 + 1) / (counts + norm[self.keyword.chunks])

    @cached_property
    def _languages(self) -> Ints:
        """The language of each note, as a number."""
        numbers: dict[str, int] = {}
        languages = map(note_language, self.notes)
        return np.array([numbers.setdefault(language, len(numbers)) for language in languages])

    @cached_property
    def _names(self) -> _Names:
        held: defaultdict[str, list[int]] = defaultdict(list)
        note: list[int] = []
        mass: list[float] = []
        is_title: list[bool] = []
        for place, own in enumerate(self.notes):
            headings = (heading.text for heading in own.document.headings)
            for titles, called in ((True, (own.title, *own.aliases)), (False, headings)):
                for parts in (set(tokens(name)) for name in set(called)):
                    for token in parts:
                        held[token].append(len(note))
                    note.append(place)
                    counts = [len(self.keyword.postings(part)) for part in sorted(parts)]
                    mass.append(sum(map(self._idf, counts)) or 1.0)
                    is_title.append(titles)
        places = {token: np.array(own) for token, own in held.items()}
        return _Names(places, np.array(note, np.int64), np.array(mass), np.array(is_title, bool))

    def _idf(self, count: int) -> float:
        """Of a term that so many chunks hold."""
        return math.log(1 + (self.keyword.size - count + 0.5) / (count + 0.5))

    def _named(self, held: Floats) -> tuple[Floats, Floats]:
        """How far a query holds each note's best title and best heading, from the IDF of the names it holds."""
        hit = np.flatnonzero(held)
        notes, is_title = self._names.note[hit], self._names.is_title[hit]
        shares = np.minimum(1.0, held[hit] / self._names.mass[hit]) ** _PARTLY
        best: list[Floats] = []
        for own in (is_title, ~is_title):
            best.append(np.zeros(len(self.notes)))
            np.maximum.at(best[-1], notes[own], shares[own])
        return best[0], best[1]

    def _lift(self, notes: Floats) -> Floats:
        """BM25 of notes; one in another language than most of the best matches gets that of the fourth best at least.

        Where the vault has one language, nothing changes: measured, a lift by likeness of common words alone cost short
        queries up to 0.02 of MRR there.
        """
        matches = _best(notes, _MATCHES)
        if not len(matches) or not self._languages.any():
            return notes
        foreign = self._languages != np.bincount(self._languages[matches]).argmax()
        floor = notes[matches[_LIFTED_TO - 1]] if len(matches) >= _LIFTED_TO else 0.0
        return np.where(foreign, np.maximum(notes, floor), notes)


def _best(scores: Floats, count: int) -> Ints:
    """Places of the highest scores above 0, best first."""
    top = (
        np.argpartition(scores, -count)[-count:] if len(scores) > count else np.arange(len(scores))
    )
    ordered = top[np.argsort(-scores[top], kind="stable")]
    return ordered[scores[ordered] > 0]
