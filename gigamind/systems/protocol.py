"""Define the protocols of evaluated systems: query to ranking, and question to answer with contexts."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

from gigamind.errors import OWN_FAULTS, GigamindError, SystemFailedError, fault_of
from gigamind.i18n import Message
from gigamind.interop.ranking import Hit_co, Oddity, RankedNote, Ranking, Reply
from gigamind.vault.identity import Found


def settle(
    ranking: Ranking[RankedNote], topk: int, identify: Callable[[str], Found | None]
) -> Ranking[RankedNote]:
    """Return the first `topk` distinct notes by `identify` (None: unknown); scores that are not finite become None."""
    odd: Counter[Oddity] = Counter(ranking.oddities)
    hits: dict[str, RankedNote] = {}
    for hit in ranking.hits:
        if len(hits) == topk:
            break
        found = identify(hit.note)
        note = found.name if found else hit.note
        if note in hits:
            odd["repeated_notes"] += 1
            continue
        bad = hit.base_score is not None and not math.isfinite(hit.base_score)
        odd["bad_scores"] += bad
        odd["unknown_notes"] += found is None
        is_folded = found is not None and found.is_folded
        odd["folded_names"] += is_folded
        score = None if bad else hit.base_score
        hits[note] = replace(
            hit, note=note, base_score=score, written=hit.note if is_folded else ""
        )
    known = [hit.base_score for hit in hits.values() if hit.base_score is not None]
    odd["rising_scores"] += sum(after > before for before, after in pairwise(known))
    odd["tied_scores"] += sum(after == before for before, after in pairwise(known))
    odd["fewer_hits"] += topk - len(hits)
    return Ranking(tuple(hits.values()), {name: count for name, count in odd.items() if count})


_Response_co = TypeVar("_Response_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Query:
    """A query or question of a dataset: its id and its text."""

    id: str
    text: str


class Retriever(Protocol[Hit_co]):
    """A search; called from several threads at a time."""

    def search(self, query: Query) -> Ranking[Hit_co]:
        """Return the ranking, best first; it may be empty.

        Raises GigamindError without a ranking; recorded as a `Failure` of this query, the run continues.
        """
        ...

    def close(self) -> None:
        """Release connections, processes and files."""
        ...


class Answerer(Protocol):
    """An answering system such as RAG; called from several threads at a time."""

    def answer(self, question: Query) -> Reply:
        """Return the answer and its contexts; a refusal is an answer too.

        Raises GigamindError without an answer; recorded as a `Failure` of this question, the run continues.
        """
        ...

    def close(self) -> None:
        """Release connections, processes and files."""
        ...


class System(ABC, Generic[_Response_co]):
    """The system of a run; called from several threads at a time."""

    concurrency: int | None = None  # maximum queries in flight; None for no limit
    warnings: tuple[Message, ...] = ()  # anomalies of the whole source

    @abstractmethod
    def ask(self, query: Query) -> _Response_co:
        """Return the response to a query; SystemFailedError if none is readable."""

    def close(self) -> None:
        """Release connections, processes and files."""


@dataclass(frozen=True)
class Guarded(System[_Response_co]):
    """A user-supplied `Retriever` or `Answerer`: an exception or a wrong return type fails only its item."""

    system: Any
    method: str  # the one that is called with a query
    kind: type[_Response_co]  # of its response

    def ask(self, query: Query) -> _Response_co:
        try:
            answer: object = getattr(self.system, self.method)(query)
        except GigamindError:
            raise
        except OWN_FAULTS as error:  # user code may raise anything
            raise SystemFailedError(fault_of(error)) from error
        if not isinstance(answer, self.kind):
            raise SystemFailedError(
                "{function}() returned {returned}, not gigamind.{expected}",
                function=self.method,
                returned=type(answer).__name__,
                expected=self.kind.__name__,
            )
        return answer

    def close(self) -> None:
        self.system.close()
