"""summary.md: what a release manager reads first."""

from collections.abc import Iterator, Sequence

from gigamind.reports.cards.line import certified
from gigamind.reports.failures import failed_items, failure_line
from gigamind.reports.model_markdown import model_section, unjudged
from gigamind.reports.schema import (
    RunRecord,
    RunReport,
    SliceCounts,
    SliceReport,
    SummaryReport,
)
from gigamind.reports.templating import figure, render

_LABELS = {
    "mrr": "MRR",
    "ndcg": "nDCG",
    "hit": "hit",
    "recall": "recall",
    "span_precision": "span precision",
    "span_recall": "span recall",
    "f1": "F1",
    "far": "FAR",
}
_TAGS_SHOWN = 15
_FAILURES_SHOWN = 10
_MOST_COMPARED = 10  # the cut-off that slices are compared at, or topk where that is less
_DIFFICULTIES = ("easy", "mid", "hard")


def render_summary(record: RunRecord) -> str:
    """The summary as Markdown; text of notes and queries is escaped, so that it cannot break a table or a list."""
    run, summary = record.run, record.summary
    columns = _slice_columns(record)
    failed = failed_items(record.items)
    return render(
        "summary.md.jinja",
        run=run,
        summary=summary,
        errors=record.errors,
        headline=_headline(run, summary),
        stopped=_stopped(summary),
        notices=_notices(record),
        search_rows=figure_rows(summary.overall, "search"),
        unanswerable_rows=figure_rows(summary.overall, "unanswerable"),
        judged_by=_judged_by(run),
        certified=certified(record.card, run.judge),
        llm=model_section(summary.llm) if summary.llm else "",
        judged_unanswerable=sum(bool(item.judged_unanswerable) for item in record.items),
        speed_rows=list(_speed_rows(summary)),
        slice_metrics=[label(name) for name in columns],
        slice_rows=list(_slice_rows(summary, columns)),
        tags_left_out=max(0, len(summary.by_tag) - _TAGS_SHOWN),
        failures=[failure_line(item) for item in failed[:_FAILURES_SHOWN]],
        failures_total=len(failed),
        run_rows=list(_run_rows(run, summary)),
    )


def _judged_by(run: RunReport) -> str:
    """When a query is judged unanswerable, in a sentence."""
    judge = run.judge
    if judge is None or judge.setting is None:
        return "A model read the first notes found and said whether they answer the query."
    by = {
        "threshold": "its Top-1 base score",
        "calibrated": "the probability that the vault answers it",
    }
    setting = f"{judge.setting:.12g}"
    return f"A query is judged unanswerable when {by[judge.kind]} is below {setting}, or nothing is found."


def label(metric: str) -> str:
    """A metric's name for people: `ndcg_at_10` is "nDCG@10"."""
    if metric in _LABELS:
        return _LABELS[metric]
    name, _, k = metric.partition("_at_")
    return f"{_LABELS.get(name, name)}@{k}" if k else metric.replace("_", " ")


def _headline(run: RunReport, summary: SummaryReport) -> str:
    counts, search = summary.counts, summary.overall.search
    queries, notes = (
        _count(counts.queries_total, "query", "queries"),
        _count(counts.notes, "note", "notes"),
    )
    parts: list[str] = []
    if counts.queries_answerable:
        parts.append(
            f"an expected note came first for **{figure(search['hit_at_1'])}** of the answerable ones"
            f" (MRR {figure(search['mrr'])})"
        )
    if counts.queries_unanswerable:
        far = figure(summary.overall.unanswerable["far"])
        parts.append(f"**{far}** of the unanswerable ones were taken for answerable")
    found = f": {'; '.join(parts)}." if parts else "."
    return f"**{queries}** over **{notes}**, {run.options['mode']} search{found}"


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


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def figure_rows(part: SliceReport, block: str) -> list[tuple[str, dict[str, str | int]]]:
    """Label, and value, interval and n as text, of each metric of a block ("search" or "unanswerable"), in order."""
    values: dict[str, float | None] = getattr(part, block)
    rows: list[tuple[str, dict[str, str | int]]] = []
    for name in sorted(values, key=_metric_order) if block == "search" else values:
        found = part.intervals.get(f"{block}.{name}")
        if found is not None:
            known = found.low is not None
            interval = f"{figure(found.low)} – {figure(found.high)}" if known else "–"
            rows.append(
                (label(name), {"value": figure(values[name]), "interval": interval, "n": found.n})
            )
    return rows


def _metric_order(name: str) -> tuple[int, str, int]:
    """hit@k before MRR, nDCG, recall and spans; cut-offs by number, not by letter."""
    base, _, k = name.partition("_at_")
    order = [
        "hit",
        "mrr",
        "ndcg",
        "recall",
        "precision",
        "f1",
        "far",
        "span_precision",
        "span_recall",
    ]
    return (order.index(base) if base in order else len(order), base, int(k) if k else 0)


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


def _slice_columns(record: RunRecord) -> list[str]:
    """The metrics that slices are compared by; those of answerability only where there is something to judge."""
    k = max((k for k in _cutoffs(record.summary) if k <= _MOST_COMPARED), default=_MOST_COMPARED)
    columns = ["hit_at_1", "mrr", f"ndcg_at_{k}", f"recall_at_{k}"]
    return [*columns, "f1", "far"] if record.summary.counts.queries_unanswerable else columns


def _cutoffs(summary: SummaryReport) -> list[int]:
    """The cut-offs that were measured, which `--topk` decides; none without an answerable query."""
    names = (name.partition("ndcg_at_")[2] for name in summary.overall.search)
    return [int(k) for k in names if k]


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
                judged = (
                    part.unanswerable if part.counts.unanswerable else {}
                )  # an F1 of 0 for want of any is no news
                values = {**part.search, **judged}
                yield f"{group}{key}", part.counts, [figure(values.get(name)) for name in columns]


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
    yield "notes", f"{run.notes} ({run.notes_hash_mode} hash {run.notes_hash[:12]})"
    if run.judge:
        yield "judge", run.judge.describe()
    yield "embedding model", environment.embedding_model or "none (keyword mode)"
    yield "gigamind", f"{environment.app_version} {(environment.git_commit or '')[:12]}".strip()
    yield (
        "hardware",
        f"{run.hardware.cpu}, {run.hardware.cores} cores, {run.hardware.memory_gib} GiB",
    )
