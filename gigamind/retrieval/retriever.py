"""Finds the notes that answer a query."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from gigamind.retrieval.chunk import Chunk
from gigamind.retrieval.embed import Embedder
from gigamind.retrieval.fuse import ChunkLayout, Floats, Fusion, Ints, score_notes
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import VectorIndex
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.passages import highlight
from gigamind.spans import Passage


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

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
