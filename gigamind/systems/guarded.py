"""Guard a user-supplied Python system: an exception or a wrong return type fails only its item."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gigamind.errors import OWN_FAULTS, GigamindError, SystemFailedError, fault_of
from gigamind.i18n import _
from gigamind.interop.ranking import Ranking
from gigamind.interop.reply import Reply
from gigamind.systems.protocol import Answerer, Hit_co, Query, Retriever

Result = TypeVar("Result")


@dataclass(frozen=True)
class GuardedRetriever(Retriever[Hit_co]):
    """A user-supplied search; see the module."""

    retriever: Retriever[Hit_co]

    def search(self, query: Query) -> Ranking[Hit_co]:
        return _checked_call(self.retriever.search, query, Ranking)

    def close(self) -> None:
        self.retriever.close()


@dataclass(frozen=True)
class GuardedAnswerer(Answerer):
    """A user-supplied answering system; see the module."""

    answerer: Answerer

    def answer(self, question: Query) -> Reply:
        return _checked_call(self.answerer.answer, question, Reply)

    def close(self) -> None:
        self.answerer.close()


def _checked_call(ask: Callable[[Query], Result], query: Query, kind: type[Result]) -> Result:
    try:
        answer: object = ask(query)
    except GigamindError:
        raise
    except OWN_FAULTS as error:  # user code may raise anything
        raise SystemFailedError(fault_of(error)) from error
    if not isinstance(answer, kind):
        raise SystemFailedError(
            _(
                "{function}() returned {returned}, not gigamind.{expected}",
                function=ask.__name__,
                returned=type(answer).__name__,
                expected=kind.__name__,
            )
        )
    return answer
