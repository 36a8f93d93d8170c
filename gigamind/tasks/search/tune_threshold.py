"""The --min-score that a switch of settings takes: another fusion has scores on another scale.

Balanced scores stand lower than weighted ones; under the threshold of the settings that are, 101 of 158 answerable
queries of the example vault were refused, and none before.
"""

import math

from gigamind.evaluation.progress import Progress, Quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.schema import JudgeRates

_DECIMALS = 10_000


def held_min_score(
    chosen: SearchEvalOptions, as_is: JudgeRates | None, progress: Progress | None = None
) -> float | None:
    """The highest threshold that refuses no more answerable queries than are refused as it is, with four decimals.

    None where the threshold may stay: it is no worse in either kind of error, or another judge decides.

    Raises:
        NotesError, IndexingError, EmbeddingError: as an evaluation raises them.
    """
    if as_is is None or chosen.unanswerable_mode != "threshold":
        return None
    answerable, unanswerable = _top_scores(chosen, progress or Quiet())
    refused = sum(score < as_is.setting for score in answerable)
    missed = sum(score >= as_is.setting for score in unanswerable)
    if refused <= as_is.refused and missed <= as_is.missed:
        return None
    if as_is.refused >= len(answerable):
        return None
    least = sorted(answerable)[as_is.refused]
    return max(0.0, math.floor(least * _DECIMALS) / _DECIMALS) if least > -math.inf else 0.0


def _top_scores(options: SearchEvalOptions, progress: Progress) -> tuple[list[float], list[float]]:
    """Base scores of the first notes, of answerable queries and of the others; -inf where nothing is found."""
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
