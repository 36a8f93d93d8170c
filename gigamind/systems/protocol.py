"""Define the protocols of evaluated systems: query to ranking, and question to answer with contexts."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

from gigamind.interop.ranking import Ranking
from gigamind.interop.reply import Reply

Hit_co = TypeVar("Hit_co", covariant=True)
Response_co = TypeVar("Response_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Query:
    """A query or question of a dataset: its id and its text."""

    id: str
    text: str


class Retriever(Protocol[Hit_co]):
    """A search; called from several threads at a time."""

    def search(self, query: Query) -> Ranking[Hit_co]:
        """Return the ranking, best first; it may be empty.

        Raises:
            GigamindError: no ranking; recorded as a `Failure` of this query, the run continues.
        """
        ...

    def close(self) -> None:
        """Release connections, processes and files."""
        ...


class Answerer(Protocol):
    """An answering system such as RAG; called from several threads at a time."""

    def answer(self, question: Query) -> Reply:
        """Return the answer and its contexts; a refusal is an answer too.

        Raises:
            GigamindError: no answer; recorded as a `Failure` of this question, the run continues.
        """
        ...

    def close(self) -> None:
        """Release connections, processes and files."""
        ...


class System(Protocol[Response_co]):
    """The system behind `--system`; called from several threads at a time."""

    def ask(self, query: Query) -> Response_co:
        """Return the response to a query.

        Raises:
            SystemFailedError: no readable response.
        """
        ...

    def close(self) -> None:
        """Release connections, processes and files."""
