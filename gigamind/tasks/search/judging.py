"""Lets a model judge whether the retrieved notes answer each query, and estimates what that costs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gigamind.evaluation.asking import Account, Models, ask_all, judged_again
from gigamind.evaluation.costs import dollars_of, estimate_calls
from gigamind.evaluation.inputs import SHORTER_CONTEXT, ContextNote, context_of, context_of_hits
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import ModelRun, Shard
from gigamind.evaluation.task import Estimate
from gigamind.evidence.result import Aligned
from gigamind.i18n import _
from gigamind.judges.protocol import Asking, QuestionCase
from gigamind.judges.unanswerable_llm import LlmVerdict, ModelJudge
from gigamind.llm.client import likely_tokens
from gigamind.llm.ledger import price_of
from gigamind.llm.limiter import Limiters
from gigamind.prompting.fences import fence_key
from gigamind.records.judged import FLAGGED, JudgementReport, JudgeReport, QuoteReport
from gigamind.retrieval.cache import quiet
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
from gigamind.runs.store import ItemKey, unless_final
from gigamind.spans import Span
from gigamind.tasks.search.prepare import Prepared
from gigamind.tasks.search.schema import ItemReport
from gigamind.vault.language import question_language


def _judgement(
    prepared: Prepared,
    verdict: LlmVerdict,
    context: Sequence[ContextNote],
    unread: Mapping[str, int],
) -> JudgementReport:
    """Return the judgement as JSON values. Quotes have offsets in the note's file, not in the part that was shown."""
    places = range(len(verdict.evidence))
    return JudgementReport.like(
        verdict,
        outcome="scored",
        quotes=tuple(_quote(prepared, verdict, place, context) for place in places),
        flagged={context[n - 1].path: tuple(flags) for n, flags in verdict.flagged.items()},
        unread=dict(sorted(unread.items())),
    )


def _quote(
    prepared: Prepared, verdict: LlmVerdict, place: int, context: Sequence[ContextNote]
) -> QuoteReport:
    evidence = verdict.evidence[place]
    text, index = evidence.quote.text, evidence.quote.source_index
    note = context[index] if 0 <= index < len(context) else None
    if not isinstance(evidence, Aligned) or note is None:
        outcome = "aligned" if isinstance(evidence, Aligned) else evidence.reason
        path = note.path if note else None
        return QuoteReport(text=text, note=path, match=outcome, trusted=False)
    span = Span(evidence.span.start + note.start, evidence.span.end + note.start)
    start, end = prepared.units(note.path).span_from_code_points(span)
    return QuoteReport(
        text=text,
        note=note.path,
        match=FLAGGED if verdict.weak.get(place) == "speaks_to_judge" else evidence.method,
        trusted=verdict.proves(place),
        utf16_start=start,
        utf16_end=end,
    )


_ROLE = "unanswerable"


def _case(prepared: Prepared, item: ItemReport) -> tuple[QuestionCase, Sequence[ContextNote]]:
    """Return a query with the notes that a model reads for it, the top of its ranking."""
    chunks = (hit.chunk for hit in item.ranking if hit.chunk)
    known = ((prepared.vault.note(chunk.note), chunk) for chunk in chunks)
    notes = [
        (note, prepared.units(note.path).span_to_code_points(chunk.utf16_start, chunk.utf16_end))
        for note, chunk in known
        if note
    ]
    options = prepared.options
    context = context_of(notes, options.context_notes, options.context_chars)
    return _question(item.query, item.language, context), context


def _question(query: str, language: str | None, context: Sequence[ContextNote]) -> QuestionCase:
    own = (language or question_language(query)).lower()[:2]
    return QuestionCase(query, [note.source for note in context], own)


def ask_model(
    prepared: Prepared,
    items: Mapping[str, ItemReport],
    out: Path,
    progress: Progress,
    shard: Shard | None = None,
) -> ModelRun:
    """Judge each query of the run or shard that has a ranking with the model of the run's judge; see `ask_all`."""
    options, report = prepared.options, prepared.judge.report if prepared.judge else None
    judge = prepared.judge.judge if prepared.judge else None
    if report is None or not isinstance(judge, ModelJudge):
        raise TypeError("the judge of this run asks no model")
    fence, fresh = fence_key(options.replies, options.store_mode), _judged_twice(prepared)

    async def ask(models: Models, key: ItemKey, item: ItemReport) -> Any:  # noqa: ANN401  JSON values
        case, context = _case(prepared, item)
        asking = Asking(models[_ROLE], item.id, fence, shorter=SHORTER_CONTEXT)
        verdict, flipped = await judge.judge(case, asking), None
        report = _judgement(prepared, verdict.detail, context, asking.unread)
        if key.item_id in fresh:
            again = await unless_final(judge.judge(case, asking.afresh()))
            flipped = again.scores != verdict.scores if again else None
        return report.model_copy(update={"flipped": flipped}).model_dump(mode="json")

    def connect(account: Account) -> Models:
        return {_ROLE: account.open(_ROLE, judge.models(options), options, judge.settings)}

    return ask_all(
        {ItemKey(name): item for name, item in items.items()},
        ask,
        connect,
        _identity(prepared, report),
        options,
        out=out,
        progress=progress,
        needs=lambda key, item: (
            (2 if key.item_id in fresh else 1) * judge.calls(_case(prepared, item)[0])
        ),
        shard=shard,
    )


def _judged_twice(prepared: Prepared) -> frozenset[str]:
    names, options = [query.item.id for query in prepared.queries], prepared.options
    return judged_again(names, options.fresh_fraction, options.seed)


def _identity(prepared: Prepared, judge: JudgeReport) -> dict[str, str]:
    searched = ("mode", "fusion", "alpha", "topk", "graph_rerank", "rerank")
    settings = (*searched, "context_notes", "context_chars", "sample", "seed", "fresh_fraction")
    own = {"embedding model": prepared.embedding_model or ""}
    return prepared.identity(judge, own, settings)


_ENCODED_PER_S = 80.0  # chunks per second of the bundled encoder on one core; measured: 63 to 110
_QUERIES_PER_S = 50.0
_EMBEDDING_BATCH = 64
_PROVIDER = "litellm:"


def estimate(prepared: Prepared) -> list[Estimate]:
    """Return the estimates (see `estimate_calls`) of a prepared run, embedding first, without stored replies."""
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
    first = prepared.queries[0].item.id
    return (2 if first in _judged_twice(prepared) else 1) * judge.calls(next(_cases(prepared)))


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
    likely = sum(likely_tokens(text) for text in (*texts, *queries))
    sent = (round(0.6 * likely), round(1.6 * likely))
    model, api_base = options.embedder.removeprefix(_PROVIDER), options.embedding_api_base
    price = price_of(model, {}, api_base=api_base)
    usd = dollars_of(price, [(n, 0) for n in sent])
    yield Estimate(work, calls, sent, usd, (0.2 * calls, 2 * calls))


def _judging(prepared: Prepared, judge: ModelJudge) -> list[Estimate]:
    planned = [call for case in _cases(prepared) for call in judge.planned(case)]
    (model,) = judge.models(prepared.options)
    work = _("judging {count:,} queries", count=len(planned))
    return [estimate_calls(work, model, planned, prepared.options, limiters=Limiters())]


def _cases(prepared: Prepared) -> Iterator[QuestionCase]:
    options = prepared.options
    settings = replace(options.retrieval, mode="keyword")
    with open_retriever(prepared.vault, prepared.identities, settings, quiet) as retriever:
        for query in prepared.queries:
            hits = retriever.search(query.item.query)
            context = context_of_hits(prepared.vault, hits, options)
            yield _question(query.item.query, query.item.language, context)
