"""An object of a team's own: what it raises, or returns of another type, is a failure of its item."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gigamind.errors import OWN_FAULTS, GigamindError, SystemFailedError, fault_of
from gigamind.interop.ranking import Ranking
from gigamind.interop.reply import Reply
from gigamind.systems.protocol import Answerer, Hit_co, Query, Retriever

Result = TypeVar("Result")


@dataclass(frozen=True)
class GuardedRetriever(Retriever[Hit_co]):
    """A search of a team's own; see the module."""

    retriever: Retriever[Hit_co]

    def search(self, query: Query) -> Ranking[Hit_co]:
        return _held(self.retriever.search, query, Ranking)

    def close(self) -> None:
        self.retriever.close()


@dataclass(frozen=True)
class GuardedAnswerer(Answerer):
    """What answers questions, of a team's own; see the module."""

    answerer: Answerer

    def answer(self, question: Query) -> Reply:
        return _held(self.answerer.answer, question, Reply)

    def close(self) -> None:
        self.answerer.close()


def _held(ask: Callable[[Query], Result], query: Query, kind: type[Result]) -> Result:
    try:
        answer: object = ask(query)
    except GigamindError:
        raise
    except OWN_FAULTS as error:  # whatever a team's code raises is its answer to this query
        raise SystemFailedError(fault_of(error)) from error
    if not isinstance(answer, kind):
        name, returned = ask.__name__, type(answer).__name__
        raise SystemFailedError(f"{name}() returned {returned}, not gigamind.{kind.__name__}")
    return answer
