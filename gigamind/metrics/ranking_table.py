"""Many rankings as one table of gains, so that NumPy measures all queries at once.

A row is a query, a column a rank.  A row is summed from its first rank on, one rank after the other: a query's figures
are the same to the last bit, whatever queries it is measured beside.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from math import nan

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_AT_ONCE = 1024  # queries a table: of 100 hits each, its arrays stay in the cache


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """What was found for an answerable query, and what should have been.

    Attributes:
        ranking: notes, best first, each at most once.
        qrels: note -> gain; a note is relevant where it is above 0.
        is_judged: a note that is not in the qrels was judged by nobody; else it is known to be irrelevant.
        all_of: groups of notes; an answer needs one note of every group.
        any_of: groups of notes; an answer needs all notes of one group.
    """

    ranking: Sequence[str]
    qrels: Mapping[str, int]
    is_judged: bool = False
    all_of: Sequence[Sequence[str]] = ()
    any_of: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class RankingTable:
    """Rankings of `n` queries, the longest of `depth` notes.

    Attributes:
        gains: (n, depth); 0 for irrelevant notes, for those that nobody judged, and behind the end of a ranking.
        unjudged: (n, depth); notes that nobody judged, of the queries of `is_judged`.
        lengths: (n,); how many notes were found.
        ideal: (n, most relevant notes); the gains of all relevant notes, falling, 0 behind them.
        served: (n, depth); what the notes down to a rank serve of the groups; NaN for a query without groups.
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
        deepest = max(self.gains.shape[1], self.ideal.shape[1]) + 1
        logs = discounts(deepest)
        for name, value in (
            ("logs", logs),
            ("dcg", summed(self.gains, logs)),
            ("ideal_dcg", summed(self.ideal, logs)),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, queries: Sequence[RankedQuery]) -> "RankingTable":
        """The table of these queries; at least one."""
        grades = _padded(
            [map(query.qrels.get, query.ranking, repeat(nan)) for query in queries],
            [len(query.ranking) for query in queries],
            0.0,
        )
        known = _padded(
            [query.qrels.values() for query in queries],
            [len(query.qrels) for query in queries],
            0.0,
        )
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
        """The table of some of its queries."""
        parts = ("gains", "unjudged", "lengths", "is_judged", "ideal", "served")
        return RankingTable(**{name: getattr(self, name)[chosen] for name in parts})


def tables(
    queries: Sequence[RankedQuery],
) -> Iterator[tuple[Sequence[RankedQuery], RankingTable]]:
    """All queries, part by part, each part with its table."""
    for first in range(0, len(queries), _AT_ONCE):
        part = queries[first : first + _AT_ONCE]
        yield part, RankingTable.of(part)


def discounts(depth: int) -> Floats:
    """What the gains at ranks 1 to `depth` are divided by: log2(rank + 1)."""
    return np.log2(np.arange(2.0, depth + 2.0, dtype=np.float64))


def at_rank(table: Floats, k: int) -> Floats:
    """The column of rank `k`, or the last one where the table ends before."""
    return table[:, min(k, table.shape[1]) - 1]


def summed(gains: Floats, logs: Floats) -> Floats:
    """Discounted cumulative gain down to each rank."""
    return np.cumsum(gains / logs[: gains.shape[1]], axis=1)


def ratio(over: Floats, under: Floats) -> Floats:
    """`over / under`, 0 where `under` is 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _padded(rows: Sequence[Iterable[float]], lengths: Sequence[int], filler: float) -> Floats:
    """Rows of several lengths as one table, at least one column wide."""
    flat = np.fromiter(chain.from_iterable(rows), np.float64, sum(lengths))
    width = max(1, *lengths)
    if len(flat) == width * len(lengths):
        return flat.reshape(len(lengths), width)
    table = np.full((len(lengths), width), filler)
    table[np.arange(width) < np.array(lengths)[:, None]] = flat
    return table


def _served(queries: Sequence[RankedQuery], depth: int) -> Floats:
    table = np.full((len(queries), depth), nan)
    for row, query in enumerate(queries):
        if query.all_of or query.any_of:
            ranks = {note: rank for rank, note in enumerate(query.ranking)}
            table[row] = _served_by(query, ranks, depth)
    return table


def _served_by(query: RankedQuery, ranks: Mapping[str, int], depth: int) -> Floats:
    """The least that both kinds of groups say, for an answer needs what both ask."""
    shares: list[Floats] = []
    if query.all_of:
        first = [min(ranks.get(note, depth) for note in group) for group in query.all_of]
        shares.append(_share_within(first, depth))
    if query.any_of:
        ways = [[ranks.get(note, depth) for note in set(group)] for group in query.any_of]
        shares.append(np.max([_share_within(way, depth) for way in ways], axis=0))
    return np.min(shares, axis=0)


def _share_within(ranks: Sequence[int], depth: int) -> Floats:
    """Share of these ranks, from 0, that lie down to each rank of a ranking; `depth` lies outside."""
    return np.bincount(ranks, minlength=depth + 1)[:depth].cumsum() / len(ranks)
