"""summary.md of a search run: its figures, and the items that went wrong, so that a reader knows where to look."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import in_order, keys_in, label
from gigamind.records.schema import RunReport
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import metric_rows, values_of
from gigamind.reports.text import code, model_section, render, unjudged
from gigamind.tasks.search.free_judges import cost_line
from gigamind.tasks.search.schema import (
    ItemReport,
    RunRecord,
    SliceCounts,
    SliceReport,
    SummaryReport,
    UnjudgedHit,
    WeakVerdicts,
)
from gigamind.wording import Words, share, signed, words

_HITS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FailureLine:
    """One failure as Markdown.

    Attributes:
        what: what went wrong.
        expected: the notes that should have come; "" for an unanswerable query.
        came: the first notes that came, with their base scores.
    """

    item: ItemReport
    what: str
    expected: str
    came: str


def failed_items(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Those without an expected note in front, or judged wrongly; the worst first, equals in the order of the dataset.

    Badness: 1 - reciprocal rank of an answerable query; the Top-1 base score of an unanswerable one that was taken for
    answerable; and 1 - that score for an answerable one that was found but judged unanswerable.
    """
    failed = [(badness, item) for item in items if (badness := _badness(item)) > 0]
    failed.sort(key=lambda pair: -pair[0])
    return [item for _, item in failed]


def failure_line(item: ItemReport) -> FailureLine:
    """One failed item in words."""
    came = ", ".join(
        f"{code(hit.note)} {share(hit.base_score)}" for hit in item.ranking[:_HITS_SHOWN]
    )
    expected = ", ".join(code(note) for note in item.expected_notes)
    return FailureLine(item, _what(item), expected, came or "nothing")


def _badness(item: ItemReport) -> float:
    top = item.top_base_score or 0.0
    if not item.answerable:
        return top if item.judged_unanswerable is False else 0.0
    missed = 1 - (item.metrics.get("mrr") or 0.0)
    return max(missed, 1 - top if item.judged_unanswerable else 0.0)


def _what(item: ItemReport) -> str:
    if not item.answerable:
        return "unanswerable, but judged answerable"
    where = _where(item)
    return f"{where}, and judged unanswerable" if item.judged_unanswerable else where


def _where(item: ItemReport) -> str:
    rank = item.metrics.get("mrr")
    if rank:
        return f"found at rank {round(1 / rank)}"
    return {0: "no note found", 1: "not the one note found"}.get(
        len(item.ranking), f"not among the {len(item.ranking)} notes found"
    )


_TAGS_SHOWN = 15
_FAILURES_SHOWN = 10
_DIFFICULTIES = ("easy", "mid", "hard")


def render_summary(record: RunRecord) -> str:
    """The summary as Markdown; text of notes and queries is escaped, so that it cannot break a table or a list."""
    run, summary = record.run, record.summary
    columns = _slice_columns(summary)
    failed = failed_items(record.items)
    return render(
        "summary.md.jinja",
        run=run,
        summary=summary,
        errors=record.errors,
        headline=_headline(run, summary),
        stopped=_stopped(summary),
        notices=_notices(record),
        generated=generated_line(summary),
        search_rows=metric_rows(
            summary.overall, "search", in_order(list(summary.overall.intervals))
        ),
        holes=holes_line(summary, words("en")),
        hole_rows=hole_rows(summary),
        unanswerable_rows=metric_rows(summary.overall, "unanswerable"),
        judged_by=_judged_by(run),
        judges=[(rates, cost_line(rates, words("en"))) for rates in summary.judges],
        weak=weak_lines(summary.weak_verdicts, words("en")),
        certified=certified(record.card, run.judge),
        llm=model_section(summary.llm) if summary.llm else "",
        judged_unanswerable=sum(bool(item.judged_unanswerable) for item in record.items),
        speed_rows=list(_speed_rows(summary)),
        slice_metrics=[label(key) for key in columns],
        slice_rows=list(_slice_rows(summary, columns)),
        tags_left_out=max(0, len(summary.by_tag) - _TAGS_SHOWN),
        failures=[failure_line(item) for item in failed[:_FAILURES_SHOWN]],
        failures_total=len(failed),
        run_rows=list(_run_rows(run, summary)),
    )


def _judged_by(run: RunReport) -> str:
    """When a query is judged unanswerable, in a sentence."""
    judge = run.judge
    if judge is None:
        return "Nothing was judged: the scores of this system have a scale of their own (see --min-score)."
    if judge.setting is None:
        return "A model read the first notes found and said whether they answer the query."
    by = {
        "threshold": "its Top-1 base score",
        "answer_score": "its answer_score",
        "calibrated": "the probability that the vault answers it",
    }
    setting = f"{judge.setting:.12g}"
    return f"A query is judged unanswerable when {by[judge.kind]} is below {setting}, or nothing is found."


def weak_lines(weak: WeakVerdicts | None, say: Words) -> list[str]:
    """What verdicts say little, a sentence a kind; [] where none is known to."""
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


def holes_line(summary: SummaryReport, say: Words) -> str:
    """How many hits nobody judged, what that leaves open, and what to do; "" without judgements."""
    holes = summary.holes
    if holes is None:
        return ""
    low, now, high = (
        share(summary.overall.search.get(f"{name}_at_{holes.k}"))
        for name in ("ndcg_low", "ndcg", "ndcg_high")
    )
    key = "page.holes" if holes.unjudged else "page.holes_none"
    return say(
        key, unjudged=holes.unjudged, hits=holes.hits, k=holes.k, low=low, now=now, high=high
    )


def hole_rows(summary: SummaryReport) -> list[tuple[UnjudgedHit, str]]:
    """The hits that would matter most, each with what nDCG would change by."""
    worst = summary.holes.worst if summary.holes else ()
    return [(hit, signed(hit.ndcg_change)) for hit in worst]


def _headline(run: RunReport, summary: SummaryReport) -> str:
    counts, search = summary.counts, summary.overall.search
    queries = _count(counts.queries_total, "query", "queries")
    notes = "" if counts.notes is None else f" over **{_count(counts.notes, 'note', 'notes')}**"
    parts: list[str] = []
    if counts.queries_answerable:
        parts.append(
            f"an expected note came first for **{share(search['hit_at_1'])}** of the answerable ones"
            f" (MRR {share(search['mrr'])})"
        )
    if counts.queries_unanswerable and run.judge:
        far, refused = (
            share(summary.overall.unanswerable[name]) for name in ("far", "false_refusals")
        )
        answerable = f", **{refused}** of the answerable ones for unanswerable"
        parts.append(
            f"**{far}** of the unanswerable ones were taken for answerable"
            + (answerable if counts.queries_answerable else "")
        )
    found = f": {'; '.join(parts)}." if parts else "."
    return f"**{queries}**{notes}, {searched_by(run, words('en'))}{found}"


def searched_by(run: RunReport, say: Words) -> str:
    """Which search was evaluated, in a few words."""
    system = run.environment.system
    if system is None:
        return say("page.subject_mode", mode=run.options["mode"])
    return say("page.subject_system", system=system.name)


def _stopped(summary: SummaryReport) -> str:
    left = summary.counts.queries_not_run
    silent = unjudged(summary.llm)
    parts = [f"{_count(left, 'query was', 'queries were')} not run"] if left or not silent else []
    parts += [f"{_count(silent, 'query has', 'queries have')} no verdict"] if silent else []
    return " and ".join(parts)


def _notices(record: RunRecord) -> str:
    """What a reader must know before trusting a figure; "" where there is nothing."""
    counts = record.summary.counts
    kinds = (
        (counts.rows_rejected, "row rejected", "rows rejected"),
        (counts.queries_failed, "query failed", "queries failed"),
        (unjudged(record.summary.llm), "query without a verdict", "queries without a verdict"),
        (len(record.run.warnings), "warning", "warnings"),
    )
    told = ", ".join(_count(number, one, many) for number, one, many in kinds if number)
    return f"{told}: see below." if told else ""


def generated_line(summary: SummaryReport) -> str:
    """A caution where queries were made of the notes; "" where none was."""
    made, total = summary.counts.queries_generated, summary.counts.queries_total
    if not made:
        return ""
    return (
        f"{made} of {total} queries were generated from the notes: they are easier than questions of people,"
        " so the figures are too good."
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _speed_rows(summary: SummaryReport) -> Iterator[tuple[str, str]]:
    for percentile in ("p50", "p95", "p99"):
        value = summary.overall.search.get(f"latency_{percentile}_ms")
        yield f"latency {percentile}", "–" if value is None else f"{value:,.1f}"
    performance = summary.performance
    if performance.cold_start_ms is not None:
        yield "cold start", f"{performance.cold_start_ms:,.0f}"
    else:
        yield "indexing", f"{performance.indexing_ms:,.0f}"
    yield "all queries", f"{performance.eval_runtime_ms:,.0f}"


def _slice_columns(summary: SummaryReport) -> list[str]:
    """The metrics that slices are compared by; those of answerability only where there is something to judge."""
    blocks = blocks_of("search") if summary.counts.queries_unanswerable else ("search",)
    return keys_in("summary", blocks, summary.overall.deepest)


def _slice_rows(
    summary: SummaryReport, columns: Sequence[str]
) -> Iterator[tuple[str, SliceCounts, list[str]]]:
    hardness = {key: summary.by_difficulty.get(key) for key in _DIFFICULTIES}
    groups: list[tuple[str, dict[str, SliceReport | None]]] = [
        ("language: ", {**summary.by_language}),
        ("", {"cross-lingual": summary.cross_lingual}),
        ("difficulty: ", hardness),
        ("tag: ", {**_largest(summary.by_tag)}),
    ]
    for group, slices in groups:
        for key, part in slices.items():
            if part is not None:
                values = values_of(part, columns)
                if not part.counts.unanswerable:  # an F1 of 0 for want of any is no news
                    judged = (
                        name.startswith("unanswerable.") and not name.endswith(".false_refusals")
                        for name in columns
                    )
                    values = [
                        "–" if of else value for of, value in zip(judged, values, strict=True)
                    ]
                yield f"{group}{key}", part.counts, values


def _largest(slices: dict[str, SliceReport]) -> dict[str, SliceReport]:
    """The tags with the most queries, most first; a vault may have hundreds."""
    ordered = sorted(slices.items(), key=lambda pair: -pair[1].counts.queries)
    return dict(ordered[:_TAGS_SHOWN])


def _run_rows(run: RunReport, summary: SummaryReport) -> Iterator[tuple[str, str]]:
    counts, environment = summary.counts, run.environment
    rejected = f", {counts.rows_rejected} rejected" if counts.rows_rejected else ""
    unsampled = f", {counts.rows_not_sampled} not sampled" if counts.rows_not_sampled else ""
    yield "run", f"{run.run_id} ({run.created_at})"
    yield "dataset", f"{run.dataset} (sha256 {run.dataset_hash[:12]}{rejected}{unsampled})"
    notes = f"{run.notes} ({run.notes_hash_mode} hash {run.notes_hash[:12]})" if run.notes else ""
    yield "notes", notes or "none: notes go by the names that labels give them"
    if run.judge:
        yield "judge", run.judge.describe()
    if environment.system:
        of_file = environment.system.file_hash
        content = f" (sha256 {of_file[:12]})" if of_file else ""
        yield "system", f"{environment.system.name}{content}"
    else:
        yield "embedding model", environment.embedding_model or "none (keyword mode)"
    yield "gigamind", f"{environment.app_version} {(environment.git_commit or '')[:12]}".strip()
    yield (
        "hardware",
        f"{run.hardware.cpu}, {run.hardware.cores} cores, {run.hardware.memory_gib} GiB",
    )
