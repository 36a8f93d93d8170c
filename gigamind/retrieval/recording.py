"""Lets what looks at a query after its search have the vector that the search computed, without paying for it again."""

from collections.abc import Sequence
from dataclasses import replace

from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.retrieval.retriever import Retriever, SemanticLeg


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
        self._embedder = embedder
        self.vectors: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        self.vectors[text] = self._embedder.embed_query(text)
        return self.vectors[text]


class _Recalled:
    def __init__(self, recorder: _Recorder) -> None:
        self._recorder = recorder

    @property
    def name(self) -> str:
        return self._recorder.name

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._recorder.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        known = self._recorder.vectors.get(text)
        return self._recorder.embed_query(text) if known is None else known
