"""Adapt gigamind's own search engine to the `Retriever` protocol."""

from dataclasses import dataclass

from gigamind.interop.ranking import Ranking
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.systems.protocol import Query


@dataclass(frozen=True, slots=True)
class Builtin:
    """gigamind's own engine as a `Retriever`."""

    engine: Engine

    def search(self, query: Query) -> Ranking[Hit]:
        return Ranking(tuple(self.engine.search(query.text)))

    def close(self) -> None:
        self.engine.close()
