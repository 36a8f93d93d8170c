"""Searches and scores the queries of a run, a line of per_item.jsonl each; `judging` calls models afterwards."""

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gigamind.datasets.check import CheckedQuery
from gigamind.errors import EvaluationError, QueryTimeoutError
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.evaluation.shards import ModelRun, Shard
from gigamind.evaluation.task import Evaluation, Run
from gigamind.evaluation.workers import Effort, Interrupted, ItemOutcome, run_workers
from gigamind.evidence.again import find_again
from gigamind.i18n import _, n_
from gigamind.interop.ranking import Oddity, RankedNote, Ranking
from gigamind.judges.unanswerable import RuleJudge
from gigamind.metrics.ranking import RankedQuery, measure_rankings
from gigamind.metrics.spans import Evidence, Unplaced, measure_spans, out_of_reach
from gigamind.outcome import Failure, Success
from gigamind.records.schema import ErrorReport, PassageReport, SpeedReport
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import Chunk, highlights
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.spans import Passage, Span
from gigamind.systems.dialect import rankings
from gigamind.systems.open import Builtin, open_system
from gigamind.systems.protocol import Guarded, Query, Retriever, System, settle
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.free_judges import (
    ENOUGH_LABELS,
    FreeJudges,
    forecast,
)
from gigamind.tasks.search.prepare import Prepared, choose_judge, prepare
from gigamind.tasks.search.schema import HitReport, ItemReport, ItemResult, RunRecord, SummaryReport
from gigamind.text import tokens
from gigamind.vault.identity import Found, Names
from gigamind.vault.language import note_language, question_language
from gigamind.vault.notes import Note


@dataclass(frozen=True, slots=True)
class _ShownRanking:
    """A ranking, ready to be judged and measured."""

    # The engine's `Hit`s, or the normalised `RankedNote`s of another system.
    hits: Sequence[Hit] | Sequence[RankedNote]
    reports: tuple[HitReport, ...]
    # Evidence of each hit; None if the text of its note is unknown.
    evidence: tuple[Evidence | None, ...]
    oddities: dict[Oddity, int]


def _read_engine(
    prepared: Prepared, engine: Engine, query: str, ranking: Ranking[Hit]
) -> _ShownRanking:
    """Return a ranking of gigamind's own engine with its passages."""
    evidence = engine.evidence(query, [hit.chunk for hit in ranking.hits])
    reports = (
        HitReport.like(hit, **_passages(prepared, hit.passage, shown, hit.words))
        for hit, shown in zip(ranking.hits, evidence, strict=True)
    )
    return _ShownRanking(ranking.hits, tuple(reports), tuple(evidence), {})


@dataclass(frozen=True, slots=True)
class _ForeignHits:
    """Reads rankings of any other system.

    A hit gets the passage that the system returned, if the note contains it; else the chunk of the note with the most
    query words; without a vault, none. A returned text that is not in the note is compared as evidence by its words.
    """

    prepared: Prepared
    engine: Engine | None  # keyword index of the vault; None without a vault
    labelled: Names  # the notes that labels name

    def read(self, query: str, ranking: Ranking[RankedNote]) -> _ShownRanking:
        """Return a ranking with its passages."""
        settled = settle(ranking, self.prepared.options.topk, self._identify)
        oddities: Counter[Oddity] = Counter(settled.oddities)
        chunks, unplaced = self._chunks(query, settled.hits, oddities)
        passages = self.engine.evidence(query, chunks.values()) if self.engine else []
        evidence: dict[str, Evidence] = {**dict(zip(chunks, passages, strict=True)), **unplaced}
        words = frozenset(tokens(query))
        reports = (
            self._report(hit, chunks.get(hit.note), evidence.get(hit.note), words)
            for hit in settled.hits
        )
        return _ShownRanking(
            settled.hits,
            tuple(reports),
            tuple(evidence.get(hit.note) for hit in settled.hits),
            {name: count for name, count in oddities.items() if count},
        )

    def _identify(self, name: str) -> Found | None:
        if self.engine is None:
            return self.labelled.find(name) or Found(name)
        return self.prepared.identities.find(name)

    def _chunks(
        self, query: str, hits: Sequence[RankedNote], oddities: Counter[Oddity]
    ) -> tuple[dict[str, Chunk], dict[str, Unplaced]]:
        """Return a chunk, or a text that is not in the note, by note; neither for notes outside the vault."""
        if self.engine is None:
            return {}, {}
        chunks = self.engine.chunks_of(query, [hit.note for hit in hits])
        unplaced: dict[str, Unplaced] = {}
        for hit in hits:
            note = self.prepared.vault.note(hit.note)
            text = hit.text.strip()
            if note is None or not (hit.place or text):
                continue
            place = self._place(hit, note)
            oddities["unplaced_texts"] += place is None
            if place is not None:
                passage = Passage(note.path, place.slice(note.text), place)
                chunks[note.path] = Chunk(passage, note.title)
            elif text:
                unplaced[note.path] = Unplaced(note.path, text)
                del chunks[note.path]
        return chunks, unplaced

    def _place(self, hit: RankedNote, note: Note) -> Span | None:
        if hit.place:
            with contextlib.suppress(ValueError):  # beyond the file, or within a surrogate pair
                return self.prepared.units(note.path).span_to_code_points(*hit.place) or None
        text = hit.text.strip()
        return find_again(text, note.text) if text else None

    def _report(
        self, hit: RankedNote, chunk: Chunk | None, shown: Evidence | None, words: frozenset[str]
    ) -> HitReport:
        note = self.prepared.vault.note(hit.note)
        passages = (
            _passages(self.prepared, chunk.passage, shown, words)
            if chunk and isinstance(shown, Passage)
            else {"chunk": None, "evidence": None}
        )
        return HitReport.like(
            hit,
            text=shown.text if isinstance(shown, Unplaced) else "" if note else hit.text,
            final_score=hit.base_score,
            semantic_score=None,
            keyword_score=None,
            title=note.title if note else "",
            **passages,
        )


def _passage_report(prepared: Prepared, passage: Passage) -> PassageReport:
    """Return a passage with offsets in UTF-16 code units of its file."""
    start, end = prepared.units(passage.note).span_from_code_points(passage.span)
    return PassageReport(note=passage.note, utf16_start=start, utf16_end=end, text=passage.text)


def _passages(
    prepared: Prepared, chunk: Passage, shown: Passage, words: frozenset[str]
) -> dict[str, Any]:
    units = prepared.units(shown.note)
    return {
        "chunk": _passage_report(prepared, chunk),
        "evidence": _passage_report(prepared, shown),
        "highlights": tuple(units.span_from_code_points(span) for span in highlights(shown, words)),
    }


_CROSS_LINGUAL_TAG = "cross-lingual"


def _item_report(
    prepared: Prepared,
    judges: FreeJudges,
    query: CheckedQuery,
    ranking: _ShownRanking,
    latency_ms: float,
) -> ItemReport:
    """Apply the free judges to the ranking of one query, and measure its evidence; see `_with_ranking_metrics`."""
    item = query.item
    verdicts = judges.verdicts(item.query, ranking.hits)
    verdict = verdicts.get(prepared.judge.judge.kind) if prepared.judge else None
    # Over all ten notes, precision with one relevant note is at most 0.1.
    shown = filter(None, ranking.evidence[: prepared.options.evidence_notes])
    return ItemReport.like(
        item,
        cross_lingual=_is_cross_lingual(prepared, query),
        expected_notes=query.relevant,
        gains=query.qrels if query.is_judged else {},
        expected_spans=tuple(_passage_report(prepared, span) for span in query.spans),
        gone_spans=query.gone,
        ranking=ranking.reports,
        judged_unanswerable=verdict.unanswerable if verdict else None,
        top_base_score=ranking.hits[0].base_score if ranking.hits else None,
        answerable_score=verdict.score if verdict else None,
        judged_across_languages=verdict.across_languages if verdict else None,
        judges=verdicts,
        metrics=measure_spans(list(shown), query.spans) if item.answerable else {},
        latency_ms=latency_ms if prepared.is_timed else None,
        oddities=ranking.oddities,
    )


def _with_ranking_metrics(
    items: Sequence[ItemReport], queries: Sequence[CheckedQuery], topk: int
) -> list[ItemReport]:
    """Measure the rankings of answerable queries against their labels, all at once."""
    pairs = zip(items, queries, strict=True)
    answerable = [(item, query) for item, query in pairs if item.answerable]
    ranked = [
        RankedQuery([hit.note for hit in item.ranking], query.qrels, query.is_judged, *query.groups)
        for item, query in answerable
    ]
    measured = zip(answerable, measure_rankings(ranked, topk), strict=True)
    metrics = {item.id: {**figures, **item.metrics} for (item, _query), figures in measured}
    return [item.model_copy(update={"metrics": metrics.get(item.id, {})}) for item in items]


def _is_cross_lingual(prepared: Prepared, query: CheckedQuery) -> bool:
    if _CROSS_LINGUAL_TAG in query.item.tags:
        return True
    notes = [note for path in query.relevant if (note := prepared.vault.note(path))]
    language = re.split("[-_]", (query.item.language or "").strip().lower())[0]
    if language and all(note.language for note in notes):
        return bool(notes) and language not in map(note_language, notes)
    # Languages that are not declared are told apart only as Korean and others.
    is_korean = (language or question_language(query.item.query)) == "ko"
    return bool(notes) and is_korean not in {note_language(note) == "ko" for note in notes}


@dataclass(frozen=True)
class _SearchEvaluation(Evaluation[SummaryReport, ItemReport, ItemResult]):
    """Checked input and a search that is ready."""

    prepared: Prepared
    retriever: System[Ranking[Any]]
    # The same search with cached query embeddings, for repeated queries.
    recalled: System[Ranking[Any]]
    read: Callable[[str, Ranking[Any]], _ShownRanking]  # adds passages to a ranking
    judges: FreeJudges
    engine: Engine | None  # gigamind's own engine over the vault; None if another system searches
    progress: Progress = field(default_factory=Quiet)
    results = TypeAdapter(list[ItemResult])

    @property
    def count(self) -> int:
        return len(self.prepared.queries)

    @property
    def asks_a_model(self) -> bool:
        judge = self.prepared.judge
        return judge is not None and not isinstance(judge.judge, RuleJudge)

    def warm_up(self) -> int:
        """Run the first `--warmup` queries unmeasured; raises EvaluationError if all of them failed."""
        queries = self.prepared.queries[: self.prepared.options.warmup]
        outcomes = self._retrieve(queries, Quiet())
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        # Timeouts do not count, because the first queries are slow.
        fatal = [failure for failure in failures if failure.error != QueryTimeoutError.__name__]
        if fatal and len(fatal) == len(outcomes):
            problem = n_(
                "The first query failed, so nothing was measured: {reason}",
                "The first {n} queries failed, so nothing was measured: {reason}",
                n=len(outcomes),
                reason=fatal[0].message,
            )
            raise EvaluationError(problem)
        return len(queries)

    def score(self, first: int, end: int, progress: Progress) -> list[ItemResult]:
        """Rank the notes for each query, apply the free judges, and compare the ranking with the labels."""
        try:
            return self._measured(self._retrieve(self.prepared.queries[first:end], progress))
        except Interrupted as stop:
            raise Interrupted(self._measured(stop.results)) from stop

    def ask(
        self,
        results: Sequence[ItemResult],
        out: Path,
        progress: Progress,
        shard: Shard | None = None,
    ) -> ModelRun:
        from gigamind.tasks.search.judging import ask_model

        items = {item.id: item for item in results if isinstance(item, ItemReport)}
        return ask_model(self.prepared, items, out, progress, shard)

    def record(self, run: Run[ItemResult], started: datetime) -> RunRecord:
        from gigamind.tasks.search.summary import record_run

        prepared = _with_reach(self.prepared, self.engine) if self.engine else self.prepared
        judge, made = prepared.judge, None
        if self.engine and judge and not run.interrupted:
            searched, wanted = prepared.options.retrieval, _wants_forecast(prepared)
            made = forecast(prepared.vault, searched, judge, self.progress, only_cached=not wanted)
        passes = self._speed(run)
        return record_run(prepared, self.judges, run, started, passes=passes, forecast=made)

    def _speed(self, run: Run[ItemResult]) -> SpeedReport | None:
        options = self.prepared.options
        if run.interrupted or not options.speed_passes or not self.prepared.is_timed:
            return None
        items = (item for item in run.results if isinstance(item, ItemReport))
        searched = {item.id: Query(item.id, item.query) for item in items}
        bills = options.is_builtin and options.retrieval.bills
        clock = "wall" if options.qdrant_url or not options.is_builtin else "cpu"
        took_ms = run.opening_ms + run.scoring_ms
        effort = Effort.within(took_ms, options.speed_passes, options.seed, clock)
        search = self.recalled if bills else self.retriever
        return effort.measure(searched, search.ask)

    def close(self) -> None:
        self.retriever.close()

    def _retrieve(
        self, queries: Sequence[CheckedQuery], progress: Progress
    ) -> list[ItemOutcome[Ranking[Any]]]:
        options, ended = self.prepared.options, itertools.count(1)
        by_id = {query.item.id: Query(query.item.id, query.item.query) for query in queries}
        return run_workers(
            {name: partial(self.retriever.ask, query) for name, query in by_id.items()},
            max_concurrency=options.concurrency,
            timeout_ms=options.timeout_ms,
            on_end=lambda _outcome: progress.stage("Queries", next(ended), len(queries)),
        )

    def _measured(self, outcomes: Sequence[ItemOutcome[Ranking[Any]]]) -> list[ItemResult]:
        by_id = {query.item.id: query for query in self.prepared.queries}
        successes = [outcome for outcome in outcomes if isinstance(outcome, Success)]
        queries = [by_id[outcome.item_id] for outcome in successes]
        items: list[ItemReport] = []
        for query, outcome in zip(queries, successes, strict=True):
            ranking = self.read(query.item.query, outcome.value)
            items.append(
                _item_report(self.prepared, self.judges, query, ranking, outcome.latency_ms)
            )
        measured = iter(_with_ranking_metrics(items, queries, self.prepared.options.topk))
        return [_error(x) if isinstance(x, Failure) else next(measured) for x in outcomes]


def _error(failure: Failure) -> ErrorReport:
    message = _("query {id}: {reason}", id=failure.item_id, reason=failure.message)
    return ErrorReport(kind="item", id=failure.item_id, error=failure.error, message=message)


def open_search(
    options: SearchEvalOptions, progress: Progress, retriever: Retriever[RankedNote] | None = None
) -> _SearchEvaluation:
    """Check the input, and index the vault or open the other system, unless the caller has opened `retriever`.

    Raises:
        InputError, DatasetError: Options or dataset cannot be used (exit code 1).
        NotesError, IndexingError: The vault cannot be read or indexed (exit code 2).
        EmbeddingError: The embedding model failed (exit code 3).
    """
    prepared = prepare(options)

    def index(settings: RetrievalSettings) -> Engine:
        return open_retriever(
            prepared.vault, prepared.identities, settings, partial(progress.stage, "Indexing")
        )

    if not options.is_builtin:
        keywords = replace(options.retrieval, mode="keyword")
        return _open_system(prepared, index(keywords) if options.notes else None, retriever)
    engine, recalled = index(options.retrieval).recording()
    embedder = engine.semantic.embedder.name if engine.semantic else None
    judge = choose_judge(options, embedder)
    warnings = (*(judge.warnings if judge else ()), *prepared.warnings)
    prepared = replace(prepared, judge=judge, embedding_model=embedder, warnings=warnings)
    read, judges = (
        partial(_read_engine, prepared, recalled),
        FreeJudges.of(prepared.judge, recalled),
    )
    searches = Builtin(engine), Builtin(recalled)
    return _SearchEvaluation(prepared, *searches, read, judges, engine, progress)


def _open_system(
    prepared: Prepared, keywords: Engine | None, retriever: Retriever[RankedNote] | None
) -> _SearchEvaluation:
    """Open another system; `keywords` finds the evidence in the notes that it returns."""
    options = prepared.options
    whole = options.sample is None and not prepared.errors
    ids = {query.item.id for query in prepared.queries}
    if retriever is None:
        system = open_system(options.named_system, rankings(options.topk), ids if whole else None)
    else:
        system = Guarded[Ranking[RankedNote]](retriever, "search", Ranking)
    if system.concurrency is not None:
        most = min(options.concurrency, system.concurrency)
        options = options.model_copy(update={"max_concurrency": most})
    warnings = (*prepared.warnings, *system.warnings)
    prepared = replace(prepared, options=options, warnings=warnings)
    labelled = (note for query in prepared.queries for note in query.qrels)
    read = _ForeignHits(prepared, keywords, Names(labelled)).read
    judges = FreeJudges.of(prepared.judge, None)
    return _SearchEvaluation(prepared, system, system, read, judges, None)


def _with_reach(prepared: Prepared, engine: Engine) -> Prepared:
    """Return the input with a warning if no evidence can match some labelled spans."""
    labels = [span for query in prepared.queries for span in query.spans if span.span]
    by_note: dict[str, list[Span]] = {}
    for label in labels:
        by_note.setdefault(label.note, []).append(label.span)
    pieces: dict[str, list[Span]] = {}
    for chunk in engine.chunks:
        own, passage = by_note.get(chunk.passage.note, ()), chunk.passage
        if any(span.iou(passage.span) for span in own):  # other chunks can match no label
            start = passage.span.start
            cut = (sentence.span for sentence in chunk.sentences)
            shown = [Span(start + span.start, start + span.end) for span in cut]
            pieces.setdefault(passage.note, []).extend((*shown, passage.span))
    unreachable = out_of_reach(labels, pieces)
    if unreachable is None:
        return prepared
    chars = {"label": unreachable.label_chars, "piece": unreachable.piece_chars}
    caution = _(
        "{count:,} of {labels:,} labelled passages cannot match any evidence, which lowers span precision and span"
        " recall. Their median length is {label:g} characters; nearby sentences have {piece:g}. Label the whole"
        " sentence that answers the query.",
        **{"count": unreachable.count, "labels": unreachable.labels, **chars},
    )
    return replace(prepared, out_of_reach=unreachable, warnings=(*prepared.warnings, caution))


_MOST_NOTES = 200  # of a vault whose run computes a forecast without a request


def _wants_forecast(prepared: Prepared) -> bool:
    """Return whether a run computes the forecast: it was requested, or the labels of the run are too few."""
    labelled = sum(not query.item.answerable for query in prepared.queries)
    is_free = prepared.judge is not None and isinstance(prepared.judge.judge, RuleJudge)
    too_few = 0 < labelled < ENOUGH_LABELS and len(prepared.vault.notes) <= _MOST_NOTES
    return prepared.options.judge_forecast or (is_free and too_few)
