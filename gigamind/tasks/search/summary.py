"""Summarises the results of a run, with the figures and costs of model verdicts (`llm`), for its out folder."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from gigamind.evaluation.shards import ModelRun
from gigamind.evaluation.task import Run
from gigamind.evaluation.workers import latency
from gigamind.i18n import Text, _, n_
from gigamind.interop.ranking import Oddity
from gigamind.judges.unanswerable import CalibratedJudge, ThresholdJudge
from gigamind.metrics.answerability import Confusion, near_misses, verdict_terms
from gigamind.metrics.ranking import RankedQuery, ndcg_changes
from gigamind.records.judged import FLAGGED, JudgementReport, LlmReport
from gigamind.records.schema import ErrorReport, Record, SpeedReport, SystemReport, intervals
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION
from gigamind.runs.store import ItemKey
from gigamind.stats.intervals import Estimate, sliced
from gigamind.systems.dialect import MOST_FAILED, SystemHealth
from gigamind.systems.settings import DEFAULT_PRESET
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search import schema
from gigamind.tasks.search.free_judges import FreeJudges, KnownErrors
from gigamind.tasks.search.prepare import Prepared
from gigamind.vault.identity import key

_MIN_RANKINGS = 5  # with fewer, a poor search may miss all labelled notes although its names match


class _NameMismatch(NamedTuple):
    """Names of notes that the rankings and the labels write differently, with an example of each."""

    rankings: int  # number of rankings with a note if no name matches; 0 if only some do not
    n: int  # number of notes that both have under different names
    ranked: str  # a name in the rankings
    labelled: str  # a name in the labels, of the same file if possible


def _name_mismatch(items: Sequence[schema.ItemReport], *, has_vault: bool) -> _NameMismatch | None:
    """Return the mismatch; None if the names match (with a vault: if any does) or without hits."""
    if has_vault and any(len(i.ranking) > i.oddities.get("unknown_notes", 0) for i in items):
        return None
    names = {hit.note: None for item in items for hit in item.ranking}
    labels = {note: None for item in items for note in (*item.expected_notes, *item.gains)}
    is_known = bool(names.keys() & labels.keys())
    by_file = {_file(name): name for name in reversed(names)}
    pairs = ((label, by_file.get(_file(label), "")) for label in labels if label not in names)
    # Files of one name in two folders may be two notes.
    meant = {a: b for a, b in pairs if b and not (is_known and "/" in a and "/" in b)}
    if not names or not labels or (is_known and not meant):
        return None
    example = next(iter(meant or labels))
    rankings = 0 if is_known else sum(bool(item.ranking) for item in items)
    return _NameMismatch(rankings, len(meant), meant.get(example, next(iter(names))), example)


def _file(name: str) -> str:
    return key(name).rpartition("/")[2]


def _without_score(items: Sequence[schema.ItemReport]) -> list[schema.ItemReport]:
    """Return the queries whose first hit has no score, so that a threshold cannot judge them."""
    return [item for item in items if item.ranking and item.ranking[0].base_score is None]


def _too_few_scores(items: Sequence[schema.ItemReport]) -> bool:
    """Return whether too many queries lack a score; the remaining verdicts could all be of empty rankings."""
    return len(_without_score(items)) > MOST_FAILED * len(items)


def _summarise(
    prepared: Prepared,
    judges: FreeJudges,
    run: Run[schema.ItemResult],
    results: Sequence[schema.ItemResult],
    *,
    passes: SpeedReport | None,
    forecast: schema.ForecastReport | None,
) -> schema.SummaryReport:
    """Return the figures of a run, from results with verdicts. Except for times, equal runs give equal summaries."""
    items = [result for result in results if isinstance(result, schema.ItemReport)]
    judge = prepared.judge.judge if prepared.judge else None
    generated = {query.item.id for query in prepared.queries if query.item.is_generated}
    reach = prepared.out_of_reach
    missing = sum("not_in_run_file" in item.oddities and item.answerable for item in items)
    failed = len(results) - len(items) + missing
    odd = (item.oddities for item in items)
    slices = _slices_of(items, prepared.options.seed)
    overall = slices["overall"]
    return schema.SummaryReport(
        status="interrupted" if run.interrupted else "complete",
        counts=schema.RunCounts(
            queries_total=len(items),
            queries_answerable=overall.counts.answerable,
            queries_unanswerable=overall.counts.unanswerable,
            rows_rejected=prepared.rows_rejected,
            rows_not_sampled=prepared.not_sampled,
            queries_failed=len(results) - len(items),
            queries_not_run=len(prepared.queries) - len(results),
            notes=len(prepared.vault.notes) if prepared.options.notes else None,
            queries_generated=len(generated & {item.id for item in items}),
        ),
        **slices,
        performance=schema.Performance(
            cold_start_ms=run.opening_ms if prepared.options.cold_start else None,
            indexing_ms=run.opening_ms,
            eval_runtime_ms=run.scoring_ms,
            latency_method=_latency_method(prepared.system, prepared.options),
            passes=passes,
        ),
        judges=judges.rates(judge.kind, items) if judge else (),
        forecast=forecast,
        weak_verdicts=_weak_verdicts(items) if isinstance(judge, CalibratedJudge) else None,
        out_of_reach=reach and schema.OutOfReachReport.like(reach),
        llm=_llm(items, run.model_run) if run.model_run else None,
        system=SystemHealth.of(failed, len(results), odd) if prepared.system else None,
        holes=_measure_unjudged(items, overall.deepest),
    )


def _weak_verdicts(items: Sequence[schema.ItemReport]) -> schema.WeakVerdicts:
    """Count the weak verdicts of a judge that does not read the notes."""
    unanswerable = [item.answerable_score or 0.0 for item in items if not item.answerable]
    answerable = [item.answerable_score or 0.0 for item in items if item.answerable]
    return schema.WeakVerdicts(
        across_languages=sum(bool(item.judged_across_languages) for item in items),
        near_misses=near_misses(unanswerable, answerable),
        unanswerable=len(unanswerable),
    )


def record_run(
    prepared: Prepared,
    judges: FreeJudges,
    run: Run[schema.ItemResult],
    started: datetime,
    *,
    passes: SpeedReport | None,
    forecast: schema.ForecastReport | None,
) -> schema.RunRecord:
    """Return the content of a run's out folder."""
    results = run.results
    if run.model_run:
        results = [_with_verdict(result, run.model_run) for result in results]
    judge = prepared.judge.judge if prepared.judge else None
    items = [result for result in results if isinstance(result, schema.ItemReport)]
    if prepared.system and isinstance(judge, ThresholdJudge) and _too_few_scores(items):
        no_verdict: dict[str, object] = {"judged_unanswerable": None, "answerable_score": None}
        no_verdict["judges"] = {}
        results = [
            x.model_copy(update=no_verdict) if isinstance(x, schema.ItemReport) else x
            for x in results
        ]
        items = [result for result in results if isinstance(result, schema.ItemReport)]
    summary = _summarise(prepared, judges, run, results, passes=passes, forecast=forecast)
    more = _quality_warnings(prepared, summary, results) if summary.system else ()
    known = KnownErrors(summary.judges, forecast)
    advised = filter(None, [known.advice])
    prepared = replace(prepared, warnings=(*advised, *prepared.warnings, *more))
    errors = [*prepared.errors, *(x for x in results if isinstance(x, ErrorReport))]
    if run.model_run:
        errors += run.model_run.unscored(lambda _key: ("verdict", _QUERY))
    report = prepared.judge.report if prepared.judge else None
    own = known.chosen
    judged = report and report.model_copy(update={"weak": own and known.weakness(own)})
    index = "none" if prepared.system else RAG_SCHEMA_VERSION
    attempts = run.model_run.attempts if run.model_run else None
    about = prepared.report(started, summary.status, index, judged)
    return Record(about, summary, items, errors, attempts, summary.llm)


def _slices_of(items: Sequence[schema.ItemReport], seed: int) -> dict[str, Any]:
    """Return the slices of a summary, by field; equal sets of items get equal intervals."""
    ordered = sorted(items, key=lambda item: item.id)
    names = sorted({name for item in ordered for name in item.metrics})

    def by(keys: Callable[[schema.ItemReport], Iterable[str | None]]) -> dict[str, Any]:
        return {key: _slice(own, names, seed) for key, own in sliced(ordered, keys).items()}

    across = [item for item in ordered if item.cross_lingual]
    return {
        "overall": _slice(ordered, names, seed),
        "by_language": by(lambda item: [item.language]),
        "cross_lingual": _slice(across, names, seed) if across else None,
        "by_tag": by(lambda item: item.tags),
        "by_difficulty": by(lambda item: [item.difficulty]),
    }


def _slice(
    items: Sequence[schema.ItemReport], names: Sequence[str], seed: int
) -> schema.SliceReport:
    verdicts = ((not item.answerable, item.judged_unanswerable) for item in items)
    judged = [(is_so, judged_so) for is_so, judged_so in verdicts if judged_so is not None]
    search = Estimate.means([item.metrics for item in items], names, seed=seed, label="search")
    rates_of = list(Confusion.of([]).measure())
    unanswerable = Estimate.ratios(verdict_terms(judged), rates_of, seed=seed, label="unanswerable")
    times = latency([item.latency_ms for item in items if item.latency_ms is not None])
    answerable = sum(item.answerable for item in items)
    return schema.SliceReport(
        counts=schema.SliceCounts(
            queries=len(items), answerable=answerable, unanswerable=len(items) - answerable
        ),
        search={name: estimate.value for name, estimate in search.items()}
        | {f"latency_{name}": times.get(name) for name in ("p50_ms", "p95_ms", "p99_ms")},
        unanswerable={name: estimate.value for name, estimate in unanswerable.items()},
        intervals=intervals("search", search) | intervals("unanswerable", unanswerable),
    )


_QUERY = _("query")
_OPTIONAL = {"no_scores", "no_texts"}  # a system with the preset `plain` may omit them


def _quality_warnings(
    prepared: Prepared, summary: schema.SummaryReport, results: Sequence[schema.ItemResult]
) -> Iterator[Text]:
    """Yield one data-quality warning for each kind of problem in another system's rankings."""
    total = len(results)
    oddities = summary.system.oddities if summary.system else {}
    may_lack = prepared.system is not None and prepared.system.config == DEFAULT_PRESET
    items = [item for item in results if isinstance(item, schema.ItemReport)]
    hits = (hit for item in items for hit in item.ranking)
    folded = next(((hit.written, hit.note) for hit in hits if hit.written), ("", ""))
    for name, count in oddities.items():
        if not (may_lack and name in _OPTIONAL):
            yield _oddity_texts(count, total, folded)[name]
    mismatch = _name_mismatch(items, has_vault=prepared.options.notes is not None)
    if mismatch and mismatch.rankings:
        yield _(
            "No note name in the rankings matches the labels: the system uses {ranked}, the labels use {labelled}."
            " Use the same names in both, so that metrics can count the results.",
            **mismatch._asdict(),
        )
    elif mismatch:
        yield n_(
            "{n} expected note counts as not found, because the rankings have another name for it: {ranked} instead"
            " of {labelled}. Use the same names in both, or add --notes.",
            "{n:,} expected notes count as not found, because the rankings have other names for them, such as"
            " {ranked} instead of {labelled}. Use the same names in both, or add --notes.",
            **mismatch._asdict(),
        )
    if items and not any(item.ranking for item in items):
        yield _(
            "The system found nothing for any of {total:,} queries. Check that its index contains the notes; for an"
            " endpoint, also check the path of `hits` in --system-config.",
            total=total,
        )
    values = {"count": len(_without_score(items)), "total": total}
    judge = prepared.judge.judge if prepared.judge else None
    if values["count"] and isinstance(judge, ThresholdJudge) and not _too_few_scores(items):
        yield _(
            "{count:,} of {total:,} queries have no verdict: --min-score needs the score of the top hit, but the system"
            " returned none for them.",
            **values,
        )


def unmeasurable(record: schema.RunRecord) -> Text | None:
    """Return why the rankings of a system give no figures or verdicts; None if they do."""
    items, judge = record.items, record.run.judge
    mismatch = _name_mismatch(items, has_vault=record.summary.counts.notes is not None)
    if mismatch and mismatch.rankings >= _MIN_RANKINGS:
        return _(
            "no note name in the rankings matches the labels: the system uses {ranked}, the labels use {labelled}."
            " Use the same names in both.",
            **mismatch._asdict(),
        )
    if judge and judge.kind == "threshold" and _too_few_scores(items):
        return _(
            "no verdict for {count:,} of {total:,} queries: --min-score needs the score of the top hit, but the system"
            " returns none. Remove --min-score, or let the system return scores (for an endpoint, set the path of"
            " `score` in --system-config).",
            count=len(_without_score(items)),
            total=len(items),
        )
    return None


def _oddity_texts(count: int, total: int, folded: tuple[str, str]) -> dict[Oddity, Text]:
    """Return the warning for each kind of data-quality problem; `folded` is a name as written, and what it means."""
    values = {"count": count, "total": total}
    return {
        "not_in_run_file": _(
            "The run file has no line for {count:,} of {total:,} queries; they count as empty rankings.",
            **values,
        ),
        "duplicate_ranks": _(
            "{count:,} of {total:,} rankings have the same rank twice; gigamind orders these rankings by score.",
            **values,
        ),
        "repeated_notes": _(
            "{count:,} of {total:,} rankings contain a note twice; its first position counts.",
            **values,
        ),
        "unknown_notes": _(
            "{count:,} of {total:,} rankings contain notes that are not in the vault. These notes keep their ranks.",
            **values,
        ),
        "folded_names": _(
            "{count:,} of {total:,} rankings have names that match a note only without case, spaces or"
            " percent-encoding, such as {written} for {note}; they count as that note.",
            **values,
            written=folded[0],
            note=folded[1],
        ),
        "no_scores": _(
            "{count:,} of {total:,} rankings have no scores. Check the path of `score` in --system-config, or"
            " remove this path.",
            **values,
        ),
        "no_texts": _(
            "{count:,} of {total:,} rankings have no texts. Check the path of `text` in --system-config, or remove"
            " this path.",
            **values,
        ),
        "bad_scores": _(
            "{count:,} of {total:,} rankings have scores that are not finite numbers; these scores are ignored.",
            **values,
        ),
        "rising_scores": _(
            "{count:,} of {total:,} rankings are not ordered by score; their order is kept.",
            **values,
        ),
        "tied_scores": _(
            "{count:,} of {total:,} rankings have equal scores; other tools may order these hits differently.",
            **values,
        ),
        "fewer_hits": _("{count:,} of {total:,} rankings have fewer notes than --topk.", **values),
        "unplaced_texts": _(
            "{count:,} of {total:,} rankings have a text that is not in its note, or occurs there more than once."
            " This text is compared with labels by its words instead of its position.",
            **values,
        ),
        "asked_again": _(
            "{count:,} of {total:,} queries needed a retry; latencies include retries.", **values
        ),
    }


def _latency_method(system: SystemReport | None, options: SearchEvalOptions) -> Text:
    values = {"warmup": options.warmup, "concurrency": options.concurrency}
    if system and system.kind == "run":
        return _("Latency was not measured, because the rankings come from a file.")
    if system:
        return _(
            "Latency is the wall time of one query, including network and retries, after {warmup} warm-up queries."
            " Queries were sent {concurrency} at a time. Percentiles are interpolated linearly.",
            **values,
        )
    return _(
        "Latency is the wall time of the retrieval for one query, including its embedding but not the indexing, after"
        " {warmup} warm-up queries. Queries ran {concurrency} at a time. Percentiles are interpolated linearly.",
        **values,
    )


def _llm(items: Sequence[schema.ItemReport], run: ModelRun) -> LlmReport:
    """Return the calls of a run, with suspected prompt injections and verdicts that contradict their quotes."""
    from gigamind.evaluation.costs import flip_report, llm_report

    judgements = [item.judgement for item in items if item.judgement]
    flips = ((item.judgement.flipped, item.id) for item in items if item.judgement)
    llm = llm_report(run, len(items), flip_report(flips), _rates(items))
    quotes = [quote for judgement in judgements for quote in judgement.quotes]
    conflicts = Counter(judgement.conflict for judgement in judgements if judgement.conflict)
    counts = {
        "conflicts": dict(sorted(conflicts.items())),
        "flagged": sum(bool(judgement.flagged) for judgement in judgements),
        "flagged_quotes": sum(quote.match == FLAGGED for quote in quotes),
    }
    return llm.model_copy(update=counts)


def _with_verdict(item: schema.ItemResult, run: ModelRun) -> schema.ItemResult:
    """Return the result of a query with the verdict of a model, if there is one."""
    if isinstance(item, ErrorReport) or (key := ItemKey(item.id)) not in run.results:
        return item
    result = run.results[key]
    if result.value is None:
        judged = JudgementReport(outcome=result.outcome, code=result.code)
    else:
        judged = JudgementReport.model_validate(result.value)
    return item.model_copy(update={"judgement": judged, "judged_unanswerable": judged.unanswerable})


def _rates(items: Sequence[schema.ItemReport]) -> Mapping[str, Mapping[str, float | None]]:
    """Return precision, recall, F1 and FAR by the model's own verdicts, and with only proven answers accepted."""
    judged = [
        (not item.answerable, judgement)
        for item in items
        if (judgement := item.judgement) and judgement.outcome == "scored"
    ]
    counts = {
        "as_told": Confusion.of((x, j.reported_unanswerable is not False) for x, j in judged),
        "only_with_quotes": Confusion.of((x, not j.verified) for x, j in judged),
    }
    return {
        rule: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "far": c.far}
        for rule, c in counts.items()
    }


_SHOWN = 10


def _measure_unjudged(items: Sequence[schema.ItemReport], k: int) -> schema.UnjudgedReport | None:
    """Return the block of summary.json; None if no answerable item has judgements."""
    judged = [item for item in items if item.answerable and item.gains]
    if not judged:
        return None
    queries = [
        RankedQuery([hit.note for hit in item.ranking], item.gains, is_judged=True)
        for item in judged
    ]
    rows = [
        schema.UnjudgedHit(
            id=item.id,
            query=item.query,
            note=hit.note,
            rank=rank,
            ndcg_change=changes[hit.note],
            text=hit.evidence.text if hit.evidence else hit.text,
        )
        for item, changes in zip(judged, ndcg_changes(queries, k), strict=True)
        for rank, hit in enumerate(item.ranking[:k], start=1)
        if hit.note in changes
    ]
    rows.sort(key=lambda row: -abs(row.ndcg_change))  # ties stay in dataset order
    hits = sum(len(item.ranking[:k]) for item in judged)
    return schema.UnjudgedReport(k=k, hits=hits, unjudged=len(rows), worst=tuple(rows[:_SHOWN]))
