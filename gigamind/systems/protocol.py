"""Define the protocols of evaluated systems: query to ranking, and question to answer with contexts."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from gigamind.errors import OWN_FAULTS, GigamindError, SystemFailedError, fault_of
from gigamind.interop.ranking import Oddity, RankedNote, Ranking
from gigamind.interop.reply import Reply
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


Hit_co = TypeVar("Hit_co", covariant=True)
Response_co = TypeVar("Response_co", covariant=True)
_Result = TypeVar("_Result")


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


@dataclass(frozen=True)
class Guarded:
    """A user-supplied search or answering system: an exception or a wrong return type fails only its item."""

    system: Any

    def search(self, query: Query) -> Any:  # noqa: ANN401  a ranking of its hits
        return _checked_call(self.system.search, query, Ranking)

    def answer(self, question: Query) -> Reply:
        return _checked_call(self.system.answer, question, Reply)

    def close(self) -> None:
        self.system.close()


def _checked_call(ask: Callable[[Query], _Result], query: Query, kind: type[_Result]) -> _Result:
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
