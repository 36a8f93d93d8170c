"""summary.md of a search run: its figures and its worst failures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gigamind.i18n import Message, n_
from gigamind.messages import warning_in
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import in_order, keys_in
from gigamind.records.schema import RunReport, by_item
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import metric_rows, plain_label, values_of
from gigamind.reports.page.model_costs import few_judged, model_section
from gigamind.reports.text import code, embedder_text, judge_text, notes_text, render, unjudged
from gigamind.tasks.search.schema import (
    ItemReport,
    JudgeRates,
    RunRecord,
    SliceCounts,
    SliceReport,
    SummaryReport,
    UnjudgedHit,
    WeakVerdicts,
)
from gigamind.wording import (
    Language,
    Words,
    counted,
    latency_method_in,
    share,
    signed,
    words,
)

_HITS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FailureLine:
    """One failure as Markdown.

    Attributes:
        what: Description of the failure.
        expected: The relevant notes; "" for an unanswerable query.
        came: The top notes of the ranking, with their base scores.
    """

    item: ItemReport
    what: str
    expected: str
    came: str


def failed_items(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Return the queries without a relevant note at rank 1, or with a wrong verdict, the worst first.

    Severity is 1 - reciprocal rank for an answerable query; the Top-1 base score for an unanswerable one that was
    judged answerable; and 1 - that score for an answerable one that was found but refused. Scores are scaled to [0, 1].
    """
    tops = [0.0, 1.0, *(score for item in items if (score := item.top_base_score) is not None)]
    low, high = min(tops), max(tops)

    def severity(item: ItemReport) -> float:
        top = ((item.top_base_score or 0.0) - low) / (high - low)
        if not item.answerable:
            return top
        return max(_missed(item), 1 - top if item.judged_unanswerable else 0.0)

    return sorted(filter(_is_failed, items), key=severity, reverse=True)


def failure_line(item: ItemReport, say: Words) -> FailureLine:
    """Return one failed query as Markdown."""
    came = ", ".join(
        f"{code(hit.note)} {share(hit.base_score)}" for hit in item.ranking[:_HITS_SHOWN]
    )
    expected = ", ".join(code(note) for note in item.expected_notes)
    return FailureLine(item, _what(item, say), expected, came or say("summary.nothing"))


def _missed(item: ItemReport) -> float:
    return 1 - (item.metrics.get("mrr") or 0.0)


def _is_failed(item: ItemReport) -> bool:
    if not item.answerable:
        return item.judged_unanswerable is False
    return _missed(item) > 0 or bool(item.judged_unanswerable)


def _what(item: ItemReport, say: Words) -> str:
    if not item.answerable:
        return say("summary.failed_answerable")
    where = _where(item, say)
    return say("summary.failed_refused", where=where) if item.judged_unanswerable else where


def _where(item: ItemReport, say: Words) -> str:
    rank = item.metrics.get("mrr")
    if rank:
        return say("summary.at_rank", rank=round(1 / rank))
    count = len(item.ranking)
    key = {0: "no_note", 1: "not_the_one"}.get(count, "not_among")
    return say(f"summary.{key}", count=count)


_TAGS_SHOWN = 15
_FAILURES_SHOWN = 10
_DIFFICULTIES = ("easy", "mid", "hard")


def render_summary(record: RunRecord, lang: Language = "en") -> str:
    """Return the summary as Markdown; text of notes and queries is escaped, so it cannot break tables or lists."""
    run, summary, say = record.run, record.summary, words(lang)
    columns = _slice_columns(summary)
    failed = failed_items(record.items)
    return render(
        "summary.md.jinja",
        say=say,
        run=run,
        summary=summary,
        errors=by_item(record.errors),
        headline=_headline(run, summary, say),
        stopped=_stopped(summary, say),
        few=few_judged(summary.llm, say),
        notices=_notices(record, say),
        generated=generated_line(summary, say),
        search_rows=metric_rows(
            summary.overall, "search", say, in_order(list(summary.overall.intervals))
        ),
        holes=unjudged_line(summary, say),
        hole_rows=unjudged_rows(summary),
        unanswerable_rows=metric_rows(summary.overall, "unanswerable", say),
        judged_by=judged_by(run, say),
        rate_names=[plain_label(f"unanswerable.{name}", say) for name in RATES],
        judges=[
            (rates, [share(getattr(rates, name)) for name in RATES], cost_line(rates, say))
            for rates in summary.judges
        ],
        weak=weak_lines(summary.weak_verdicts, say),
        certified=certified(record.card, run.judge, lang),
        llm=model_section(summary.llm, say) if summary.llm else "",
        judged_unanswerable=sum(bool(item.judged_unanswerable) for item in record.items),
        speed_rows=list(_speed_rows(summary, say)),
        latency_method=latency_method_in(lang, summary.performance.latency_method),
        warnings=[warning_in(lang, warning) for warning in run.warnings],
        slice_metrics=[plain_label(key, say) for key in columns],
        slice_rows=list(_slice_rows(summary, columns, say)),
        tags_left_out=max(0, len(summary.by_tag) - _TAGS_SHOWN),
        failures=[failure_line(item, say) for item in failed[:_FAILURES_SHOWN]],
        failures_total=len(failed),
        run_rows=list(_run_rows(run, summary, say)),
    )


RATES = ("precision", "recall", "f1", "far", "false_refusals")
"""The metrics of verdicts, in the order of tables."""


def judged_by(run: RunReport, say: Words) -> str:
    """Return when a query is judged unanswerable, and the definitions of the metrics."""
    judge = run.judge
    setting = None if judge is None else judge.setting
    return say(
        f"page.unanswerable_lead_{judge.kind if judge else 'none'}",
        setting="–" if setting is None else f"{setting:.3f}",
        classes=say("page.unanswerable_classes"),
    )


def weak_lines(weak: WeakVerdicts | None, say: Words) -> list[str]:
    """Return a sentence for each kind of weak verdict; [] if there is none."""
    if weak is None:
        return []
    kinds = (("across_languages", weak.across_languages), ("near_misses", weak.near_misses or 0))
    return [
        say(
            f"page.weak_{kind}" if count > 1 else f"page.weak_{kind}_one",
            count=count,
            unanswerable=weak.unanswerable,
        )
        for kind, count in kinds
        if count
    ]


def unjudged_line(summary: SummaryReport, say: Words) -> str:
    """Return the number of unjudged hits, the possible range of nDCG, and what to do; "" without judgements."""
    report = summary.holes
    if report is None:
        return ""
    low, now, high = (
        share(summary.overall.search.get(f"{name}_at_{report.k}"))
        for name in ("ndcg_low", "ndcg", "ndcg_high")
    )
    key = "page.holes" if report.unjudged else "page.holes_none"
    return say(
        key, unjudged=report.unjudged, hits=report.hits, k=report.k, low=low, now=now, high=high
    )


def unjudged_rows(summary: SummaryReport) -> list[tuple[UnjudgedHit, str]]:
    """Return the unjudged hits with the largest possible effect, each with its change of nDCG."""
    worst = summary.holes.worst if summary.holes else ()
    return [(hit, signed(hit.ndcg_change)) for hit in worst]


def _headline(run: RunReport, summary: SummaryReport, say: Words) -> str:
    counts, search = summary.counts, summary.overall.search
    parts: list[str] = []
    if counts.queries_answerable:
        hit, mrr = share(search["hit_at_1"]), share(search["mrr"])
        parts.append(say("summary.found", hit=hit, mrr=mrr))
    if counts.queries_unanswerable and run.judge:
        far, refused = (
            share(summary.overall.unanswerable[name]) for name in ("far", "false_refusals")
        )
        answerable = say("summary.refused", refused=refused) if counts.queries_answerable else ""
        parts.append(say("summary.far", far=far) + answerable)
    notes = "" if counts.notes is None else counted(counts.notes, "note", "notes", say)
    return say(
        "summary.headline",
        queries=counted(counts.queries_total, "query", "queries", say),
        notes=say("summary.over", notes=notes) if notes else "",
        searched=searched_by(run, say),
        found=f": {'; '.join(parts)}." if parts else ".",
    )


def searched_by(run: RunReport, say: Words) -> str:
    """Return which search was evaluated."""
    system = run.environment.system
    if system is None:
        return say("page.subject_mode", mode=run.options["mode"])
    return say("page.subject_system", system=system.name)


def _stopped(summary: SummaryReport, say: Words) -> str:
    not_run, no_verdict = summary.counts.queries_not_run, unjudged(summary.llm)
    parts: list[str] = []
    if not_run or not no_verdict:
        parts.append(counted(not_run, "query_not_run", "queries_not_run", say))
    if no_verdict:
        parts.append(counted(no_verdict, "query_has_no_verdict", "queries_have_no_verdict", say))
    return say("summary.and").join(parts)


def _notices(record: RunRecord, say: Words) -> str:
    """Return the counts of problems that affect the figures; "" if there are none."""
    kinds = lacking(record.summary)
    if warnings := record.run.warnings:
        kinds.append(n_("{n} warning", "{n:,} warnings", n=len(warnings)))
    listing = ", ".join(map(say, kinds))
    return say("summary.see_below", what=listing) if listing else ""


def lacking(summary: SummaryReport) -> list[Message]:
    """Return the counts of what the metrics leave out."""
    counts, silent = summary.counts, unjudged(summary.llm)
    kinds = (
        n_("{n} rejected row", "{n:,} rejected rows", n=counts.rows_rejected),
        n_("{n} failed query", "{n:,} failed queries", n=counts.queries_failed),
        n_("{n} query without a verdict", "{n:,} queries without a verdict", n=silent),
    )
    return [kind for kind in kinds if kind.values["n"]]


def generated_line(summary: SummaryReport, say: Words) -> str:
    """Return a caution about queries that were generated from the notes; "" if there are none."""
    generated, total = summary.counts.queries_generated, summary.counts.queries_total
    return say("page.generated", generated=generated, total=total) if generated else ""


def _speed_rows(summary: SummaryReport, say: Words) -> Iterator[tuple[str, str]]:
    for percentile in ("p50", "p95", "p99"):
        name = f"latency_{percentile}_ms"
        value = summary.overall.search.get(name)
        shown = "–" if value is None else f"{value:,.1f}"
        yield plain_label(f"search.{name}", say), shown
    performance = summary.performance
    if performance.cold_start_ms is not None:
        yield say("page.cold_start"), f"{performance.cold_start_ms:,.0f}"
    elif summary.system is None:
        yield say("page.indexing"), f"{performance.indexing_ms:,.0f}"
    yield say("page.all_queries"), f"{performance.eval_runtime_ms:,.0f}"


def _slice_columns(summary: SummaryReport) -> list[str]:
    """Return the metrics of the slice table; those of verdicts only if there are unanswerable queries."""
    blocks = blocks_of("search") if summary.counts.queries_unanswerable else ("search",)
    return keys_in("summary", blocks, summary.overall.deepest)


def _slice_rows(
    summary: SummaryReport, columns: Sequence[str], say: Words
) -> Iterator[tuple[str, SliceCounts, list[str]]]:
    by_difficulty = {key: summary.by_difficulty.get(key) for key in _DIFFICULTIES}
    groups: list[tuple[str, dict[str, SliceReport | None]]] = [
        ("language", {**summary.by_language}),
        ("cross_lingual", {"": summary.cross_lingual}),
        ("difficulty", by_difficulty),
        ("tag", {**_largest(summary.by_tag)}),
    ]
    for kind, slices in groups:
        for key, part in slices.items():
            if part is not None:
                yield say(f"page.kind_{kind}", key=key), part.counts, values_of(part, columns)


def _largest(slices: dict[str, SliceReport]) -> dict[str, SliceReport]:
    """Return the tags with the most queries, most first; a vault may have hundreds."""
    ordered = sorted(slices.items(), key=lambda pair: -pair[1].counts.queries)
    return dict(ordered[:_TAGS_SHOWN])


def _run_rows(run: RunReport, summary: SummaryReport, say: Words) -> Iterator[tuple[str, str]]:
    counts, environment, hardware = summary.counts, run.environment, run.hardware
    omitted = "".join(
        say(f"summary.{name}", count=count)
        for name, count in (
            ("rejected", counts.rows_rejected),
            ("not_sampled", counts.rows_not_sampled),
        )
        if count
    )
    yield say("page.run_id"), f"{run.run_id} ({run.created_at})"
    yield say("page.dataset"), f"{run.dataset} (sha256 {run.dataset_hash[:12]}{omitted})"
    yield say("page.notes"), notes_text(run, say) if run.notes else say("summary.no_notes")
    if run.judge:
        yield say("page.judge"), judge_text(run.judge, say)
    if environment.system:
        of_file = environment.system.file_hash
        content = f" (sha256 {of_file[:12]})" if of_file else ""
        yield say("page.system"), f"{environment.system.name}{content}"
    else:
        yield say("page.model"), embedder_text(run, say)
    commit = (environment.git_commit or "")[:12]
    yield say("page.version"), f"{environment.app_version} {commit}".strip()
    size = {"cores": hardware.cores, "memory": hardware.memory_gib}
    yield say("page.hardware"), say("summary.cores", cpu=hardware.cpu, **size)


def cost_line(rates: JudgeRates, say: Words) -> str:
    """Return the errors of a judge in one sentence."""
    return say("page.judge_costs", **rates.model_dump())
