"""How well rankings (note paths, best first, each at most once) find the relevant notes (gain above 0) of queries.

Each function returns an array (n,) in [0, 1]. Queries without relevant notes get 0.0; callers leave them out of the
mean.
"""

import numpy as np

from gigamind.i18n import _
from gigamind.metrics.ranking_table import Floats, RankingTable, at_rank, ratio
from gigamind.metrics.spec import SHOWN, Rows, Use


def hit(table: RankingTable, k: int) -> Floats:
    """Return 1.0 if a relevant note is among the first `k`, else 0.0, as `success` in trec_eval."""
    return np.where((table.gains[:, :k] > 0).any(axis=1), 1.0, 0.0)


def reciprocal_rank(table: RankingTable) -> Floats:
    """Return 1 / rank of the first relevant note of the whole ranking; 0.0 if there is none."""
    relevant = table.gains > 0
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1), 0.0)


def ndcg(table: RankingTable, k: int) -> Floats:
    """Return the normalised discounted cumulative gain of the first `k` notes, as `ndcg_cut` in trec_eval.

    Linear gain, negative as 0, log2(rank + 1) discount (Järvelin & Kekäläinen, TOIS 20(4), 2002).
    """
    return ratio(at_rank(table.dcg, k), at_rank(table.ideal_dcg, k))


def recall(table: RankingTable, k: int) -> Floats:
    """Return the share of the relevant notes that are among the first `k`."""
    hits = (table.gains[:, :k] > 0).sum(axis=1).astype(np.float64)
    return ratio(hits, (table.ideal > 0).sum(axis=1).astype(np.float64))


def group_recall(table: RankingTable, k: int) -> Floats:
    """Return how much of the required notes the first `k` contain; NaN for a query without groups of notes.

    Of `all_of`, each group needs a note (subtopic recall: Zhai, Cohen & Lafferty, SIGIR 2003). Of `any_of`, one group
    needs all its notes; its best share counts. A query with both kinds gets the smaller figure.
    """
    return at_rank(table.served, k)


def complete(table: RankingTable, k: int) -> Floats:
    """Return 1.0 if the first `k` notes contain all that an answer needs, that is `group_recall` is 1, else 0.0."""
    served = at_rank(table.served, k)
    return np.where(np.isnan(served), np.nan, (served == 1.0).astype(np.float64))


_metric = Rows("search", "rankings")
METRICS = (
    _metric(
        hit,
        "hit_at_{k}",
        _("hit@{k}", k="{k}"),
        Use(gate=True, main=1, first=True, page=1, summary=1),
    ).described(_("queries with an expected note among the first k")),
    _metric(reciprocal_rank, "mrr", _("MRR"), SHOWN).described(
        _("1 / rank of the first expected note")
    ),
    _metric(
        ndcg, "ndcg_at_{k}", _("nDCG@{k}", k="{k}"), Use(gate=True, main=1, summary=1)
    ).described(_("order of the first k notes compared with the ideal order")),
    _metric(
        recall, "recall_at_{k}", _("recall@{k}", k="{k}"), Use(gate=True, main=1, summary=1)
    ).described(_("share of the expected notes among the first k")),
    _metric(group_recall, "group_recall_at_{k}", _("group recall@{k}", k="{k}"), Use(gate=True)),
    _metric(
        complete, "complete_at_{k}", _("complete@{k}", k="{k}"), Use(gate=True, main=1)
    ).described(_("queries whose first k notes contain all that an answer needs")),
)
