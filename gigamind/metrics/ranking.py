"""Metrics of rankings (note paths, best first, each at most once), and how much they depend on unjudged notes.

A note is relevant if its gain is above 0. Each function returns an array (n,) in [0, 1]. Queries without relevant notes
get 0.0; callers leave them out of the mean. An unjudged note may be irrelevant, as in trec_eval, or have the highest
gain of its query; the figures about that are NaN for queries not `is_judged`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from math import nan
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gigamind.i18n import _
from gigamind.metrics.spec import SHOWN, Rows, Use, cutoffs, measured

_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]
_AT_ONCE = 1024  # queries per table: with 100 hits each, its arrays fit the cache


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """The ranking of an answerable query, and its expected notes."""

    ranking: Sequence[str]  # notes, best first, each at most once
    qrels: Mapping[str, int]  # note -> gain; a note is relevant if its gain is above 0
    is_judged: bool = False  # notes outside the qrels are unjudged; otherwise irrelevant
    all_of: Sequence[Sequence[str]] = ()  # groups of notes; an answer needs one note of every group
    any_of: Sequence[Sequence[str]] = ()  # an answer needs all notes of one group


@dataclass(frozen=True)
class _RankingTable:
    """Rankings of `n` queries, the longest with `depth` notes, so that NumPy measures them at once.

    Rows are summed rank by rank: figures of a query are bit-identical whatever other queries are in the table.
    """

    gains: _Floats  # (n, depth); 0 for irrelevant and unjudged notes, and after a ranking ends
    unjudged: _Flags  # (n, depth); unjudged notes of queries with `is_judged`
    lengths: NDArray[np.int64]  # (n,); number of retrieved notes
    is_judged: _Flags
    ideal: _Floats  # (n, most relevant notes); all relevant gains, descending, padded with 0
    served: _Floats  # (n, depth); share of the groups covered down to each rank; NaN without groups
    logs: _Floats = field(init=False)
    dcg: _Floats = field(init=False)
    ideal_dcg: _Floats = field(init=False)

    def __post_init__(self) -> None:
        logs = _discounts(max(self.gains.shape[1], self.ideal.shape[1]) + 1)
        dcg, ideal_dcg = _summed(self.gains, logs), _summed(self.ideal, logs)
        self.__dict__.update(logs=logs, dcg=dcg, ideal_dcg=ideal_dcg)  # despite `frozen`

    @classmethod
    def of(cls, queries: Sequence[RankedQuery]) -> Self:
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

    def rows(self, chosen: _Flags) -> "_RankingTable":
        """Return the table of some of its queries."""
        parts = ("gains", "unjudged", "lengths", "is_judged", "ideal", "served")
        return _RankingTable(**{name: getattr(self, name)[chosen] for name in parts})


def _tables(
    queries: Sequence[RankedQuery],
) -> Iterator[tuple[Sequence[RankedQuery], _RankingTable]]:
    """Yield all queries in parts, each part with its table."""
    for first in range(0, len(queries), _AT_ONCE):
        part = queries[first : first + _AT_ONCE]
        yield part, _RankingTable.of(part)


def _discounts(depth: int) -> _Floats:
    """Return the divisors of the gains at ranks 1 to `depth`: log2(rank + 1)."""
    return np.log2(np.arange(2.0, depth + 2.0, dtype=np.float64))


def _at_rank(table: _Floats, k: int) -> _Floats:
    """Return the column of rank `k`, or the last one if the table ends before it."""
    return table[:, min(k, table.shape[1]) - 1]


def _summed(gains: _Floats, logs: _Floats) -> _Floats:
    """Return the discounted cumulative gain down to each rank."""
    return np.cumsum(gains / logs[: gains.shape[1]], axis=1)


def _ratio(over: _Floats, under: _Floats) -> _Floats:
    """Return `over / under`, 0 where `under` is 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _padded(rows: Sequence[Iterable[float]], lengths: Sequence[int]) -> _Floats:
    flat = np.fromiter(chain.from_iterable(rows), np.float64, sum(lengths))
    width = max(1, *lengths)
    if len(flat) == width * len(lengths):
        return flat.reshape(len(lengths), width)
    table = np.zeros((len(lengths), width))
    table[np.arange(width) < np.array(lengths)[:, None]] = flat
    return table


def _served(queries: Sequence[RankedQuery], depth: int) -> _Floats:
    table = np.full((len(queries), depth), nan)
    for row, query in enumerate(queries):
        has_groups = query.all_of or query.any_of
        ranks = {note: rank for rank, note in enumerate(query.ranking)} if has_groups else {}
        if query.all_of:
            first = [min(ranks.get(note, depth) for note in group) for group in query.all_of]
            table[row] = _share_within(first, depth)
        if query.any_of:
            ways = [[ranks.get(note, depth) for note in set(group)] for group in query.any_of]
            best = np.max([_share_within(way, depth) for way in ways], axis=0)
            table[row] = np.fmin(table[row], best)  # an answer needs both kinds of groups
    return table


def _share_within(ranks: Sequence[int], depth: int) -> _Floats:
    """Return the share of these ranks (from 0) that are within each rank of a ranking; `depth` is outside."""
    return np.bincount(ranks, minlength=depth + 1)[:depth].cumsum() / len(ranks)


def _hit(table: _RankingTable, k: int) -> _Floats:
    """Return 1 if a relevant note has rank <= k, else 0. Source: `success` of trec_eval."""
    return np.where((table.gains[:, :k] > 0).any(axis=1), 1.0, 0.0)


def _reciprocal_rank(table: _RankingTable) -> _Floats:
    """Return 1 / rank of the first relevant note of the whole ranking; 0.0 if there is none."""
    relevant = table.gains > 0
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1), 0.0)


def _ndcg(table: _RankingTable, k: int) -> _Floats:
    """Return DCG / DCG of the ideal order; DCG = sum over rank <= k of max(gain, 0) / log2(rank + 1).

    Source: `ndcg_cut` of trec_eval; Järvelin & Kekäläinen, TOIS 20(4), 2002.
    """
    return _ratio(_at_rank(table.dcg, k), _at_rank(table.ideal_dcg, k))


def _recall(table: _RankingTable, k: int) -> _Floats:
    """Return relevant notes with rank <= k / relevant notes. Source: `recall` of trec_eval."""
    hits = (table.gains[:, :k] > 0).sum(axis=1).astype(np.float64)
    return _ratio(hits, (table.ideal > 0).sum(axis=1).astype(np.float64))


def _group_recall(table: _RankingTable, k: int) -> _Floats:
    """Return how much of the required notes the first `k` contain; NaN for a query without groups of notes.

    Of `all_of`, each group needs a note (subtopic recall: Zhai, Cohen & Lafferty, SIGIR 2003). Of `any_of`, one group
    needs all its notes; its best share counts. A query with both kinds gets the smaller figure.
    """
    return _at_rank(table.served, k)


def _complete(table: _RankingTable, k: int) -> _Floats:
    """Return 1.0 if the first `k` notes contain all that an answer needs, that is `_group_recall` is 1, else 0.0."""
    served = _at_rank(table.served, k)
    return np.where(np.isnan(served), np.nan, (served == 1.0).astype(np.float64))


def _judged(table: _RankingTable, k: int) -> _Floats:
    """Return the share of the first `k` notes that were judged, as `Judged` in ir_measures; NaN without results."""
    returned = np.minimum(table.lengths, k).astype(np.float64)
    holes = table.unjudged[:, :k].sum(axis=1)
    share = np.full(len(returned), np.nan)
    return np.divide(returned - holes, returned, out=share, where=table.is_judged & (returned > 0))


def _ndcg_bound(table: _RankingTable, k: int, *, low: bool) -> _Floats:
    """Return the lowest or highest nDCG@k over all relevances of the unjudged notes; it can be below trec_eval's."""
    bounds = np.full(len(table.gains), np.nan)
    if table.is_judged.any():
        extreme = np.fmin if low else np.fmax
        part = table.rows(table.is_judged)
        bounds[table.is_judged] = extreme.reduce(list(_ndcg_by_count(part, k, low=low)))
    return bounds


def ndcg_changes(queries: Sequence[RankedQuery], k: int) -> Iterator[dict[str, float]]:
    """Return each query's unjudged notes among the first `k`, and the change of nDCG@k if one were relevant."""
    for part, table in _tables(queries):
        holes = table.unjudged[:, :k]
        with_it = (
            _at_rank(table.dcg, k)[:, None] + table.ideal[:, :1] / table.logs[: holes.shape[1]]
        )
        ideal = np.broadcast_to(_ideal_with(table, k, 1)[:, None], with_it.shape)
        changes = (_ratio(with_it, ideal) - _ndcg(table, k)[:, None]).tolist()
        for row, query in enumerate(part):
            yield {
                query.ranking[at]: changes[row][at] for at in map(int, np.flatnonzero(holes[row]))
            }


def _ndcg_by_count(table: _RankingTable, k: int, *, low: bool) -> Iterator[_Floats]:
    """Yield the lowest, or highest, nDCG@k if exactly 0, 1, 2, ... unjudged notes are relevant; NaN beyond."""
    gain, dcg = table.ideal[:, 0], _at_rank(table.dcg, k)
    holes = table.unjudged[:, :k]
    weights = np.sort(np.where(holes, 1.0 / table.logs[: holes.shape[1]], np.inf if low else 0.0))
    if not low:
        weights = weights[:, ::-1]
    more, count = np.zeros(len(dcg)), holes.sum(axis=1)
    yield _ndcg(table, k)
    for number in range(1, int(count.max()) + 1):
        more = more + weights[:, number - 1]
        enough = count >= number
        value = _ratio(dcg + gain * np.where(enough, more, 0.0), _ideal_with(table, k, number))
        yield np.where(enough, np.minimum(value, 1.0), np.nan)  # two roundings can pass 1


def _ideal_with(table: _RankingTable, k: int, number: int) -> _Floats:
    """Return DCG@k of the ideal order if `k` or fewer further notes had the highest gain; they rank first."""
    logs = _discounts(k)
    first = table.ideal[:, 0] * np.cumsum(1.0 / logs)[number - 1]
    left = table.ideal[:, : k - number]
    return first + _summed(left, logs[number:])[:, -1] if left.size else first


_metric = Rows("search", "rankings")
METRICS = (
    _metric(
        _hit,
        "hit_at_{k}",
        _("hit@{k}", k="{k}"),
        Use(gate=True, main=1, first=True, page=1, summary=1),
    ).described(
        _("share of the queries with an expected note among the first k results"),
        _("share of the queries with an expected note as the first result"),
    ),
    _metric(_reciprocal_rank, "mrr", _("MRR"), SHOWN).described(
        _(
            "mean of 1 / rank of the first expected note; a query whose results have no expected note counts 0"
        )
    ),
    _metric(
        _ndcg, "ndcg_at_{k}", _("nDCG@{k}", k="{k}"), Use(gate=True, main=1, summary=1)
    ).described(_("how close the order up to rank k is to the ideal order; 1 is ideal")),
    _metric(
        _recall, "recall_at_{k}", _("recall@{k}", k="{k}"), Use(gate=True, main=1, summary=1)
    ).described(
        _("share of the expected notes among the first k results"),
        _("share of the expected notes that are the first result"),
    ),
    _metric(
        _group_recall, "group_recall_at_{k}", _("group recall@{k}", k="{k}"), Use(gate=True)
    ).described(_("share of the groups of required notes covered by the first k")),
    _metric(
        _complete, "complete_at_{k}", _("complete@{k}", k="{k}"), Use(gate=True, main=1)
    ).described(
        _("share of the queries whose results up to rank k have all the notes that an answer needs")
    ),
    _metric(_judged, "judged_at_{k}", _("judged@{k}", k="{k}"), Use(undirected=True)).described(
        _("share of the notes up to rank k that have a relevance label")
    ),
    _metric(
        partial(_ndcg_bound, low=True), "ndcg_low_at_{k}", _("nDCG@{k}, lower bound", k="{k}")
    ).described(_("lowest nDCG@k possible, whatever the unlabelled notes are")),
    _metric(
        partial(_ndcg_bound, low=False), "ndcg_high_at_{k}", _("nDCG@{k}, upper bound", k="{k}")
    ).described(_("highest nDCG@k possible, whatever the unlabelled notes are")),
)


def measure_rankings(queries: Sequence[RankedQuery], topk: int) -> list[dict[str, float | None]]:
    """Return every metric of rankings of each query, by its name in the reports.

    Cut-offs above `topk` are left out, and so are metrics of groups and judgements for queries without them.
    """
    ranks = cutoffs(topk)
    rows: list[dict[str, float | None]] = []
    for _places, table in _tables(queries):
        columns: dict[str, _Floats] = {
            name: column
            for name, column in measured(METRICS, "rankings", table, ranks=ranks).items()
            if not np.isnan(column).all()
        }
        values = np.column_stack(list(columns.values()))
        whole = not np.isnan(values).any()
        for row in values.tolist():
            named = zip(columns, row, strict=True)
            rows.append(dict(named) if whole else {n: v for n, v in named if v == v})  # noqa: PLR0124  not NaN
    for figures, query in zip(rows, queries, strict=True):
        figures.update(measured((), "ranking", query.ranking, query.qrels, ranks=ranks))
    return rows
