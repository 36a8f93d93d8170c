"""Estimates the cost and duration of a run before it starts (seed 4.3): calls, tokens, dollars, time, as ranges.

Replies in caches or stores are not subtracted.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from gigamind.evaluation.context import context_of_hits
from gigamind.evaluation.estimate import asking, dollars_of, with_fresh
from gigamind.evaluation.task import Estimate
from gigamind.i18n import _
from gigamind.judges.panel import first_members
from gigamind.judges.protocol import QuestionCase
from gigamind.judges.unanswerable_llm import ModelJudge
from gigamind.llm import tokens
from gigamind.llm.limiter import Gates
from gigamind.llm.prices import price_of
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
from gigamind.tasks.search.judging import judged_twice
from gigamind.tasks.search.prepare import Prepared
from gigamind.vault.language import question_language

_ENCODED_PER_S = 80.0  # chunks per second of the bundled encoder on one core; measured: 63 to 110
_QUERIES_PER_S = 50.0
_EMBEDDING_BATCH = 64
_PROVIDER = "litellm:"


def estimate(prepared: Prepared) -> list[Estimate]:
    """Return the estimates (see `asking`) of a prepared run, embedding first."""
    estimates, judge = [*_embedding(prepared)], prepared.judge.judge if prepared.judge else None
    if isinstance(judge, ModelJudge):
        return [*estimates, *_judging(prepared, judge)]
    if prepared.system:  # its speed is unknown
        return estimates
    count = len(prepared.queries)
    work = (
        _("searching and judging {count:,} queries ({judge})", count=count, judge=judge.kind)
        if judge
        else _("searching {count:,} queries (no judge)", count=count)
    )
    seconds = count / _QUERIES_PER_S
    return [*estimates, Estimate(work, 0, (0, 0), (0.0, 0.0), (seconds, seconds))]


def least_calls(prepared: Prepared) -> int:
    """Return the number of requests that judge the first query completely; 0 if no model is called."""
    judge = prepared.judge.judge if prepared.judge else None
    if not isinstance(judge, ModelJudge):
        return 0
    case, options = next(_cases(prepared)), prepared.options
    first = prepared.queries[0].item.id
    return (2 if first in judged_twice(prepared) else 1) * judge.calls(case, options)


def _embedding(prepared: Prepared) -> Iterator[Estimate]:
    options = prepared.options
    if options.mode == "keyword" or prepared.system:
        return
    texts = [chunk.indexed_text for chunk in chunk_notes(prepared.vault.notes, options.chunk_chars)]
    queries = [query.item.query for query in prepared.queries]
    work = _(
        "embedding {passages:,} passages and {queries:,} queries with {model}",
        passages=len(texts),
        queries=len(queries),
        model=options.embedder,
    )
    if not options.embedder.startswith(_PROVIDER):
        seconds = len(texts) / _ENCODED_PER_S + len(queries) / _QUERIES_PER_S
        # The speed of other encoders is unknown; e5-small takes 30 to 55 times as long.
        most = seconds if options.embedder == DEFAULT_EMBEDDER else 60 * seconds
        yield Estimate(work, 0, (0, 0), (0.0, 0.0), (seconds, most))
        return
    calls = math.ceil(len(texts) / _EMBEDDING_BATCH) + len(queries)
    likely = sum(tokens.likely(text) for text in (*texts, *queries))
    sent = (round(0.6 * likely), round(1.6 * likely))
    model, api_base = options.embedder.removeprefix(_PROVIDER), options.embedding_api_base
    price = price_of(model, {}, api_base=api_base)
    yield Estimate(
        work, calls, sent, dollars_of(price, [(n, 0) for n in sent]), (0.2 * calls, 2 * calls)
    )


def _judging(prepared: Prepared, judge: ModelJudge) -> Iterator[Estimate]:
    planned = [call for case in _cases(prepared) for call in judge.planned(case)]
    calls = with_fresh(planned, prepared.options)
    models, most = judge.models(prepared.options), judge.file.repeats
    gates = Gates()
    first = {member.model for member in first_members(judge.file, models[0])}
    for model in models:
        least = (1 if judge.file.adaptive else most) if model in first else 0
        work = _("judging {count:,} queries", count=len(planned))
        yield asking(work, model, calls, prepared.options, (least, most), gates=gates)


def _cases(prepared: Prepared) -> Iterator[QuestionCase]:
    options = prepared.options
    settings = replace(options.retrieval, mode="keyword")
    with open_retriever(
        prepared.vault, prepared.identities, settings, lambda _done, _total: None
    ) as retriever:
        for query in prepared.queries:
            hits = retriever.search(query.item.query)
            context = context_of_hits(prepared.vault, hits, options)
            language = (query.item.language or question_language(query.item.query)).lower()[:2]
            yield QuestionCase(query.item.query, [note.source for note in context], language)
