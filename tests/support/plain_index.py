"""A vector index that is no engine, and what an index holds."""

import numpy as np

from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import Chunk, Cosines, Ids, IndexContent, rounded
from gigamind.spans import Passage, Span


class PlainIndex:
    """The index protocol over a matrix, and how often it was asked for the cosines of which chunks."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors.astype(np.float64)
        self.asked: list[int] = []
        self.closed = False

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        every = rounded((self._vectors @ query.astype(np.float64)).tolist())
        best = np.argsort(-every, kind="stable")[:limit]
        return best.astype(np.int64), every[best]

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        """By cosines of two digits, as an engine may know them."""
        every = rounded((self._vectors @ query.astype(np.float64)).tolist())
        hazy = every.round(2)
        best = np.argsort(-hazy, kind="stable")[:limit]
        return best.astype(np.int64), every[best], float(hazy[best[-1]]) + 0.005001

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        self.asked += chunks.tolist()
        return rounded((self._vectors[chunks] @ query.astype(np.float64)).tolist())

    def close(self) -> None:
        self.closed = True


def content_of(vectors: Vectors, name: str = "model-content") -> IndexContent:
    """What an index of these unit vectors is to hold."""
    chunks = [
        Chunk(Passage(f"note{i // 3}.md", "text", Span(i, i + 4)), "context")
        for i in range(len(vectors))
    ]
    return IndexContent(name, chunks, lambda: vectors)
