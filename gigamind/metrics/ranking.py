"""How well rankings find the relevant notes of their queries.

A ranking is note paths, best first, each at most once.  A note is relevant when its gain in the qrels is above 0.
Each function gives the figure of every query of a table, (n,), in [0, 1].  A query without relevant notes has nothing
to find: it is 0.0 everywhere here and must be left out of the mean by the caller.
"""

import numpy as np

from gigamind.metrics.ranking_table import Floats, RankingTable, at_rank, ratio
from gigamind.metrics.spec import SHOWN, Rows, Use


def hit(table: RankingTable, k: int) -> Floats:
    """1.0 when a relevant note is among the first `k`, else 0.0: the `success` of trec_eval."""
    return np.where((table.gains[:, :k] > 0).any(axis=1), 1.0, 0.0)


def reciprocal_rank(table: RankingTable) -> Floats:
    """1 / rank of the first relevant note of the whole ranking; 0.0 when there is none."""
    relevant = table.gains > 0
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1), 0.0)


def ndcg(table: RankingTable, k: int) -> Floats:
    """Normalised discounted cumulative gain of the first `k` notes.

    Linear gain, log2(rank + 1) discount: the `ndcg_cut` of trec_eval, after Järvelin & Kekäläinen, TOIS 20(4), 2002.
    Negative gains count as none, as there.
    """
    return ratio(at_rank(table.dcg, k), at_rank(table.ideal_dcg, k))


def recall(table: RankingTable, k: int) -> Floats:
    """Share of the relevant notes that are among the first `k`."""
    hits = (table.gains[:, :k] > 0).sum(axis=1).astype(np.float64)
    return ratio(hits, (table.ideal > 0).sum(axis=1).astype(np.float64))


def group_recall(table: RankingTable, k: int) -> Floats:
    """How much of what an answer needs the first `k` notes hold; NaN for a query without groups of notes.

    Of `all_of`, groups of which each is needed, by any of its notes: share of the groups with a note among the first
    `k`, the subtopic recall of Zhai, Cohen & Lafferty, SIGIR 2003.  Of `any_of`, groups of which one is enough, with
    all its notes: share of the notes of a group that are among the first `k`, of the group that has the most.  Of a
    query with both kinds: the smaller one.
    """
    return at_rank(table.served, k)


def complete(table: RankingTable, k: int) -> Floats:
    """1.0 when the first `k` notes hold all that an answer needs, else 0.0: whether `group_recall` is 1."""
    served = at_rank(table.served, k)
    return np.where(np.isnan(served), np.nan, (served == 1.0).astype(np.float64))


_metric = Rows("search", "rankings")
METRICS = (
    _metric(
        hit,
        "hit_at_{k}",
        "hit@{k}",
        "hit@{k}",
        Use(gate=True, main=1, first=True, page=1, summary=1),
    ).told("an expected note is among the first k", "상위 k개 안에 정답 노트가 있는 비율"),
    _metric(reciprocal_rank, "mrr", "MRR", "MRR", SHOWN).told(
        "1 / rank of the first expected note", "첫 정답 노트 순위의 역수"
    ),
    _metric(ndcg, "ndcg_at_{k}", "nDCG@{k}", "nDCG@{k}", Use(gate=True, main=1, summary=1)).told(
        "order of the first k notes against the ideal one",
        "상위 k개 노트의 순서를 이상적인 순서와 비교한 값",
    ),
    _metric(
        recall, "recall_at_{k}", "recall@{k}", "재현율@{k}", Use(gate=True, main=1, summary=1)
    ).told("share of the expected notes among the first k", "정답 노트 가운데 상위 k개에 든 비율"),
    _metric(
        group_recall, "group_recall_at_{k}", "group recall@{k}", "묶음 재현율@{k}", Use(gate=True)
    ),
    _metric(complete, "complete_at_{k}", "complete@{k}", "완결@{k}", Use(gate=True, main=1)).told(
        "the first k notes hold all that an answer needs",
        "상위 k개 노트에 답에 필요한 내용이 모두 있는 비율",
    ),
)
