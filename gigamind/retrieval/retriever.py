"""Search one vault: hits best first, and for each the sentence that matches the query.

By spec 4.1, evidence comes from the found chunks and from their sentences that match the query.  `recording` keeps
query vectors for a second search.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np

from gigamind.retrieval.balanced import Balance
from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.retrieval.fuse import ChunkLayout, Floats, Fusion, Ints, Scored, score_notes
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import Chunk, VectorIndex
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.spans import Passage
from gigamind.text import tokens


@dataclass(frozen=True, slots=True)
class SemanticLeg:
    """The embedder and the index of the chunks' vectors."""

    embedder: Embedder
    index: VectorIndex


@dataclass(frozen=True)
class Retriever(AbstractContextManager["Retriever"]):
    """Searches one vault with one set of settings; thread-safe.  Close it, or use `with`."""

    notes: tuple[str, ...]
    titles: tuple[str, ...]
    centralities: Floats  # centralities of the notes in the link graph, in (0, 1], shape (notes,)
    chunks: Sequence[Chunk]  # all chunks, note by note in that order
    layout: ChunkLayout
    keyword: KeywordIndex  # in semantic mode used only to weight words for the evidence
    semantic: SemanticLeg | None  # None in keyword mode
    fusion: Fusion
    balance: Balance | None = None  # for `answer_score`; None outside hybrid mode
    balanced: bool = False
    rerank_score: Callable[[str, str], float] | None = None  # of a query and a text, in [0, 1]

    def search(self, query: str) -> list[Hit]:
        """Return the best `topk` notes with a score above 0, best first.

        A reranker orders them by the best chunk of each, and its score replaces both scores of the note.

        Raises:
            EmbeddingError: The query could not be embedded, or the reranker failed.
            IndexingError: The vector index failed.
        """
        vector = self.semantic.embedder.embed_query(query) if self.semantic else None
        by_words, rate, share, scored = self.fused(query, vector)
        best = scored.top(self.fusion.topk)
        ranked: list[int] = best.tolist()
        if not ranked:
            return []
        owned = self.layout.chunks(best)
        chunk_scores = rate * np.maximum(0.0, by_words[owned])
        if self.semantic is not None and vector is not None:
            chunk_scores += share * self.semantic.index.cosines(vector, owned)
        best_chunks = self._best_chunks(owned, chunk_scores)
        words = frozenset(tokens(query))
        hits = [
            Hit(
                note=self.notes[note],
                base_score=float(scored.base[note]),
                final_score=float(scored.final[note]),
                semantic_score=float(scored.semantic[note]) if self.semantic else None,
                keyword_score=float(scored.keyword[note]) if self._uses_words else None,
                chunk=best_chunks[note],
                title=self.titles[note],
                centrality=float(self.centralities[note]),
                words=words,
            )
            for note in ranked
        ]
        if self.rerank_score is None:
            return hits
        scores = [self.rerank_score(query, hit.chunk.indexed_text) for hit in hits]
        scored_hits = (
            replace(hit, base_score=score, final_score=score)
            for hit, score in zip(hits, scores, strict=True)
        )
        return sorted(scored_hits, key=lambda hit: -hit.base_score)

    def rankings(self, query: str, settings: Sequence[RetrievalSettings]) -> list[list[str]]:
        """Return the note paths that `search` finds under each of these settings, best first; embeds the query once.

        Settings can differ in what no index depends on: mode, fusion, alpha, title weight, graph rerank, reranking
        and topk.
        Without vectors, all are in keyword mode.

        Raises:
            EmbeddingError: The query could not be embedded.
            IndexingError: The vector index failed.
        """
        vector = leg = None
        if self.semantic:
            vector = self.semantic.embedder.embed_query(query)
            recalled = _Recorder(self.semantic.embedder, {query: vector}, recalls=True)
            leg = SemanticLeg(recalled, _OfOneQuery(self.semantic.index, vector))
        found: list[list[str]] = []
        rerank_score = cache(self.rerank_score) if self.rerank_score else None
        for setting in settings:
            fusion = Fusion.of(setting, self.centralities)
            semantic = leg if setting.mode != "keyword" else None
            own = replace(self, fusion=fusion, semantic=semantic, balanced=setting.balanced)
            if setting.rerank:
                own = replace(own, rerank_score=rerank_score)
                found.append([hit.note for hit in own.search(query)])
                continue
            _words, _rate, _share, scored = own.fused(query, vector)
            found.append([self.notes[note] for note in scored.top(fusion.topk).tolist()])
        return found

    def answer_score(self, query: str) -> float | None:
        """Return a score in [0, 1] for whether the best note by balanced fusion answers, under any fusion of `search`.

        It does not depend on the other notes found.  0.0 if no note can be ranked; None outside hybrid mode.  Below the
        `min_score` of judges/unanswerable_answer_score.toml, that judge calls a query unanswerable.

        Raises:
            EmbeddingError: The query could not be embedded.
            IndexingError: The vector index failed.
        """
        if self.balance is None or self.semantic is None:
            return None
        words = self.balance.read(query)
        first = replace(self.fusion, boosts=np.ones(len(self.notes)), topk=1)
        vector = self.semantic.embedder.embed_query(query)
        scored = self.balance.score(words, first, self.semantic.index, vector)
        return max(map(float, scored.base[scored.top(1)]), default=0.0)

    @property
    def _uses_words(self) -> bool:
        return self.balanced or self.fusion.alpha < 1

    def fused(self, query: str, vector: Vectors | None) -> tuple[Floats, float, float, Scored]:
        """Return the scores of words by chunk, the points per unit of them and of a cosine, and the scores of notes."""
        index = self.semantic.index if self.semantic else None
        if self.balanced and self.balance and index and vector is not None:
            words = self.balance.read(query)
            scored = self.balance.score(words, self.fusion, index, vector)
            return words.chunks, words.rate, self.balance.scale.slope, scored
        lexical = self.keyword.scores(query) if self._uses_words else np.zeros(len(self.chunks))
        scored = score_notes(lexical, self.layout, self.fusion, index, vector)
        best = lexical.max(initial=0.0)
        rate = float((1 - self.fusion.alpha) / best) if best > 0 else 0.0
        return lexical, rate, self.fusion.alpha, scored

    def evidence(self, query: str, chunks: Iterable[Chunk]) -> list[Passage]:
        """Return what each chunk, of a hit or of any system, shows for the query: its matching sentence."""
        weights = {token: self.keyword.weight(token) for token in tokens(query)}
        return [chunk.evidence(weights) for chunk in chunks]

    def chunks_of(self, query: str, notes: Iterable[str]) -> dict[str, Chunk]:
        """Return for each existing note the chunk with the most of the query's words; any system can name the notes."""
        places = [place for note in notes if (place := self._places.get(note)) is not None]
        if not places:
            return {}
        owned = self.layout.chunks(np.array(places))
        best = self._best_chunks(owned, self.keyword.scores(query)[owned])
        return {self.notes[place]: chunk for place, chunk in best.items()}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {note: place for place, note in enumerate(self.notes)}

    def _best_chunks(self, owned: Ints, scores: Floats) -> dict[int, Chunk]:
        best: dict[int, Chunk] = {}
        for place in np.argsort(-scores, kind="stable").tolist():
            chunk = int(owned[place])
            best.setdefault(int(self.layout.note_of[chunk]), self.chunks[chunk])
        return best

    def close(self) -> None:
        """Close the index."""
        if self.semantic:
            self.semantic.index.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def recording(self) -> "tuple[Retriever, Retriever]":
        """Return two retrievers over one index: the first computes and keeps every vector, the second reuses it."""
        if self.semantic is None:
            return self, self
        leg, vectors = self.semantic, dict[str, Vectors]()
        recorder = _Recorder(leg.embedder, vectors, recalls=False)
        recalled = _Recorder(leg.embedder, vectors, recalls=True)
        return (
            replace(self, semantic=SemanticLeg(recorder, leg.index)),
            replace(self, semantic=SemanticLeg(recalled, leg.index)),
        )


class _OfOneQuery:
    """An index searched with one vector only, whose shortlists are kept."""

    def __init__(self, index: VectorIndex, query: Vectors) -> None:
        self.nearest, self.cosines, self.close = index.nearest, index.cosines, index.close
        self._shortlist = cache(partial(index.shortlist, query))

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ints, Floats, float]:
        del query
        return self._shortlist(limit)


class _Recorder:
    """Keeps the vector of every query in `vectors`; one that `recalls` computes only what is missing there."""

    def __init__(self, embedder: Embedder, vectors: dict[str, Vectors], *, recalls: bool) -> None:
        self.name, self.embed_passages = embedder.name, embedder.embed_passages
        self.vectors = vectors
        self._embedder, self._recalls = embedder, recalls

    def embed_query(self, text: str) -> Vectors:
        if not self._recalls or text not in self.vectors:
            self.vectors[text] = self._embedder.embed_query(text)
        return self.vectors[text]
