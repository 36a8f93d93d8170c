"""How well one ranking finds the relevant notes of one query.

A ranking is note paths, best first, each at most once.  A note is relevant when its gain in the qrels is above 0.
Every figure lies in [0, 1].  A query without relevant notes has nothing to find: it is 0.0 everywhere here and must be
left out of the mean by the caller.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, log2

from gigamind.metrics.spec import SHOWN, Rows, Use, measured

CUTOFFS = (1, 3, 5, 10)  # the ranks that reports show; the run's own topk comes on top


def hit(ranking: Sequence[str], qrels: Mapping[str, int], k: int) -> float:
    """1.0 when a relevant note is among the first `k`, else 0.0: the `success` of trec_eval."""
    return float(any(_relevant(ranking[:k], qrels)))


def reciprocal_rank(ranking: Sequence[str], qrels: Mapping[str, int]) -> float:
    """1 / rank of the first relevant note of the whole ranking; 0.0 when there is none."""
    ranks = (rank for rank, found in enumerate(_relevant(ranking, qrels), start=1) if found)
    first = next(ranks, None)
    return 1.0 / first if first else 0.0


def ndcg(ranking: Sequence[str], qrels: Mapping[str, int], k: int) -> float:
    """Normalised discounted cumulative gain of the first `k` notes.

    Linear gain, log2(rank + 1) discount: the `ndcg_cut` of trec_eval, after Järvelin & Kekäläinen, TOIS 20(4), 2002.
    """
    ideal = _dcg(sorted(qrels.values(), reverse=True)[:k])
    return _dcg(qrels.get(note, 0) for note in ranking[:k]) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], qrels: Mapping[str, int], k: int) -> float:
    """Share of the relevant notes that are among the first `k`."""
    relevant = sum(gain > 0 for gain in qrels.values())
    return sum(_relevant(ranking[:k], qrels)) / relevant if relevant else 0.0


_metric = Rows("search", "ranking")
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
)


def measure_ranking(
    ranking: Sequence[str], qrels: Mapping[str, int], topk: int
) -> dict[str, float | None]:
    """Every metric that takes "ranking" of one answerable query, by its name in the reports.

    Cutoffs above `topk` are left out: a ranking of `topk` notes says nothing about the ranks beyond.
    """
    cutoffs = sorted({k for k in CUTOFFS if k <= topk} | {topk})
    values: dict[str, float | None] = {}
    for metric, of in measured(METRICS, "ranking"):
        if metric.has_cutoff:
            values |= {metric.at(k): of(ranking, qrels, k) for k in cutoffs}
        else:
            values[metric.name] = of(ranking, qrels)
    return values


def _relevant(notes: Iterable[str], qrels: Mapping[str, int]) -> Iterable[bool]:
    return (qrels.get(note, 0) > 0 for note in notes)


def _dcg(gains: Iterable[int]) -> float:
    """Negative gains count as none, as in trec_eval.  `fsum`, for `sum` rounds differently from Python 3.12 on."""
    return fsum(max(gain, 0) / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
