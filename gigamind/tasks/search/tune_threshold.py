"""Finds the --min-score that fits new settings, because another fusion has another score scale.

With the weighted threshold, balanced fusion refused 101 of 158 answerable queries of the example vault; weighted none.
"""

import math

from gigamind.evaluation.progress import Progress, Quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.schema import JudgeRates

_DECIMALS = 10_000


def matching_min_score(
    chosen: SearchEvalOptions, current: JudgeRates | None, progress: Progress | None = None
) -> float | None:
    """Return the highest threshold that refuses no more answerable queries than today, with four decimals.

    None if the current one fits: it makes no more errors of either kind, or another judge decides.
    """
    if current is None or chosen.unanswerable_mode != "threshold":
        return None
    answerable, unanswerable = _top_scores(chosen, progress or Quiet())
    refused = sum(score < current.setting for score in answerable)
    missed = sum(score >= current.setting for score in unanswerable)
    if refused <= current.refused and missed <= current.missed:
        return None
    if current.refused >= len(answerable):
        return None
    least = sorted(answerable)[current.refused]
    return max(0.0, math.floor(least * _DECIMALS) / _DECIMALS) if least > -math.inf else 0.0


def _top_scores(options: SearchEvalOptions, progress: Progress) -> tuple[list[float], list[float]]:
    """Return the Top-1 base scores of answerable and of unanswerable queries; -inf if nothing was found."""
    prepared = prepare(options)
    scores: dict[bool, list[float]] = {True: [], False: []}
    with open_retriever(
        prepared.vault,
        prepared.identities,
        options.retrieval,
        lambda done, total: progress.stage("Indexing", done, total),
    ) as retriever:
        for done, query in enumerate(prepared.queries, 1):
            hits = retriever.search(query.item.query)
            scores[query.item.answerable].append(hits[0].base_score if hits else -math.inf)
            progress.stage("Queries", done, len(prepared.queries))
    return scores[True], scores[False]
