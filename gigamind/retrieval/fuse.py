"""Fuse dense and sparse chunk scores with the link graph: each note's best chunks, weighted, boosted by centrality.

The graph changes the order only, never the relevance score of a note.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import VectorIndex
from gigamind.retrieval.settings import DEFAULT_TITLE_WEIGHT, RetrievalSettings

BOOST = 0.2  # β in the specification

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Chunks requested from the index, enough for a tight bound: with half as many, 50 % more notes are looked up.
_SHORTLIST = 64
_SHORTLIST_PER_HIT = 6
_STEP = 64  # notes looked up first; each further step looks up four times as many
_ROWS = 64  # rows into which scores are folded to bound the highest
_LEAST = float(np.finfo(np.float64).smallest_subnormal)  # lowest score that can be ranked


@dataclass(frozen=True, slots=True)
class ChunkLayout:
    """The chunks of each note."""

    starts: Ints  # note i owns chunks `starts[i]:starts[i + 1]`, at least one
    note_of: Ints

    @classmethod
    def of(cls, chunks_per_note: Sequence[int]) -> Self:
        """Return the layout of notes with these numbers of chunks, in order."""
        counts = np.asarray(chunks_per_note, dtype=np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]), np.repeat(np.arange(len(counts)), counts)
        )

    def best(self, chunk_scores: Floats) -> Floats:
        """Return each note's best chunk score, shape (notes,)."""
        return np.maximum.reduceat(chunk_scores, self.starts[:-1])

    def chunks(self, notes: Ints) -> Ints:
        """Return all chunks of these notes."""
        firsts, counts = self.starts[notes], self.starts[notes + 1] - self.starts[notes]
        behind = np.cumsum(counts) - counts  # chunks of the preceding notes
        return np.arange(int(counts.sum())) + np.repeat(firsts - behind, counts)


@dataclass(frozen=True, slots=True)
class Fusion:
    """Weights of dense and sparse scores."""

    alpha: float  # weight of the dense score, in [0, 1]; 1 in semantic mode, 0 in keyword mode
    boosts: (
        Floats  # of base_score: 1 + β * centrality with the graph rerank, else 1.0, shape (notes,)
    )
    topk: int
    low: float = 0.0  # cosine that counts 0
    ceiling: float = 1.0  # highest sum of both scores
    title: float = DEFAULT_TITLE_WEIGHT  # points of balanced fusion for a whole title or alias

    @classmethod
    def of(cls, settings: RetrievalSettings, centralities: Floats) -> Self:
        """Return the weights of these settings, for notes with these centralities in the link graph."""
        moved = centralities if settings.graph_rerank else np.zeros(len(centralities))
        share, title = settings.semantic_share, settings.title_weight
        return cls(share, 1.0 + BOOST * moved, settings.topk, title=title)

    def semantic(self, cosines: Floats | float) -> Floats:
        """Return the weighted dense score for cosines of at least 0."""
        return self.alpha * np.maximum(0.0, cosines - self.low)

    def join(self, cosines: Floats | float, lexical: Floats) -> Floats:
        """Add both weighted scores; `lexical` is the sparse one."""
        total = self.semantic(cosines) + lexical  # can exceed 1 by rounding
        return np.minimum(self.ceiling, total)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of every note, shape (notes,) each."""

    semantic: Floats  # best max(0, cosine); exact if the note can be ranked, else unset (0)
    keyword: Floats  # best relative BM25
    base: Floats  # see `Hit.base_score`; 0 if the note cannot be ranked
    final: Floats  # see `Hit.final_score`; 0 if the note cannot be ranked

    def top(self, k: int) -> Ints:
        """Return the `k` best notes with a final score above 0, by descending score, then place (as trec_eval)."""
        return highest(self.final, k)


def highest(scores: Floats, k: int) -> Ints:
    """Return the places of the `k` highest scores above 0, by descending score, then descending place.

    The k highest column maxima are k of the scores, so the lowest of them bounds the k highest scores.  This takes one
    pass for any scores; a partition of all takes 60 times as long if most are equal.
    """
    columns, bar = len(scores) // _ROWS, 0.0
    if columns > k:
        maxima = scores[: columns * _ROWS].reshape(_ROWS, columns).max(axis=0)
        bar = float(np.partition(maxima, -k)[-k])
    candidates = np.flatnonzero(scores >= bar if bar > 0 else scores > 0)
    return candidates[np.lexsort((candidates, scores[candidates]))[::-1][:k]]


def relative(scores: Floats) -> Floats:
    """Return BM25 divided by the query's best BM25, in [0, 1]; all 0.0 if nothing matches (spec 4.1)."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / best if best > 0 else np.zeros_like(scores)


def score_notes(
    keyword: Floats,
    layout: ChunkLayout,
    fusion: Fusion,
    index: VectorIndex | None,
    query: Vectors | None,
) -> Scored:
    """Return the weighted scores of all notes from the BM25 of each chunk and, unless α is 0, the index."""
    keyword_best = relative(layout.best(keyword))
    lexical = (1 - fusion.alpha) * keyword_best
    if index is None or query is None:
        semantic, known = np.zeros_like(lexical), np.ones(len(lexical), dtype=bool)
    else:
        semantic, known = nearest_notes(lexical, layout, fusion, index, query)
    base = np.where(known, fusion.join(semantic, lexical), 0.0)
    return Scored(semantic, keyword_best, base, base * fusion.boosts)


def nearest_notes(
    lexical: Floats, layout: ChunkLayout, fusion: Fusion, index: VectorIndex, query: Vectors
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the best max(0, cosine) of each note and whether it is known; other notes cannot reach the top k.

    Args:
        lexical: Weighted sparse score of each note, shape (notes,); -inf excludes a note.

    Raises:
        IndexingError: The vector index failed.
    """
    chunks = int(layout.starts[-1])
    ids, cosines, ceiling = index.shortlist(
        query, min(chunks, max(_SHORTLIST, _SHORTLIST_PER_HIT * fusion.topk))
    )
    if len(ids) < chunks:  # below the ceiling, a note can have an unlisted chunk that is nearer
        near = cosines >= ceiling
        ids, cosines = ids[near], cosines[near]
    best = np.zeros(len(lexical))
    known = np.zeros(len(lexical), dtype=bool)
    listed = layout.note_of[ids]
    np.maximum.at(best, listed, cosines)
    known[listed] = True
    possible = fusion.join(max(0.0, ceiling), lexical) * fusion.boosts

    def exact(notes: Ints) -> Floats:
        possible[notes] = -np.inf
        return fusion.join(best[notes], lexical[notes]) * fusion.boosts[notes]

    scores, step = exact(np.flatnonzero(known)), _STEP
    while len(unsure := _reaching(possible, scores, fusion.topk)):
        looked_up = unsure
        if len(unsure) > step:  # the most promising ones first
            looked_up = unsure[np.argpartition(possible[unsure], -step)[-step:]]
        owned = layout.chunks(looked_up)
        np.maximum.at(best, layout.note_of[owned], index.cosines(query, owned))
        known[looked_up] = True
        if len(looked_up) == len(unsure):
            break
        scores = np.concatenate([scores, exact(looked_up)])  # which raises the bar
        step *= 4
    return best, known


def _reaching(possible: Floats, scores: Floats, topk: int) -> Ints:
    bar = _LEAST
    if len(scores) >= topk:
        bar = max(_LEAST, float(np.partition(scores, -topk)[-topk]))
    return np.flatnonzero(possible >= bar)
