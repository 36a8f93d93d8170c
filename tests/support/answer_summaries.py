"""The summary.json of a run of answers."""

from gigamind.tasks.answers.schema import (
    AnswerCounts,
    AnswerPerformance,
    AnswerSliceReport,
    AnswerSummaryReport,
    CorrelationReport,
)


def answer_summary(items: int = 0, **changes: object) -> AnswerSummaryReport:
    """A whole run over so many answers, without figures but those that are given."""
    counts = dict.fromkeys(AnswerCounts.model_fields, 0)
    given: dict[str, object] = {
        "status": "complete",
        "counts": AnswerCounts.model_validate(counts),
        "overall": AnswerSliceReport(items=items, answers={}, intervals={}),
        "by_language": {},
        "by_tag": {},
        "confidence": {},
        "verdicts": {},
        "doubts": {},
        "quotes": None,
        "correlation": CorrelationReport(r=None, n=0, separate=None),
        "agreement": None,
        "flagged": 0,
        "performance": AnswerPerformance(preparing_ms=1.0, eval_runtime_ms=1.0),
    }
    return AnswerSummaryReport.model_validate(given | changes)
