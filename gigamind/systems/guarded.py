"""Guard a user-supplied Python system: an exception or a wrong return type fails only its item."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gigamind.errors import OWN_FAULTS, GigamindError, SystemFailedError, fault_of
from gigamind.interop.ranking import Ranking
from gigamind.interop.reply import Reply
from gigamind.systems.protocol import Query

Result = TypeVar("Result")


@dataclass(frozen=True)
class Guarded:
    """A user-supplied search or answering system; see the module."""

    system: Any

    def search(self, query: Query) -> Any:  # noqa: ANN401  a ranking of its hits
        return _checked_call(self.system.search, query, Ranking)

    def answer(self, question: Query) -> Reply:
        return _checked_call(self.system.answer, question, Reply)

    def close(self) -> None:
        self.system.close()


def _checked_call(ask: Callable[[Query], Result], query: Query, kind: type[Result]) -> Result:
    try:
        answer: object = ask(query)
    except GigamindError:
        raise
    except OWN_FAULTS as error:  # user code may raise anything
        raise SystemFailedError(fault_of(error)) from error
    if not isinstance(answer, kind):
        raise SystemFailedError(
            "{function}() returned {returned}, not gigamind.{expected}",
            function=ask.__name__,
            returned=type(answer).__name__,
            expected=kind.__name__,
        )
    return answer
