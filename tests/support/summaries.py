"""What runs say of themselves in summary.json."""

from gigamind.records.judged import LlmReport
from gigamind.tasks.answers import schema as answers
from gigamind.tasks.search import schema as search

NO_QUERIES = search.SliceReport(
    counts=search.SliceCounts(queries=0, answerable=0, unanswerable=0),
    search={},
    unanswerable={},
    intervals={},
)


def search_summary(
    overall: search.SliceReport = NO_QUERIES, notes: int = 3, cold_start_ms: float | None = None
) -> search.SummaryReport:
    """A whole run over so many notes, without slices."""
    of = overall.counts
    counts = dict.fromkeys(search.RunCounts.model_fields, 0) | {"notes": notes}
    counts |= {"queries_total": of.queries, "queries_answerable": of.answerable}
    counts |= {"queries_unanswerable": of.unanswerable}
    return search.SummaryReport(
        status="complete", counts=search.RunCounts.model_validate(counts), overall=overall,
        by_language={}, cross_lingual=None, by_tag={}, by_difficulty={},
        performance=search.Performance(
            cold_start_ms=cold_start_ms, indexing_ms=1.0, eval_runtime_ms=1.0, latency_method="by hand",
        ),
    )  # fmt: skip


def answer_summary(items: int = 0, **changes: object) -> answers.AnswerSummaryReport:
    """A whole run over so many answers, without figures but those that are given."""
    counts = dict.fromkeys(answers.AnswerCounts.model_fields, 0)
    given: dict[str, object] = {
        "status": "complete", "counts": answers.AnswerCounts.model_validate(counts),
        "overall": answers.AnswerSliceReport(items=items, answers={}, intervals={}), "by_language": {},
        "by_tag": {}, "confidence": {}, "verdicts": {}, "doubts": {}, "quotes": None,
        "correlation": answers.CorrelationReport(r=None, n=0, separate=None), "agreement": None,
        "flagged": 0, "performance": answers.AnswerPerformance(preparing_ms=1.0, eval_runtime_ms=1.0),
    }  # fmt: skip
    return answers.AnswerSummaryReport.model_validate(given | changes)


def llm_report(**changes: object) -> LlmReport:
    """Five calls of a model at no cost, with a verdict on each of four items."""
    given: dict[str, object] = {
        "calls": 5, "cache_hits": 0, "prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0,
        "usd": 0.0, "usd_source": "table", "reserved_usd": 0.0, "by_role": {},
        "outcomes": {"scored": 4}, "items": 4, "coverage": 1.0,
    }  # fmt: skip
    return LlmReport.model_validate(given | changes)
