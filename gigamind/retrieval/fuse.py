"""Note scores from both legs and the link graph: the best chunk of each leg, weighed, then moved up by centrality.

The graph changes the order, never what a note is worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import VectorIndex

BOOST = 0.2  # β of the seed


def boosts(centralities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What each note's base_score is multiplied by: 1 + β * centrality, in [1, 1 + β] for centralities in [0, 1]."""
    return 1.0 + BOOST * centralities


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Chunks that the index is asked for, enough for a low floor: with half as many, half as many notes again are looked up.
_SHORTLIST = 64
_SHORTLIST_PER_HIT = 6
_STEP = 64  # notes that are looked up at first, four times as many at each further step
_ROWS = 64  # in which scores are folded to bound the highest
_LEAST = float(np.finfo(np.float64).smallest_subnormal)  # score that takes a place


@dataclass(frozen=True, slots=True)
class ChunkLayout:
    """Which chunks belong to which note.

    Attributes:
        starts: note i owns chunks `starts[i]` to `starts[i + 1]`, at least one; shape (notes + 1,).
        note_of: the note of each chunk, shape (chunks,).
    """

    starts: Ints
    note_of: Ints

    @classmethod
    def of(cls, chunks_per_note: Sequence[int]) -> "ChunkLayout":
        """The layout of notes that own so many chunks each, in order."""
        counts = np.asarray(chunks_per_note, dtype=np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]), np.repeat(np.arange(len(counts)), counts)
        )

    def best(self, chunk_scores: Floats) -> Floats:
        """Each note's best chunk score, shape (notes,)."""
        return np.maximum.reduceat(chunk_scores, self.starts[:-1])

    def chunks(self, notes: Ints) -> Ints:
        """All chunks of these notes."""
        firsts, counts = self.starts[notes], self.starts[notes + 1] - self.starts[notes]
        behind = np.cumsum(counts) - counts  # chunks of the notes before
        return np.arange(int(counts.sum())) + np.repeat(firsts - behind, counts)


Share = TypeVar("Share", float, Floats)


@dataclass(frozen=True, slots=True)
class Fusion(Generic[Share]):
    """How much each leg counts; of several settings at once, each figure is a column and each row of boosts its own.

    Attributes:
        alpha: share of the semantic leg, in [0, 1]; 1 is the semantic mode, 0 the keyword mode.
        boosts: what the graph rerank multiplies each note's base_score by, shape (notes,); all 1.0 when it is off.
        topk: how many notes are asked for.
        low: cosine that counts nothing.
        ceiling: what both legs together can reach.
    """

    alpha: Share
    boosts: Floats
    topk: int
    low: float | Floats = 0.0
    ceiling: float | Floats = 1.0

    def semantic(self, cosines: Floats | float) -> Floats:
        """The semantic leg's share for cosines of 0 or more."""
        return self.alpha * np.maximum(0.0, cosines - self.low)

    def join(self, cosines: Floats | float, lexical: Floats) -> Floats:
        """Both legs together; `lexical` is the keyword leg's share."""
        return np.minimum(
            self.ceiling, self.semantic(cosines) + lexical
        )  # may pass 1 by a rounding


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of every note, shape (notes,) each.

    Attributes:
        semantic: best max(0, cosine), exact wherever the note can take a place, else unset (0).
        keyword: best relative BM25.
        base: see `Hit.base_score`; 0 where the note can take no place.
        final: see `Hit.final_score`; 0 where the note can take no place.
    """

    semantic: Floats
    keyword: Floats
    base: Floats
    final: Floats

    def top(self, k: int) -> Ints:
        """The `k` best notes with a final score above 0, by falling final score, then place (trec_eval's rule)."""
        return highest(self.final, k)


def highest(scores: Floats, k: int) -> Ints:
    """Places of the `k` highest scores above 0, by falling score, then falling place.

    The k highest maxima of columns are k of the scores, so the least of them bounds what can be among the k highest.
    That is one pass, whatever the scores; a partition of all of them takes 60 times as long where most are equal.
    """
    columns, bar = len(scores) // _ROWS, 0.0
    if columns > k:
        maxima = scores[: columns * _ROWS].reshape(_ROWS, columns).max(axis=0)
        bar = float(np.partition(maxima, -k)[-k])
    candidates = np.flatnonzero(scores >= bar if bar > 0 else scores > 0)
    return candidates[np.lexsort((candidates, scores[candidates]))[::-1][:k]]


def relative(scores: Floats) -> Floats:
    """BM25 over the query's best BM25, in [0, 1]; all 0.0 when nothing matches (seed 4.1)."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / best if best > 0 else np.zeros_like(scores)


def score_notes(
    keyword: Floats,
    layout: ChunkLayout,
    fusion: Fusion[float],
    index: VectorIndex | None,
    query: Vectors | None,
) -> Scored:
    """Weighted scores of all notes from the BM25 of each chunk and, unless α is 0, the vector index.

    Raises:
        IndexingError: the vector index failed.
    """
    keyword_best = relative(layout.best(keyword))
    lexical = (1 - fusion.alpha) * keyword_best
    if index is None or query is None:
        semantic, known = np.zeros_like(lexical), np.ones(len(lexical), dtype=bool)
    else:
        semantic, known = nearest_notes(lexical, layout, fusion, index, query)
    base = np.where(known, fusion.join(semantic, lexical), 0.0)
    return Scored(semantic, keyword_best, base, base * fusion.boosts)


def nearest_notes(
    lexical: Floats, layout: ChunkLayout, fusion: Fusion[Any], index: VectorIndex, query: Vectors
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Best max(0, cosine) of each note, and whether it is known; a note that is not can take no place in the top k.

    Args:
        lexical: the keyword leg's share of each note's order, shape (notes,) or (settings, notes); -inf keeps a note
            out.  Of several settings a cosine is known that any of them needs.

    Raises:
        IndexingError: the vector index failed.
    """
    chunks = int(layout.starts[-1])
    ids, cosines, ceiling = index.shortlist(
        query, min(chunks, max(_SHORTLIST, _SHORTLIST_PER_HIT * fusion.topk))
    )
    if len(ids) < chunks:  # of another note, a chunk that is nearer yet may not be among them
        near = cosines >= ceiling
        ids, cosines = ids[near], cosines[near]
    best = np.zeros(lexical.shape[-1])
    known = np.zeros(lexical.shape[-1], dtype=bool)
    found = layout.note_of[ids]
    np.maximum.at(best, found, cosines)
    known[found] = True
    possible = fusion.join(max(0.0, ceiling), lexical) * fusion.boosts

    def exact(notes: Ints) -> Floats:
        possible[..., notes] = -np.inf
        return fusion.join(best[notes], lexical[..., notes]) * fusion.boosts[..., notes]

    scores, step = exact(np.flatnonzero(known)), _STEP
    while len(unsure := _reaching(possible, scores, fusion.topk)):
        looked_up = _most_promising(unsure, possible[..., unsure], step)
        owned = layout.chunks(looked_up)
        np.maximum.at(best, layout.note_of[owned], index.cosines(query, owned))
        known[looked_up] = True
        if len(looked_up) == len(unsure):
            break
        scores = np.concatenate([scores, exact(looked_up)], axis=-1)  # which raises the bar
        step *= 4
    return best, known


def _reaching(possible: Floats, scores: Floats, topk: int) -> Ints:
    """Notes that may take a place, under any of the settings, beside those whose scores are known."""
    bar: Floats | float = _LEAST
    if scores.shape[-1] >= topk:
        bar = np.maximum(_LEAST, np.partition(scores, -topk)[..., [-topk]])
    reached = possible >= bar
    return np.flatnonzero(reached if reached.ndim == 1 else reached.any(axis=0))


def _most_promising(notes: Ints, possible: Floats, count: int) -> Ints:
    if len(notes) <= count:
        return notes
    promise = possible if possible.ndim == 1 else possible.max(axis=0)
    return notes[np.argpartition(promise, -count)[-count:]]
