"""Chunks, what they show for a query, and the interface between retrieval and vector engines.

A chunk shows its best matching sentence and the query's words in it. Words are compared as in keyword search, so Korean
particles do not hide a match, and rare words count more. A chunk is split into sentences once, at first use: splitting
it for every query took 60 % of the CPU time of a keyword run.

The interface has two adapters: `edge.py` (Qdrant's engine in this process, the default) and `server.py` (a Qdrant
server or cluster).  Both search exactly, because an evaluation must not measure errors of an approximate index.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gigamind.retrieval.embed import Vectors
from gigamind.spans import Passage, Span
from gigamind.text import places_of, sentences, tokens, unwrapped


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of a text."""

    span: Span
    tokens: tuple[str, ...]  # distinct, sorted; equal ones are one object, which saves memory


def cut(text: str) -> tuple[_Sentence, ...]:
    """Return the sentences of a text in order, with their tokens."""
    return tuple(
        _Sentence(span, tuple(map(sys.intern, sorted(set(tokens(span.slice(text)))))))
        for span in sentences(unwrapped(text))
    )


def highlights(passage: Passage, words: AbstractSet[str]) -> tuple[Span, ...]:
    """Return where tokens of the query occur in a passage, ascending, as spans of its note; see `places_of`."""
    start = passage.span.start
    return tuple(
        Span(start + place.start, start + place.end) for place in places_of(words, passage.text)
    )


Ids = npt.NDArray[np.int64]
Cosines = npt.NDArray[np.float64]

# A float32 cosine has noise of about 1e-7 from the order of its sum, which differs between engines.  With six digits,
# equal chunks tie, and two engines differ in the last digit of at most one cosine in a hundred.
_DIGITS = 6
LAST_DIGIT = 10**-_DIGITS


@dataclass(frozen=True)
class Chunk:
    """One indexed part of a note."""

    passage: Passage  # the text in the file; empty for a note without a body
    context: str  # the note's title and the headings above the passage, separated by " › "

    @property
    def indexed_text(self) -> str:
        """The text for keyword and vector search: the context, then the passage."""
        return f"{self.context}\n{self.passage.text}"

    @cached_property
    def sentences(self) -> tuple[_Sentence, ...]:
        """Sentences of the passage, split once; without the context."""
        return cut(self.passage.text)

    @cached_property
    def indexed_sentences(self) -> tuple[_Sentence, ...]:
        """Sentences of the context, then of the passage; spans refer to the text that a sentence is from."""
        return (*cut(self.context), *self.sentences)

    def evidence(self, weights: Mapping[str, float]) -> Passage:
        """Return the sentence with the highest weight of query words (the first if equal), or the whole passage.

        `weights` are inverse document frequencies of the query's tokens, >= 0.
        """
        passage, best, best_weight = self.passage, None, 0.0
        for sentence in self.sentences:
            if weights.keys().isdisjoint(sentence.tokens):  # true for most, and fast
                continue
            total = sum(weights[token] for token in sentence.tokens if token in weights)
            if total > best_weight:
                best, best_weight = sentence.span, total
        if best is None:
            return passage
        start = passage.span.start + best.start
        return Passage(passage.note, best.slice(passage.text), Span(start, start + len(best)))

    @property
    def payload(self) -> dict[str, str | int]:
        """Return the data stored beside a vector, which make the index useful to other readers."""
        passage = self.passage
        return {"note": passage.note, "start": passage.span.start, "end": passage.span.end}


class VectorIndex(Protocol):
    """Chunks by vector; a chunk's id is its index in the list that the index was built from."""

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        """Return the `limit` nearest chunks, best first, with cosines in [-1, 1]; may raise IndexingError."""
        ...

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        """Return at least the `limit` nearest chunks with cosines, in any order, and a bound for all others."""
        ...

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        """Return the cosine in [-1, 1] of each of these chunks, in their order."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class IndexContent:
    """The content of an index."""

    name: str  # from embedder, chunking and the notes' bytes: equal names mean equal content
    chunks: Sequence[Chunk]
    # Shape (len(chunks), dimensions); called only if needed, and the array may be overwritten.
    vectors: Callable[[], Vectors]


def rounded(cosines: npt.ArrayLike) -> Cosines:
    """Round cosines to the precision that all engines agree on."""
    digits = np.asarray(cosines, dtype=np.float64).round(_DIGITS)
    return np.minimum(1.0, np.maximum(-1.0, digits))


def flat_reason(error: Exception) -> str:
    """Return an engine's error text, which can have several lines, or the name of its class."""
    return " ".join(str(error).split()) or type(error).__name__
