"""Searches one vault: hits best first, and for each the sentence that speaks to the query.

Seed 4.1 takes evidence from the found chunks and from the sentences in them that match the query.  Words are compared
as keyword search does, so Korean particles do not hide a match, and rare words count more.  `recording` keeps what a
query's search gave, for a second look.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.retrieval.fuse import ChunkLayout, Floats, Fusion, Ints, score_notes
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import Chunk, VectorIndex
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.spans import Passage, Span
from gigamind.text import sentences, tokens


def highlight(passage: Passage, query: str, weight: Callable[[str], float]) -> Passage:
    """The sentence of `passage` with the heaviest query words, the first of equals; all of it when none has any.

    Args:
        weight: inverse document frequency of a token, >= 0.
    """
    wanted = {token: weight(token) for token in set(tokens(query))}
    best, best_weight = None, 0.0
    for span in sentences(passage.text):
        total = sum(
            wanted.get(token, 0.0) for token in sorted(set(tokens(span.slice(passage.text))))
        )
        if total > best_weight:
            best, best_weight = span, total
    if best is None:
        return passage
    start = passage.span.start + best.start
    return Passage(passage.note, best.slice(passage.text), Span(start, start + len(best)))


@dataclass(frozen=True, slots=True)
class SemanticLeg:
    """The embedder and the index of the chunks' vectors."""

    embedder: Embedder
    index: VectorIndex


@dataclass(frozen=True)
class Retriever(AbstractContextManager["Retriever"]):
    """Searches one vault with one set of settings; safe to share between threads; close it, or use `with`.

    Attributes:
        notes: paths in order.
        chunks: all chunks, note by note in that order.
        layout: which chunk belongs to which note.
        keyword: in semantic mode it only weighs words for the evidence.
        semantic: None in keyword mode.
    """

    notes: tuple[str, ...]
    chunks: Sequence[Chunk]
    layout: ChunkLayout
    keyword: KeywordIndex
    semantic: SemanticLeg | None
    fusion: Fusion

    def search(self, query: str) -> list[Hit]:
        """The best `topk` notes with a base score above 0, best first.

        Raises:
            EmbeddingError: the query could not be embedded.
            IndexingError: the vector index failed.
        """
        lexical = (
            self.keyword.relative_scores(query)
            if self.fusion.alpha < 1
            else np.zeros(len(self.chunks))
        )
        vector = self.semantic.embedder.embed_query(query) if self.semantic else None
        index = self.semantic.index if self.semantic else None
        scored = score_notes(lexical, self.layout, self.fusion, index, vector)
        best = scored.top(self.fusion.topk)
        ranked: list[int] = best.tolist()
        if not ranked:
            return []
        owned = self.layout.chunks(best)
        chunk_scores = (1 - self.fusion.alpha) * lexical[owned]
        if index is not None and vector is not None:
            chunk_scores += self.fusion.alpha * index.cosines(vector, owned.tolist())
        passages = self._best_passages(owned, chunk_scores)
        return [
            Hit(
                note=self.notes[note],
                base_score=float(scored.base[note]),
                final_score=float(scored.final[note]),
                semantic_score=float(scored.semantic[note]) if self.semantic else None,
                keyword_score=float(scored.keyword[note]) if self.fusion.alpha < 1 else None,
                passage=passages[note],
            )
            for note in ranked
        ]

    def evidence(self, query: str, hits: Sequence[Hit]) -> list[Passage]:
        """What each hit shows for the query: the sentence of its best chunk that matches it (see `passages`)."""
        return [highlight(hit.passage, query, self.keyword.weight) for hit in hits]

    def _best_passages(self, owned: Ints, scores: Floats) -> dict[int, Passage]:
        """Best chunk of each note that owns one of the chunks `owned`, the first of equals."""
        best: dict[int, Passage] = {}
        for place in np.argsort(-scores, kind="stable").tolist():
            chunk = int(owned[place])
            best.setdefault(int(self.layout.note_of[chunk]), self.chunks[chunk].passage)
        return best

    def close(self) -> None:
        """Let go of the index."""
        if self.semantic:
            self.semantic.index.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def recording(retriever: Retriever) -> tuple[Retriever, Retriever]:
    """Two retrievers over one index: the first computes and keeps the vector of every query, the second takes those.

    Close either.  A vector is computed anew each time the first one searches, so that its times stay honest.
    """
    if retriever.semantic is None:
        return retriever, retriever
    leg = retriever.semantic
    recorder = _Recorder(leg.embedder)
    recorded = replace(retriever, semantic=SemanticLeg(recorder, leg.index))
    return recorded, replace(retriever, semantic=SemanticLeg(_Recalled(recorder), leg.index))


class _Recorder:
    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.vectors: dict[str, Vectors] = {}
        self._embedder = embedder

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        self.vectors[text] = self._embedder.embed_query(text)
        return self.vectors[text]


class _Recalled(_Recorder):
    def __init__(self, recorder: _Recorder) -> None:
        super().__init__(recorder)
        self.vectors = recorder.vectors

    def embed_query(self, text: str) -> Vectors:
        known = self.vectors.get(text)
        return self._embedder.embed_query(text) if known is None else known
