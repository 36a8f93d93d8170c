"""The seam behind which any search stands: a query in, a ranking out."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

from gigamind.interop.ranking import Ranking

Hit_co = TypeVar("Hit_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a dataset: its id there, and what a user would type."""

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
