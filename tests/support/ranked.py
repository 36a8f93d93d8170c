"""The figures of one ranking."""

from gigamind.metrics.ranking import RankedQuery, measure_rankings


def measure_ranking(ranking, qrels, topk, **labels):
    return measure_rankings([RankedQuery(ranking, qrels, **labels)], topk)[0]


def reciprocal_rank(ranking, qrels):
    return measure_ranking(ranking, qrels, 1)["mrr"]


def hit(ranking, qrels, k):
    return measure_ranking(ranking, qrels, k)[f"hit_at_{k}"]


def ndcg(ranking, qrels, k):
    return measure_ranking(ranking, qrels, k)[f"ndcg_at_{k}"]


def recall(ranking, qrels, k):
    return measure_ranking(ranking, qrels, k)[f"recall_at_{k}"]
