"""The seams behind which any system stands: a query in, a ranking out; a question in, an answer with contexts out."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

from gigamind.interop.ranking import Ranking
from gigamind.interop.reply import Reply

Hit_co = TypeVar("Hit_co", covariant=True)
Told_co = TypeVar("Told_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Query:
    """One query or question of a dataset: its id there, and what a user would type."""

    id: str
    text: str


class Retriever(Protocol[Hit_co]):
    """A search; it is asked from several threads at a time."""

    def search(self, query: Query) -> Ranking[Hit_co]:
        """What it finds, best first; that it finds nothing is an answer, too.

        Raises:
            GigamindError: it gave no ranking: a `Failure` of that query, never the end of a run.
        """
        ...

    def close(self) -> None:
        """Let go of connections, processes and files."""
        ...


class Answerer(Protocol):
    """What answers questions, such as a RAG system; it is asked from several threads at a time."""

    def answer(self, question: Query) -> Reply:
        """Its answer, and the contexts that it rests on; that it does not know is an answer, too.

        Raises:
            GigamindError: it gave none: that question has no answer, and the run goes on.
        """
        ...

    def close(self) -> None:
        """Let go of connections, processes and files."""
        ...


class System(Protocol[Told_co]):
    """What `--system` names, whatever it tells; it is asked from several threads at a time."""

    def ask(self, query: Query) -> Told_co:
        """What it tells of a query.

        Raises:
            SystemFailedError: nothing that could be read.
        """
        ...

    def close(self) -> None:
        """Let go of connections, processes and files."""
        ...
