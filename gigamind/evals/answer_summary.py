"""From the lines of a run to its summary and its out folder."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gigamind.evals.answer_agreement import agreement
from gigamind.evals.answer_checklist import checked_id
from gigamind.evals.answer_items import answer_items, failures
from gigamind.evals.answer_panel import panel_report
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.evals.answer_quality import quality_summary
from gigamind.evals.model_costs import coverage_report, flip_report, llm_report
from gigamind.evals.model_run import ModelRun
from gigamind.evals.summary import RUN_ID_FORMAT
from gigamind.metrics.grounding import INSEPARABLE, correlation
from gigamind.metrics.means import means
from gigamind.reports.answer_schema import (
    AnswerCounts,
    AnswerItemReport,
    AnswerPerformance,
    AnswerRunRecord,
    AnswerSliceReport,
    AnswerSummaryReport,
    CorrelationReport,
    QuoteQualityReport,
)
from gigamind.reports.environment import describe_environment, describe_hardware
from gigamind.reports.judged import CoverageReport, LlmReport
from gigamind.reports.schema import IntervalReport, RunReport
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """What a run gave.

    Attributes:
        preparing_ms: from the first read of the dataset until the first question to a model.
        runtime_ms: wall time of all questions to models.
    """

    asked: ModelRun
    preparing_ms: float
    runtime_ms: float


def record_answers(
    prepared: PreparedAnswers, outcome: AnswerRun, started: datetime
) -> AnswerRunRecord:
    """All that the out folder of a run is to hold."""
    options = prepared.options
    items = answer_items(prepared, outcome.asked)
    summary = summarise_answers(prepared, outcome, items)
    searched = options.answer_model is not None
    run = RunReport(
        run_id=started.astimezone().strftime(RUN_ID_FORMAT),
        created_at=started.isoformat(timespec="seconds"),
        task="answers",
        status=summary.status,
        dataset=str(options.dataset),
        dataset_hash=prepared.dataset_hash,
        notes=str(options.notes or ""),
        notes_hash=prepared.notes_hash,
        notes_hash_mode=options.notes_hash_mode,
        options=options.for_report(),
        judge=prepared.judge.report,
        environment=describe_environment(
            prepared.embedding_model, RAG_SCHEMA_VERSION if searched else "none"
        ),
        hardware=describe_hardware(),
        warnings=prepared.warnings,
    )
    errors = [*prepared.errors, *failures(outcome.asked)]
    return AnswerRunRecord(run, summary, items, errors, outcome.asked.attempts, summary.llm)


def summarise_answers(
    prepared: PreparedAnswers, outcome: AnswerRun, items: Sequence[AnswerItemReport]
) -> AnswerSummaryReport:
    """The figures of a run; equal runs give equal summaries, times apart."""
    seed, asked = prepared.options.seed, outcome.asked
    claims = [claim for item in items if item.evaluation for claim in item.evaluation.claims]
    return AnswerSummaryReport(
        status="interrupted" if asked.interrupted else "complete",
        counts=_counts(prepared, items),
        overall=_slice(items, seed),
        by_language=_slices(items, ((item.language,) for item in items), seed),
        by_tag=_slices(items, (item.tags for item in items), seed),
        confidence=_counted(
            item.evaluation.confidence or "none" for item in items if item.evaluation
        ),
        verdicts=_counted(claim.verdict for claim in claims),
        doubts=_counted(claim.doubt for claim in claims if claim.doubt),
        cuts=_counted(claim.cut for claim in claims),
        quotes=_quotes([claim.evidence for claim in claims if claim.evidence]),
        correlation=_correlation(items),
        agreement=agreement(items),
        flagged=sum(bool(item.evaluation and item.evaluation.flagged) for item in items),
        performance=AnswerPerformance(
            preparing_ms=outcome.preparing_ms, eval_runtime_ms=outcome.runtime_ms
        ),
        quality=quality_summary(prepared.gate, items),
        llm=_llm(prepared, asked, items),
    )


def _llm(
    prepared: PreparedAnswers, asked: ModelRun, items: Sequence[AnswerItemReport]
) -> LlmReport:
    """What was asked: evaluations and, apart from them, checks."""
    results = {name: one for name, one in asked.results.items() if checked_id(name) is None}
    return llm_report(
        replace(asked, results=results),
        len(items),
        flip_report([item.flipped for item in items if item.flipped is not None]),
        panel=panel_report(items, prepared.options.seed),
        checks=_checks(asked, items) if prepared.gate else None,
    )


def _checks(asked: ModelRun, items: Sequence[AnswerItemReport]) -> CoverageReport:
    results = (one for name, one in asked.results.items() if checked_id(name) is not None)
    found = [item.quality.flipped for item in items if item.quality]
    flips = flip_report([flipped for flipped in found if flipped is not None])
    return coverage_report(results, len(items), flips)


def _counts(prepared: PreparedAnswers, items: Sequence[AnswerItemReport]) -> AnswerCounts:
    evaluated = [item.evaluation for item in items if item.evaluation]
    return AnswerCounts(
        answers_total=len(items),
        answers_evaluated=len(evaluated),
        without_context=sum(item.outcome == "scored" and not item.evaluation for item in items),
        unjudged=sum(item.outcome not in {"scored", "not_run"} for item in items),
        not_run=sum(item.outcome == "not_run" for item in items),
        abstained=sum(one.abstains for one in evaluated),
        without_claims=sum(one.outcome == "no_claims" for one in evaluated),
        claims=sum(len(one.claims) for one in evaluated),
        rows_rejected=len({error.line for error in prepared.errors}),
        rows_not_sampled=prepared.not_sampled,
        notes=prepared.notes,
    )


def _slices(
    items: Sequence[AnswerItemReport], keys: Iterable[Iterable[str]], seed: int
) -> dict[str, AnswerSliceReport]:
    """The figures by key; an item stands in the slice of each of its keys, once."""
    groups: dict[str, list[AnswerItemReport]] = {}
    for item, own in zip(items, keys, strict=True):
        for key in dict.fromkeys(own):
            groups.setdefault(key, []).append(item)
    return {key: _slice(groups[key], seed) for key in sorted(groups)}


def _slice(items: Sequence[AnswerItemReport], seed: int) -> AnswerSliceReport:
    names = list(dict.fromkeys(name for item in items for name in item.metrics))
    found = means([item.metrics for item in items], names, seed=seed, label="answers")
    return AnswerSliceReport(
        items=len(items),
        answers={name: one.value for name, one in found.items()},
        intervals={
            f"answers.{name}": IntervalReport(low=one.low, high=one.high, n=one.n)
            for name, one in found.items()
        },
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _correlation(items: Sequence[AnswerItemReport]) -> CorrelationReport:
    both = [
        (item.evaluation.correctness, item.evaluation.utility)
        for item in items
        if item.evaluation and item.evaluation.correctness is not None
    ]
    r = correlation(both)
    return CorrelationReport(r=r, n=len(both), separate=None if r is None else r <= INSEPARABLE)


def _quotes(evidence: Sequence[dict[str, Any]]) -> QuoteQualityReport | None:
    """The rates of `evidence.quality`, from quotes as they are written."""
    if not evidence:
        return None
    n = len(evidence)
    methods = Counter(one.get("method", "failed") for one in evidence)
    return QuoteQualityReport(
        quotes=n,
        exact=methods["exact"] / n,
        normalized=methods["normalized"] / n,
        fuzzy=methods["fuzzy"] / n,
        failed=methods["failed"] / n,
        near_miss=sum(one.get("near_miss") is not None for one in evidence) / n,
        ambiguous=sum(bool(one.get("ambiguous")) for one in evidence) / n,
        critical=sum(bool(one.get("critical")) for one in evidence) / n,
    )
