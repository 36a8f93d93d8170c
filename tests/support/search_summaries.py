"""The summary.json of a search run, by its figures over all queries."""

from gigamind.tasks.search.schema import Performance, RunCounts, SliceReport, SummaryReport


def search_summary(
    overall: SliceReport, notes: int, cold_start_ms: float | None = None
) -> SummaryReport:
    """A whole run over so many notes, without slices."""
    counts = overall.counts
    return SummaryReport(
        status="complete",
        counts=RunCounts(
            queries_total=counts.queries,
            queries_answerable=counts.answerable,
            queries_unanswerable=counts.unanswerable,
            rows_rejected=0,
            rows_not_sampled=0,
            queries_failed=0,
            queries_not_run=0,
            notes=notes,
        ),
        overall=overall,
        by_language={},
        cross_lingual=None,
        by_tag={},
        by_difficulty={},
        performance=Performance(
            cold_start_ms=cold_start_ms,
            indexing_ms=1.0,
            eval_runtime_ms=1.0,
            latency_method="by hand",
        ),
    )
