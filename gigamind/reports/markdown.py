"""summary.md: what a release manager reads first."""

import functools
import re
from collections.abc import Iterator
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gigamind.reports.failures import worst_failures
from gigamind.reports.schema import RunRecord, RunReport, SliceReport, SummaryReport

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
_SLICE_METRICS = ("hit_at_1", "mrr", "ndcg_at_10", "recall_at_10", "f1", "far")


def render_summary(record: RunRecord) -> str:
    """The summary as Markdown; text of notes and queries is escaped, so that it cannot break a table or a list."""
    run, summary = record.run, record.summary
    return (
        _templates()
        .get_template("summary.md.jinja")
        .render(
            run=run,
            summary=summary,
            errors=record.errors,
            headline=_headline(run, summary),
            search_rows=figure_rows(summary.overall, "search"),
            unanswerable_rows=figure_rows(summary.overall, "unanswerable"),
            speed_rows=list(_speed_rows(summary)),
            slice_metrics=[label(name) for name in _SLICE_METRICS],
            slice_rows=list(_slice_rows(summary)),
            tags_left_out=max(0, len(summary.by_tag) - _TAGS_SHOWN),
            failures=worst_failures(record.items),
            run_rows=list(_run_rows(run, summary)),
        )
    )


def label(metric: str) -> str:
    """A metric's name for people: `ndcg_at_10` is "nDCG@10"."""
    if metric in _LABELS:
        return _LABELS[metric]
    name, _, k = metric.partition("_at_")
    return f"{_LABELS.get(name, name)}@{k}" if k else metric.replace("_", " ")


def figure(value: float | None) -> str:
    """A share with three decimals; a dash where it was not measured."""
    return "–" if value is None else f"{value:.3f}"


def _headline(run: RunReport, summary: SummaryReport) -> str:
    counts, search = summary.counts, summary.overall.search
    found = (
        f"**{counts.queries_total} queries** over **{counts.notes} notes** ({run.options['mode']} search):"
        f" the right note came first for **{figure(search.get('hit_at_1'))}** of the answerable ones"
        f" (MRR {figure(search.get('mrr'))})"
    )
    parts = [found]
    if counts.queries_unanswerable:
        far = summary.overall.unanswerable["far"]
        parts.append(f"**{figure(far)}** of the unanswerable ones were taken for answerable")
    problems = counts.queries_failed + counts.rows_rejected
    ending = f" {problems} rows or queries failed: see Errors." if problems else ""
    return "; ".join(parts) + "." + ending


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
        yield f"latency {percentile}", "–" if value is None else f"{value:.1f}"
    performance = summary.performance
    if performance.cold_start_ms is not None:
        yield "cold start", f"{performance.cold_start_ms:,.0f}"
    else:
        yield "indexing", f"{performance.indexing_ms:,.0f}"
    yield "all queries", f"{performance.eval_runtime_ms:,.0f}"


def _slice_rows(summary: SummaryReport) -> Iterator[tuple[str, int, list[str]]]:
    groups: list[tuple[str, dict[str, SliceReport]]] = [
        ("language", summary.by_language),
        ("", {"cross-lingual": summary.cross_lingual} if summary.cross_lingual else {}),
        ("difficulty", summary.by_difficulty),
        ("tag", _largest(summary.by_tag)),
    ]
    for group, slices in groups:
        for key, part in slices.items():
            values = [{**part.search, **part.unanswerable}.get(name) for name in _SLICE_METRICS]
            yield (
                f"{group}: {key}" if group else key,
                part.counts.queries,
                [figure(v) for v in values],
            )


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
    yield "embedding model", environment.embedding_model or "none (keyword mode)"
    yield "gigamind", f"{environment.app_version} {(environment.git_commit or '')[:12]}".strip()
    yield (
        "hardware",
        f"{run.hardware.cpu}, {run.hardware.cores} cores, {run.hardware.memory_gib} GiB",
    )


def inline(text: object) -> str:
    """Text of others on one line, without meaning to Markdown or HTML."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", line)


def _fenced(text: object) -> str:
    """Text of others inside a code fence, which it must not close."""
    return str(text).replace("```", "'''")


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("gigamind.reports"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  Markdown, not HTML; `inline` and `cell` escape what comes from outside
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"inline": inline, "cell": inline, "fenced": _fenced}
    templates.filters.update(filters)
    return templates
