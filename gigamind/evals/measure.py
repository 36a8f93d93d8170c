"""From one ranking to one line of per_item.jsonl."""

import re
from collections.abc import Sequence

from gigamind.datasets.check import CheckedQuery
from gigamind.evals.prepare import Prepared
from gigamind.judges.calibrated import CalibratedJudge, judge_by_calibration
from gigamind.judges.threshold import ThresholdJudge, judge_by_threshold
from gigamind.judges.unanswerable import UnanswerableJudge
from gigamind.metrics.aggregate import Measured
from gigamind.metrics.ranking import measure_ranking
from gigamind.metrics.spans import span_precision, span_recall
from gigamind.outcome import Failure, Success
from gigamind.reports.schema import ErrorReport, HitReport, ItemReport, PassageReport
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.signals import signals_of
from gigamind.spans import Passage

ItemResult = ItemReport | ErrorReport

CROSS_LINGUAL_TAG = "cross-lingual"

# Evidence is what a reader is shown for a query: the first hits only.  Over all ten, one right note could never give a
# precision above 0.1.
EVIDENCE_HITS = 3


def item_report(
    prepared: Prepared, retriever: Retriever, query: CheckedQuery, outcome: Success[list[Hit]]
) -> ItemReport:
    """Judge the ranking of one query, unless a model will, and measure it against its labels."""
    item, ranking = query.item, outcome.value
    evidence = retriever.evidence(item.query, ranking)
    unanswerable, score = _decide(prepared.judge.judge, retriever, item.query, ranking)
    return ItemReport(
        id=item.id,
        query=item.query,
        language=item.language,
        difficulty=item.difficulty,
        tags=item.tags,
        cross_lingual=_is_cross_lingual(prepared, query),
        answerable=item.answerable,
        expected_notes=tuple(query.qrels),
        expected_spans=tuple(_passage(prepared, span) for span in query.spans),
        ranking=tuple(
            HitReport(
                note=hit.note,
                base_score=hit.base_score,
                final_score=hit.final_score,
                semantic_score=hit.semantic_score,
                keyword_score=hit.keyword_score,
                chunk=_passage(prepared, hit.passage),
                evidence=_passage(prepared, shown),
            )
            for hit, shown in zip(ranking, evidence, strict=True)
        ),
        judged_unanswerable=unanswerable,
        top_base_score=ranking[0].base_score if ranking else None,
        answerable_score=score,
        metrics=_metrics(query, ranking, evidence, prepared.options.topk)
        if item.answerable
        else {},
        latency_ms=outcome.latency_ms,
    )


def _decide(
    judge: UnanswerableJudge, retriever: Retriever, query: str, ranking: Sequence[Hit]
) -> tuple[bool | None, float | None]:
    """Whether the query is judged unanswerable, and the score that this hangs on; None for what a model is to say."""
    if isinstance(judge, ThresholdJudge):
        verdict = judge_by_threshold(ranking, judge.min_score)
        return verdict.unanswerable, verdict.top_base_score
    if isinstance(judge, CalibratedJudge):
        calibrated = judge_by_calibration(signals_of(retriever, query), judge)
        return calibrated.unanswerable, calibrated.answerable_probability
    return None, None


def item_failure(failure: Failure) -> ErrorReport:
    """The line of errors.jsonl for a query that could not be evaluated."""
    message = f"query {failure.item_id}: {failure.message}"
    return ErrorReport(kind="item", id=failure.item_id, error=failure.error, message=message)


def measured(report: ItemReport) -> Measured:
    """What aggregation needs of a line."""
    return Measured(
        item_id=report.id,
        language=report.language,
        cross_lingual=report.cross_lingual,
        tags=report.tags,
        difficulty=report.difficulty,
        is_unanswerable=not report.answerable,
        judged_unanswerable=report.judged_unanswerable,
        values=report.metrics,
        latency_ms=report.latency_ms,
    )


def _metrics(
    query: CheckedQuery, ranking: Sequence[Hit], evidence: Sequence[Passage], topk: int
) -> dict[str, float | None]:
    shown = evidence[:EVIDENCE_HITS]
    return {
        **measure_ranking([hit.note for hit in ranking], query.qrels, topk),
        "span_precision": span_precision(shown, query.spans),
        "span_recall": span_recall(shown, query.spans),
    }


def _is_cross_lingual(prepared: Prepared, query: CheckedQuery) -> bool:
    """Tagged so, or asked in a language that none of its expected notes says it is in."""
    if CROSS_LINGUAL_TAG in query.item.tags:
        return True
    notes = (prepared.vault.note(path) for path in query.qrels)
    languages = {_primary(note.language) for note in notes if note}
    asked = _primary(query.item.language or "")
    return bool(asked and languages and "" not in languages) and asked not in languages


def _primary(language: str) -> str:
    """A language without its region or script: "ko-KR" is "ko"."""
    return re.split("[-_]", language.strip().lower())[0]


def _passage(prepared: Prepared, passage: Passage) -> PassageReport:
    start, end = prepared.units(passage.note).span_from_code_points(passage.span)
    return PassageReport(note=passage.note, utf16_start=start, utf16_end=end, text=passage.text)
