"""How much figures depend on unjudged notes in the rankings (holes in the qrels); NaN for queries not `is_judged`.

An unjudged note may be irrelevant, as in trec_eval, or have the highest gain of its query. Notes that were not
retrieved keep their judgement.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from gigamind.i18n import _
from gigamind.metrics.ranking import ndcg
from gigamind.metrics.ranking_table import (
    Floats,
    RankedQuery,
    RankingTable,
    at_rank,
    discounts,
    ratio,
    summed,
    tables,
)
from gigamind.metrics.spec import Rows, Use


def judged(table: RankingTable, k: int) -> Floats:
    """Return the share of the first `k` notes that were judged, as `Judged` in ir_measures; NaN without results."""
    returned = np.minimum(table.lengths, k).astype(np.float64)
    holes = table.unjudged[:, :k].sum(axis=1)
    share = np.full(len(returned), np.nan)
    return np.divide(returned - holes, returned, out=share, where=table.is_judged & (returned > 0))


def ndcg_low(table: RankingTable, k: int) -> Floats:
    """Return the lowest nDCG@k over all relevances of the unjudged notes; it can be below trec_eval's."""
    return _over_judged(table, k, low=True)


def ndcg_high(table: RankingTable, k: int) -> Floats:
    """Return the highest nDCG@k over all assignments of relevance to the unjudged notes."""
    return _over_judged(table, k, low=False)


def ndcg_changes(queries: Sequence[RankedQuery], k: int) -> Iterator[dict[str, float]]:
    """Return each query's unjudged notes among the first `k`, and the change of nDCG@k if one were relevant."""
    for part, table in tables(queries):
        holes = table.unjudged[:, :k]
        with_it = at_rank(table.dcg, k)[:, None] + table.ideal[:, :1] / table.logs[: holes.shape[1]]
        ideal = np.broadcast_to(_ideal_with(table, k, 1)[:, None], with_it.shape)
        changes = (ratio(with_it, ideal) - ndcg(table, k)[:, None]).tolist()
        for row, query in enumerate(part):
            yield {
                query.ranking[at]: changes[row][at] for at in map(int, np.flatnonzero(holes[row]))
            }


def _over_judged(table: RankingTable, k: int, *, low: bool) -> Floats:
    bounds = np.full(len(table.gains), np.nan)
    if table.is_judged.any():
        extreme = np.fmin if low else np.fmax
        part = table.rows(table.is_judged)
        bounds[table.is_judged] = extreme.reduce(list(_ndcg_by_count(part, k, low=low)))
    return bounds


def _ndcg_by_count(table: RankingTable, k: int, *, low: bool) -> Iterator[Floats]:
    """Yield the lowest, or highest, nDCG@k if exactly 0, 1, 2, ... unjudged notes are relevant; NaN beyond."""
    gain, dcg = table.ideal[:, 0], at_rank(table.dcg, k)
    holes = table.unjudged[:, :k]
    weights = np.sort(np.where(holes, 1.0 / table.logs[: holes.shape[1]], np.inf if low else 0.0))
    if not low:
        weights = weights[:, ::-1]
    more, count = np.zeros(len(dcg)), holes.sum(axis=1)
    yield ndcg(table, k)
    for number in range(1, int(count.max()) + 1):
        more = more + weights[:, number - 1]
        enough = count >= number
        value = ratio(dcg + gain * np.where(enough, more, 0.0), _ideal_with(table, k, number))
        yield np.where(enough, np.minimum(value, 1.0), np.nan)  # two roundings can pass 1


def _ideal_with(table: RankingTable, k: int, number: int) -> Floats:
    """Return DCG@k of the ideal order if `k` or fewer further notes had the highest gain; they rank first."""
    logs = discounts(k)
    first = table.ideal[:, 0] * np.cumsum(1.0 / logs)[number - 1]
    left = table.ideal[:, : k - number]
    return first + summed(left, logs[number:])[:, -1] if left.size else first


_metric = Rows("search", "rankings")
METRICS = (
    _metric(judged, "judged_at_{k}", _("judged@{k}", k="{k}"), Use(undirected=True)),
    _metric(ndcg_low, "ndcg_low_at_{k}", _("nDCG@{k}, lower bound", k="{k}")),
    _metric(ndcg_high, "ndcg_high_at_{k}", _("nDCG@{k}, upper bound", k="{k}")),
)
