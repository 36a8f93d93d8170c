"""Many rankings as one table of gains (a row per query, a column per rank), so that NumPy measures them at once.

Rows are summed rank by rank, so that a query's figures are bit-identical whatever other queries are in the table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from math import nan

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_AT_ONCE = 1024  # queries per table: with 100 hits each, its arrays fit the cache


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """The ranking of an answerable query, and its expected notes.

    Attributes:
        ranking: notes, best first, each at most once.
        qrels: note -> gain; a note is relevant if its gain is above 0.
        is_judged: notes outside the qrels are unjudged; otherwise they are known to be irrelevant.
        all_of, any_of: groups of notes; an answer needs one note of every group, or all notes of one.
    """

    ranking: Sequence[str]
    qrels: Mapping[str, int]
    is_judged: bool = False
    all_of: Sequence[Sequence[str]] = ()
    any_of: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class RankingTable:
    """Rankings of `n` queries, the longest with `depth` notes.

    Attributes:
        gains: (n, depth); 0 for irrelevant and unjudged notes, and after the end of a ranking.
        unjudged: (n, depth); unjudged notes of queries with `is_judged`.
        lengths: (n,); number of retrieved notes.
        ideal: (n, most relevant notes); the gains of all relevant notes, descending, padded with 0.
        served: (n, depth); the share of the groups covered down to each rank; NaN for a query without groups.
    """

    gains: Floats
    unjudged: Flags
    lengths: NDArray[np.int64]
    is_judged: Flags
    ideal: Floats
    served: Floats
    logs: Floats = field(init=False)
    dcg: Floats = field(init=False)
    ideal_dcg: Floats = field(init=False)

    def __post_init__(self) -> None:
        logs = discounts(max(self.gains.shape[1], self.ideal.shape[1]) + 1)
        dcg, ideal_dcg = summed(self.gains, logs), summed(self.ideal, logs)
        self.__dict__.update(logs=logs, dcg=dcg, ideal_dcg=ideal_dcg)  # despite `frozen`

    @classmethod
    def of(cls, queries: Sequence[RankedQuery]) -> "RankingTable":
        """Return the table of these queries; at least one."""
        grades = _padded(
            [map(query.qrels.get, query.ranking, repeat(nan)) for query in queries],
            [len(query.ranking) for query in queries],
        )
        known = _padded([q.qrels.values() for q in queries], [len(q.qrels) for q in queries])
        judged = np.array([query.is_judged for query in queries])
        ideal = np.flip(np.sort(known.clip(min=0.0), axis=1), axis=1)
        return cls(
            gains=np.where(grades > 0, grades, 0.0),
            unjudged=np.isnan(grades) & judged[:, None],
            lengths=np.array([len(query.ranking) for query in queries]),
            is_judged=judged,
            ideal=ideal[:, : max(1, int((ideal > 0).sum(axis=1).max()))],
            served=_served(queries, grades.shape[1]),
        )

    def rows(self, chosen: Flags) -> "RankingTable":
        """Return the table of some of its queries."""
        parts = ("gains", "unjudged", "lengths", "is_judged", "ideal", "served")
        return RankingTable(**{name: getattr(self, name)[chosen] for name in parts})


def tables(queries: Sequence[RankedQuery]) -> Iterator[tuple[Sequence[RankedQuery], RankingTable]]:
    """Yield all queries in parts, each part with its table."""
    for first in range(0, len(queries), _AT_ONCE):
        part = queries[first : first + _AT_ONCE]
        yield part, RankingTable.of(part)


def discounts(depth: int) -> Floats:
    """Return the divisors of the gains at ranks 1 to `depth`: log2(rank + 1)."""
    return np.log2(np.arange(2.0, depth + 2.0, dtype=np.float64))


def at_rank(table: Floats, k: int) -> Floats:
    """Return the column of rank `k`, or the last one if the table ends before it."""
    return table[:, min(k, table.shape[1]) - 1]


def summed(gains: Floats, logs: Floats) -> Floats:
    """Return the discounted cumulative gain down to each rank."""
    return np.cumsum(gains / logs[: gains.shape[1]], axis=1)


def ratio(over: Floats, under: Floats) -> Floats:
    """Return `over / under`, 0 where `under` is 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _padded(rows: Sequence[Iterable[float]], lengths: Sequence[int]) -> Floats:
    flat = np.fromiter(chain.from_iterable(rows), np.float64, sum(lengths))
    width = max(1, *lengths)
    if len(flat) == width * len(lengths):
        return flat.reshape(len(lengths), width)
    table = np.zeros((len(lengths), width))
    table[np.arange(width) < np.array(lengths)[:, None]] = flat
    return table


def _served(queries: Sequence[RankedQuery], depth: int) -> Floats:
    table = np.full((len(queries), depth), nan)
    for row, query in enumerate(queries):
        ranks = {note: rank for rank, note in enumerate(query.ranking)}
        if query.all_of:
            first = [min(ranks.get(note, depth) for note in group) for group in query.all_of]
            table[row] = _share_within(first, depth)
        if query.any_of:
            ways = [[ranks.get(note, depth) for note in set(group)] for group in query.any_of]
            best = np.max([_share_within(way, depth) for way in ways], axis=0)
            table[row] = np.fmin(table[row], best)  # an answer needs both kinds of groups
    return table


def _share_within(ranks: Sequence[int], depth: int) -> Floats:
    """Return the share of these ranks (from 0) that are within each rank of a ranking; `depth` is outside."""
    return np.bincount(ranks, minlength=depth + 1)[:depth].cumsum() / len(ranks)
