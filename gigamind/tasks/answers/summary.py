"""Summarises the results of an answer run and assembles its out folder."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from gigamind.evaluation.costs import coverage_report, flip_report, llm_report
from gigamind.evaluation.shards import ModelRun
from gigamind.evaluation.task import Run, run_report
from gigamind.evaluation.workers import latency
from gigamind.evidence.record import quality
from gigamind.i18n import Text, _
from gigamind.interop.ranking import Oddity
from gigamind.judges.search_qa.judge import second_looks
from gigamind.metrics.grounding import INSEPARABLE, correlation
from gigamind.records.judged import LlmReport
from gigamind.records.schema import Record, intervals
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION
from gigamind.stats.components import variance_components
from gigamind.stats.intervals import averaged, clusters_of, means, sliced
from gigamind.systems.dialect import SystemHealth
from gigamind.tasks.answers.checklist import GATE_ROLE, quality_summary
from gigamind.tasks.answers.items import agreement, answer_items, failures
from gigamind.tasks.answers.prepared import SYSTEM_ROLE, PreparedAnswers, with_answers
from gigamind.tasks.answers.schema import (
    AnswerCounts,
    AnswerItemReport,
    AnswerPerformance,
    AnswerRunRecord,
    AnswerSliceReport,
    AnswerSummaryReport,
    CorrelationReport,
    SystemLatency,
    VarianceReport,
)


def record_answers(
    prepared: PreparedAnswers, run: Run[None], model_run: ModelRun, started: datetime
) -> AnswerRunRecord:
    """Return the content of a run's out folder."""
    cases = with_answers(prepared, model_run.results).cases
    items = answer_items(cases.values(), model_run)
    summary = _summarise_answers(prepared, run, model_run, items)
    if summary.system:
        warnings = (*prepared.warnings, *_quality_warnings(summary.system, items))
        prepared = replace(prepared, warnings=warnings)
    index = "none" if prepared.options.answer_model is None else RAG_SCHEMA_VERSION
    report = run_report(prepared, started, summary.status, index, prepared.judge.report)
    errors = [*prepared.errors, *failures(model_run)]
    attempts = model_run.attempts if summary.llm else None
    return Record(report, summary, items, errors, attempts, summary.llm)


def _summarise_answers(
    prepared: PreparedAnswers,
    run: Run[None],
    model_run: ModelRun,
    items: Sequence[AnswerItemReport],
) -> AnswerSummaryReport:
    """Return the figures of a run. Except for times, equal runs give equal summaries."""
    seed = prepared.options.seed
    overall = _slice(items, seed)
    judged = [item.evaluation for item in items if item.evaluation]
    claims = [claim for evaluation in judged for claim in evaluation.claims]
    times = [item.system_latency_ms for item in items if item.system_latency_ms is not None]
    asked = sum(key.part == SYSTEM_ROLE for key in model_run.results)
    failed = len(items) - len(_answered(items))
    return AnswerSummaryReport(
        status="interrupted" if run.interrupted else "complete",
        counts=_counts(prepared, items),
        overall=overall,
        by_language={
            key: _slice(own, seed) for key, own in sliced(items, lambda x: [x.language]).items()
        },
        by_tag={key: _slice(own, seed) for key, own in sliced(items, lambda x: x.tags).items()},
        confidence=_counted(evaluation.confidence or "none" for evaluation in judged),
        verdicts=_counted(claim.verdict for claim in claims),
        doubts=_counted(claim.doubt for claim in claims if claim.doubt),
        roles=_counted(["claim"] * len(claims) + [x.role for own in judged for x in own.asides]),
        vetoes=_counted(claim.veto for claim in claims if claim.veto),
        omissions=_counted(x.doubt or "proven" for own in judged for x in own.omissions),
        facts_unbacked=sum(not x.counts for own in items if own.labels for x in own.labels.facts),
        notices=_counted(name for evaluation in judged for name in evaluation.notices),
        reported_verdicts=_counted(x.reported_verdict for x in claims if x.reported_verdict),
        not_believed=_counted(
            claim.doubt or claim.verdict
            for claim in claims
            if claim.reported_verdict == "supported" and claim.verdict != "supported"
        ),
        second_looks=tuple(second_looks(evaluation.second_look for evaluation in judged)),
        looked_at=sum(claim.confirmed is not None for claim in claims),
        loose=sum(
            claim.reported_verdict is None
            and claim.verdict == "supported"
            and (claim.share or 0.0) < 1.0
            for claim in claims
        ),
        quotes=quality([claim.evidence for claim in claims if claim.evidence]),
        correlation=_correlation(items),
        agreement=agreement(items),
        flagged=sum(bool(item.evaluation and item.evaluation.flagged) for item in items),
        performance=AnswerPerformance(
            preparing_ms=run.opening_ms,
            eval_runtime_ms=run.asking_ms,
            system=SystemLatency(**latency(times), n=len(times)) if times else None,
        ),
        quality=quality_summary(prepared.gate, _answered(items)),
        llm=_llm(prepared, model_run, items),
        system=SystemHealth.of(failed, asked, (item.oddities for item in items))
        if prepared.system
        else None,
        variance=_variance(items, overall.answers) if prepared.options.repeats > 1 else {},
    )


def _answered(items: Sequence[AnswerItemReport]) -> list[AnswerItemReport]:
    return [item for item in items if item.outcome != "unanswered"]


def _quality_warnings(system: SystemHealth, items: Sequence[AnswerItemReport]) -> Iterator[Text]:
    total = len(items)
    if system.failed:
        yield _(
            "the system gave no answer to {count:,} of {total:,} questions; no metric includes them. See errors.jsonl"
            " for the reasons.",
            count=system.failed,
            total=total,
        )
    for name, count in system.oddities.items():
        yield _oddity_texts(count, total)[name]


def _oddity_texts(count: int, total: int) -> dict[Oddity, Text]:
    values = {"count": count, "total": total}
    return {
        "no_contexts": _(
            "{count:,} of {total:,} answers have no context, so none of their claims can be proven. Let the system"
            " return the contexts it used. For an endpoint, check the path of `contexts` in --system-config.",
            **values,
        ),
        "unknown_notes": _(
            "{count:,} of {total:,} answers have contexts from unknown notes. A context without text cannot prove"
            " a claim. Pass the vault that has these notes (--notes), or let the system return the texts of the"
            " contexts.",
            **values,
        ),
        "repeated_notes": _(
            "{count:,} of {total:,} answers contain the same context twice; both copies keep their context numbers.",
            **values,
        ),
        "bad_scores": _(
            "{count:,} of {total:,} answers have context scores that are not finite numbers; these scores are ignored.",
            **values,
        ),
        "unplaced_texts": _(
            "{count:,} of {total:,} answers have a context whose text is not in its note, or occurs there more"
            " than once. The judge uses the text of the context.",
            **values,
        ),
        "asked_again": _(
            "{count:,} of {total:,} questions needed a retry; latencies include retries.", **values
        ),
    }


def _llm(
    prepared: PreparedAnswers, model_run: ModelRun, items: Sequence[AnswerItemReport]
) -> LlmReport | None:
    """Return the outcomes of evaluations (of answers with context) and of checks; None if no model was called."""
    judge = prepared.judge.report
    if not (judge.asks_a_model or prepared.gate or prepared.options.answer_model):
        return None
    judged = {item.id for item in _answered(items) if item.outcome != "without_context"}
    results = {
        key: result
        for key, result in model_run.results.items()
        if key.part not in {GATE_ROLE, SYSTEM_ROLE} and key.item_id in judged
    }
    flips = flip_report((item.flipped, item.question_id) for item in items)
    checks = None
    if prepared.gate:
        answers = _answered(items)
        checked = (result for key, result in model_run.results.items() if key.part == GATE_ROLE)
        again = ((item.quality.flipped, item.question_id) for item in answers if item.quality)
        checks = coverage_report(checked, len(answers), flip_report(again))
    return llm_report(replace(model_run, results=results), len(judged), flips, checks=checks)


def _counts(prepared: PreparedAnswers, items: Sequence[AnswerItemReport]) -> AnswerCounts:
    evaluated = [item.evaluation for item in items if item.evaluation]
    return AnswerCounts(
        answers_total=len(items),
        answers_evaluated=sum(item.is_judged for item in items),
        unanswered=len(items) - len(_answered(items)),
        without_context=sum(item.outcome == "without_context" for item in items),
        unjudged=sum(
            item.outcome not in {"scored", "without_context", "not_run"}
            for item in _answered(items)
        ),
        not_run=sum(item.outcome == "not_run" for item in items),
        abstained=sum(evaluation.abstains for evaluation in evaluated),
        without_claims=sum(evaluation.outcome == "no_claims" for evaluation in evaluated),
        claims=sum(len(evaluation.claims) for evaluation in evaluated),
        rows_rejected=prepared.rows_rejected,
        rows_not_sampled=prepared.not_sampled,
        notes=prepared.notes,
    )


def _slice(items: Sequence[AnswerItemReport], seed: int) -> AnswerSliceReport:
    names = list(dict.fromkeys(name for item in items for name in item.metrics))
    questions = sliced(items, lambda item: [item.question_id])  # a cluster counts once
    rows = [averaged([item.metrics for item in own]) for own in questions.values()]
    # Sorted, so that the order of items does not matter.
    rows.sort(key=lambda row: [((value := row.get(name)) is None, value or 0.0) for name in names])
    estimates = means(rows, names, seed=seed, label="answers")
    return AnswerSliceReport(
        items=len(items),
        answers={name: estimate.value for name, estimate in estimates.items()},
        intervals=intervals("answers", estimates),
    )


def _variance(items: Sequence[AnswerItemReport], names: Iterable[str]) -> dict[str, VarianceReport]:
    """Return the components of each metric that was measured on two answers to a question or more."""
    known: dict[str, VarianceReport] = {}
    for name in names:
        own = [(v, item) for item in items if (v := item.metrics.get(name)) is not None]
        found = variance_components(
            np.array([value for value, _item in own]),
            clusters_of(item.question_id for _value, item in own),
            clusters_of((item.question_id, item.answer, item.notes) for _value, item in own),
        )
        if found:
            known[name] = VarianceReport.like(found)
    return known


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _correlation(items: Sequence[AnswerItemReport]) -> CorrelationReport:
    judged = (item.evaluation for item in items if item.evaluation)
    pairs = ((evaluation.correctness, evaluation.utility) for evaluation in judged)
    both = [(first, other) for first, other in pairs if first is not None and other is not None]
    r = correlation(both)
    return CorrelationReport(r=r, n=len(both), separate=None if r is None else r <= INSEPARABLE)
