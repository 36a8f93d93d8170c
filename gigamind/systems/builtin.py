"""gigamind's own engine as one of the systems."""

from dataclasses import dataclass

from gigamind.interop.ranking import Ranking
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.systems.protocol import Query


@dataclass(frozen=True, slots=True)
class Builtin:
    """See the module; implements `Retriever`."""

    engine: Engine

    def search(self, query: Query) -> Ranking[Hit]:
        return Ranking(tuple(self.engine.search(query.text)))

    def close(self) -> None:
        self.engine.close()
