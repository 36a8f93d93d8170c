"""A retriever for one query that asks the embedder and the vector index once, however many look at the answer."""

from collections.abc import Sequence
from dataclasses import replace

from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.retrieval.index import Cosines, Ids, VectorIndex
from gigamind.retrieval.retriever import Retriever, SemanticLeg


def for_one_query(retriever: Retriever) -> Retriever:
    """The same retriever, which remembers the last vector and the last nearest chunks.

    For one query and one thread; it shares the index with `retriever`, which is the one to close.
    """
    if retriever.semantic is None:
        return retriever
    leg = retriever.semantic
    return replace(
        retriever,
        semantic=SemanticLeg(_RememberingEmbedder(leg.embedder), _RememberingIndex(leg.index)),
    )


class _RememberingEmbedder:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._last: tuple[str, Vectors] | None = None

    @property
    def name(self) -> str:
        return self._embedder.name

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        if self._last is None or self._last[0] != text:
            self._last = (text, self._embedder.embed_query(text))
        return self._last[1]


class _RememberingIndex:
    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self._last: tuple[Vectors, int, Ids, Cosines] | None = None

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        if self._last is None or self._last[0] is not query or self._last[1] < limit:
            self._last = (query, limit, *self._index.nearest(query, limit))
        _, _, ids, cosines = self._last
        return ids[:limit], cosines[:limit]

    def cosines(self, query: Vectors, chunks: Sequence[int]) -> Cosines:
        return self._index.cosines(query, chunks)

    def close(self) -> None:
        self._index.close()
