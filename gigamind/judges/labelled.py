"""Queries with known answers as rows for fitting: their signals, and whether the vault answers them.

Few vaults have many queries that are known to be unanswerable.  An answerable one becomes unanswerable when the notes
that answer it are left out of the vault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.datasets.check import CheckedQuery
from gigamind.retrieval.embedding_cache import Progress
from gigamind.retrieval.recording import recording
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.signals import Signals, signals_of

LeaveOut = Literal["auto", "always", "never"]
ENOUGH_UNANSWERABLE = 50  # with so many, "auto" leaves no note out


@dataclass(frozen=True, slots=True)
class Labelled:
    """One query of a vault, or of the vault without the notes that answer it.

    Attributes:
        keys: what it shares with others that must not be on both sides of a split: its id, and its notes' paths.
    """

    signals: Signals
    answerable: bool
    left_out: bool
    keys: frozenset[str]


def label(
    retriever: Retriever, queries: Sequence[CheckedQuery], leave_out: LeaveOut, progress: Progress
) -> list[Labelled]:
    """Rows in the order of the queries; a query asked once more without its notes follows itself.

    Left-out rows err on one side: another note may answer the query too, and then the row is wrong.

    Raises:
        EmbeddingError, IndexingError: a search failed.
    """
    known = sum(not query.item.answerable for query in queries)
    few = leave_out == "always" or (leave_out == "auto" and known < ENOUGH_UNANSWERABLE)
    _, recalled = recording(retriever)
    rows: list[Labelled] = []
    for done, query in enumerate(queries, start=1):
        rows += _rows_of(recalled, query, twice=few and query.item.answerable)
        progress(done, len(queries))
    return rows


def _rows_of(retriever: Retriever, query: CheckedQuery, *, twice: bool) -> Iterator[Labelled]:
    text = query.item.query
    keys = frozenset({f"id {query.item.id}", *(f"note {path}" for path in query.qrels)})
    yield Labelled(signals_of(retriever, text), query.item.answerable, left_out=False, keys=keys)
    if twice:
        without = signals_of(retriever, text, without=query.qrels)
        yield Labelled(without, answerable=False, left_out=True, keys=keys)
