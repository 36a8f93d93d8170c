"""Makes the content of an answer run's out folder from the results of its models: a line for each answer, the summary.

A line has the evaluation, the checks and the human labels; the summary has the figures over all lines.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel

from gigamind.datasets.schema import AnswerLabels, LabelledFact
from gigamind.evaluation.costs import coverage_report, flip_report, llm_report, unread_fields
from gigamind.evaluation.shards import ModelRun
from gigamind.evaluation.task import Run
from gigamind.evaluation.workers import latency
from gigamind.evidence.quality import quality
from gigamind.evidence.result import Aligned
from gigamind.i18n import Text, _
from gigamind.interop.ranking import Oddity
from gigamind.judges.quality_gate import ChecklistItem
from gigamind.judges.search_qa.judge import second_looks
from gigamind.judges.search_qa.judgement import without_second_look
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.segments import comparable
from gigamind.judges.search_qa.words import GRAMMAR, stems
from gigamind.metrics.grounding import INSEPARABLE, ClaimRow, FactRow, GroundingTable, correlation
from gigamind.records.judged import (
    EvaluatedClaim,
    LlmReport,
    QualityReport,
    SearchQAEvaluation,
    SecondLookReport,
    VerdictReport,
)
from gigamind.records.schema import Record, intervals
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.spans import Span
from gigamind.stats.agreement import variance_components
from gigamind.stats.intervals import Clusters, Estimate, averaged, clusters_of, sliced
from gigamind.systems.dialect import SystemHealth
from gigamind.tasks.answers import schema
from gigamind.tasks.answers.prepared import (
    GATE_ROLE,
    SYSTEM_ROLE,
    EvalCase,
    Gate,
    PreparedAnswers,
    backing,
)
from gigamind.vault.language import text_language


def record_answers(
    prepared: PreparedAnswers, run: Run[None], model_run: ModelRun, started: datetime
) -> schema.AnswerRunRecord:
    """Return the content of a run's out folder."""
    cases = prepared.with_answers(model_run.results).cases
    items = _lines(cases.values(), model_run)
    summary = _summarise_answers(prepared, run, model_run, items)
    if summary.system:
        warnings = (*prepared.warnings, *_quality_warnings(summary.system, items))
        prepared = replace(prepared, warnings=warnings)
    index = "none" if prepared.options.answer_model is None else RAG_SCHEMA_VERSION
    report = prepared.report(started, summary.status, index, prepared.judge.report)
    errors = [*prepared.errors, *model_run.unscored(lambda key: _KINDS.get(key.part, _VERDICT))]
    attempts = model_run.attempts if summary.llm else None
    return Record(report, summary, items, errors, attempts, summary.llm)


def _summarise_answers(
    prepared: PreparedAnswers,
    run: Run[None],
    model_run: ModelRun,
    items: Sequence[schema.AnswerItemReport],
) -> schema.AnswerSummaryReport:
    """Return the figures of a run. Except for times, equal runs give equal summaries."""
    seed = prepared.options.seed
    overall = _slice(items, seed)
    judged = [item.evaluation for item in items if item.evaluation]
    claims = [claim for evaluation in judged for claim in evaluation.claims]
    times = [item.system_latency_ms for item in items if item.system_latency_ms is not None]
    asked = sum(key.part == SYSTEM_ROLE for key in model_run.results)
    failed = len(items) - len(_answered(items))
    return schema.AnswerSummaryReport(
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
        agreement=_agreement(items),
        flagged=sum(bool(item.evaluation and item.evaluation.flagged) for item in items),
        performance=schema.AnswerPerformance(
            preparing_ms=run.opening_ms,
            eval_runtime_ms=run.asking_ms,
            system=schema.SystemLatency(**latency(times), n=len(times)) if times else None,
        ),
        quality=_quality_summary(prepared.gate, _answered(items)),
        llm=_llm(prepared, model_run, items),
        system=SystemHealth.of(failed, asked, (item.oddities for item in items))
        if prepared.system
        else None,
        variance=_variance(items, overall.answers) if prepared.options.repeats > 1 else {},
    )


def _answered(items: Sequence[schema.AnswerItemReport]) -> list[schema.AnswerItemReport]:
    return [item for item in items if item.outcome != "unanswered"]


def _quality_warnings(
    system: SystemHealth, items: Sequence[schema.AnswerItemReport]
) -> Iterator[Text]:
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
    prepared: PreparedAnswers, model_run: ModelRun, items: Sequence[schema.AnswerItemReport]
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


def _counts(
    prepared: PreparedAnswers, items: Sequence[schema.AnswerItemReport]
) -> schema.AnswerCounts:
    evaluated = [item.evaluation for item in items if item.evaluation]
    return schema.AnswerCounts(
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


def _slice(items: Sequence[schema.AnswerItemReport], seed: int) -> schema.AnswerSliceReport:
    names = list(dict.fromkeys(name for item in items for name in item.metrics))
    questions = sliced(items, lambda item: [item.question_id])  # a cluster counts once
    rows = [averaged([item.metrics for item in own]) for own in questions.values()]
    # Sorted, so that the order of items does not matter.
    rows.sort(key=lambda row: [((value := row.get(name)) is None, value or 0.0) for name in names])
    estimates = Estimate.means(rows, names, seed=seed, label="answers")
    return schema.AnswerSliceReport(
        items=len(items),
        answers={name: estimate.value for name, estimate in estimates.items()},
        intervals=intervals("answers", estimates),
    )


def _variance(
    items: Sequence[schema.AnswerItemReport], names: Iterable[str]
) -> dict[str, schema.VarianceReport]:
    """Return the components of each metric that was measured on two answers to a question or more."""
    known: dict[str, schema.VarianceReport] = {}
    for name in names:
        own = [(v, item) for item in items if (v := item.metrics.get(name)) is not None]
        found = variance_components(
            np.array([value for value, _item in own]),
            clusters_of(item.question_id for _value, item in own),
            clusters_of((item.question_id, item.answer, item.notes) for _value, item in own),
        )
        if found:
            known[name] = schema.VarianceReport.like(found)
    return known


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _correlation(items: Sequence[schema.AnswerItemReport]) -> schema.CorrelationReport:
    judged = (item.evaluation for item in items if item.evaluation)
    pairs = ((evaluation.correctness, evaluation.utility) for evaluation in judged)
    both = [(first, other) for first, other in pairs if first is not None and other is not None]
    r = correlation(both)
    return schema.CorrelationReport(
        r=r, n=len(both), separate=None if r is None else r <= INSEPARABLE
    )


_MIN_SHARED_WORDS = 0.5  # share of a fact's words that a claim must have to state it


def _fact(
    fact: LabelledFact,
    evaluation: SearchQAEvaluation | None,
    notes: tuple[str, ...],
    references: tuple[str, ...] | None,
) -> schema.LabelledFactReport:
    places = backing(fact.text, notes)
    stating = (
        claim.id
        for claim in (evaluation.claims if evaluation else ())
        if any(_states(claim, fact.text, place) for place in places)
    )
    note = places[0].quote.source_index + 1 if places else None
    is_known = references is not None and (not references or bool(backing(fact.text, references)))
    missed = note is None and is_known
    return schema.LabelledFactReport.like(fact, note=note, claim=next(stating, None), missed=missed)


def _states(claim: EvaluatedClaim, fact: str, place: Aligned) -> bool:
    """Return whether a claim cites a fact's range, with its numbers and (in one language) half of its words."""
    evidence = claim.evidence
    if claim.verdict != "supported" or not evidence or evidence["status"] != "aligned":
        return False
    proof = Span(int(evidence["start"]), int(evidence["end"]))
    if evidence["source_index"] != place.quote.source_index or not proof.iou(place.span):
        return False
    if new_numbers(fact, known_numbers(claim.text)):
        return False
    words = stems(fact) - GRAMMAR
    if text_language(fact) != text_language(claim.text) or not words:
        return True
    return len(words & stems(claim.text)) >= _MIN_SHARED_WORDS * len(words)


def _labels_report(
    labels: AnswerLabels | None,
    evaluation: SearchQAEvaluation | None,
    notes: tuple[str, ...],
    references: tuple[str, ...] | None,
) -> schema.LabelsReport | None:
    """Return the labels with the ids of matching claims: the same text for claims, stating the fact for facts.

    If a system chooses the notes, `references` are the texts of the dataset that contain the facts.
    """
    if labels is None:
        return None
    claims = evaluation.claims if evaluation else ()
    ids = {comparable(claim.text): claim.id for claim in reversed(claims)}  # the first one counts
    of_claims = (
        schema.LabelledClaimReport.like(claim, claim=ids.get(comparable(claim.text)))
        for claim in labels.claims
    )
    facts = tuple(_fact(fact, evaluation, notes, references) for fact in labels.facts)
    return schema.LabelsReport.like(labels, claims=tuple(of_claims), facts=facts)


def _grounding_of(
    evaluation: SearchQAEvaluation,
    notes: int,
    labels: AnswerLabels | None,
    facts: Sequence[schema.LabelledFactReport],
    relevant: frozenset[int] | None,
) -> dict[str, float | None]:
    """Return the grounding metrics of one evaluated answer.

    Without `relevant` from the dataset, the judge's own labels count, if it labelled every note.
    """
    known = {
        comparable(claim.text): claim.correct
        for claim in (labels.claims if labels else ())
        if claim.correct is not None
    }
    uses = evaluation.source_coverage
    if relevant is None and all(use.relevant is not None for use in uses):
        relevant = frozenset(use.note_index for use in uses if use.relevant)
    rows = (
        ClaimRow(claim.verdict, claim.note, claim.cited, known.get(comparable(claim.text)))
        for claim in evaluation.claims
    )
    proven = sum(omission.doubt is None for omission in evaluation.omissions)
    counted = (fact for fact in facts if fact.counts)
    table = GroundingTable(
        tuple(rows),
        notes,
        relevant,
        omissions=None if evaluation.completeness is None else proven,
        answerable=bool(evaluation.reported_answerable),
        facts=tuple(FactRow(given=x.claim is not None, vital=x.vital) for x in counted),
    )
    return table.measured()


def _agreement(items: Sequence[schema.AnswerItemReport]) -> schema.AgreementReport | None:
    """Return the agreement of the run with human labels; None if no evaluated answer has comparable labels."""
    both = [(item.evaluation, item.labels) for item in items if item.evaluation and item.labels]
    if not both:
        return None
    correct = _distances((judged.correctness, labels.correctness) for judged, labels in both)
    useful = _distances((judged.utility, labels.utility) for judged, labels in both)
    abstained = [own.abstains is x.abstains for own, x in both if x.abstains is not None]
    labelled = [(own, claim) for own, labels in both for claim in labels.claims]
    matched = [_same(own, claim) for own, claim in labelled if claim.claim is not None]
    if not (correct or useful or abstained or labelled):
        return None
    return schema.AgreementReport(
        correctness_error=_mean(correct),
        correctness_n=len(correct),
        utility_error=_mean(useful),
        utility_n=len(useful),
        claim_accuracy=_mean(matched),
        claims=len(matched),
        claims_unmatched=len(labelled) - len(matched),
        abstention_accuracy=_mean(abstained),
        abstentions=len(abstained),
    )


def _distances(pairs: Iterable[tuple[float | None, float | None]]) -> list[float]:
    return [abs(a - b) for a, b in pairs if a is not None and b is not None]


def _same(evaluation: SearchQAEvaluation, claim: schema.LabelledClaimReport) -> bool:
    verdict = next(judged.verdict for judged in evaluation.claims if judged.id == claim.claim)
    return ("not_found" if verdict == "unverified" else verdict) == claim.verdict


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


_KINDS: dict[str, tuple[Literal["check", "item"], Text]] = {
    GATE_ROLE: ("check", _("checklist of answer")),
    SYSTEM_ROLE: ("item", _("question")),
}
_VERDICT: tuple[Literal["verdict"], Text] = ("verdict", _("answer"))
_Stored = TypeVar("_Stored", bound=BaseModel)


def _lines(cases: Iterable[EvalCase], run: ModelRun) -> list[schema.AnswerItemReport]:
    """Return one line for each answer, in their order.

    Second checks of a model that accepts too many canaries in the whole run confirm nothing.
    """
    results = run.results
    stored: list[SecondLookReport | None] = []
    for result in results.values():
        value: dict[str, Any] = result.value or {}
        evaluation: dict[str, Any] = value.get("evaluation") or {}
        stored.append(_read(SecondLookReport, evaluation.get("second_look")))
    looks = second_looks(stored)
    unbelieved = {(look.model, look.language) for look in looks if not look.believed}
    return [
        _line(
            case,
            results.get(ItemKey(case.id)),
            results.get(ItemKey(case.id, GATE_ROLE)),
            results.get(ItemKey(case.id, SYSTEM_ROLE)),
            unbelieved,
        )
        for case in cases
    ]


def _line(
    case: EvalCase,
    result: ItemResult | None,
    check: ItemResult | None,
    response: ItemResult | None,
    unbelieved: Container[tuple[str, str]],
) -> schema.AnswerItemReport:
    """Return the line of one answer; a result is None if it was not run, or has no checklist or no system.

    The second checks of `unbelieved` models confirm nothing; each has a name and a language.
    """
    value: dict[str, Any] = (result.value if result else None) or {}
    checked: dict[str, Any] = (check.value if check else None) or {}
    evaluation = _read(SearchQAEvaluation, value.get("evaluation"))
    look = evaluation.second_look if evaluation else None
    if evaluation and look and (look.model, look.language) in unbelieved:
        evaluation = without_second_look(evaluation, case.language)
    own = _read(VerdictReport, value.get("verdict"))
    texts, more = tuple(note.text for note in case.notes), dict[str, Any]()
    if details := case.response:
        contexts = (
            schema.ContextReport(note=given.note, score=given.base_score, known=bool(text))
            for given, text in zip(details.contexts, texts, strict=True)
        )
        more |= {"contexts": tuple(contexts), "oddities": dict(details.oddities)}
        more["system_latency_ms"] = details.latency_ms
    references = case.references if case.response else None
    labels = _labels_report(case.labels, evaluation, texts, references)
    metrics: dict[str, float | None] = dict(own.scores) if own else {}
    if evaluation:
        facts = labels.facts if labels else ()
        metrics = {"correctness": evaluation.correctness, "utility": evaluation.utility}
        metrics |= _grounding_of(evaluation, len(case.notes), case.labels, facts, case.relevant)
    unjudged = "unanswered" if response and response.value is None else "not_run"
    outcome = result.outcome if result else unjudged
    if outcome == "scored" and not (evaluation or own):
        outcome = "without_context"
    return schema.AnswerItemReport.like(
        case,
        answer=value.get("answer", checked.get("answer", case.answer)),
        notes=tuple(map(schema.NoteReport.like, case.notes)),
        outcome=outcome,
        code=result.code if result else response.code if response else "",
        evaluation=evaluation,
        metrics=metrics,
        labels=labels,
        flipped=value.get("flipped"),
        quality=_read(QualityReport, checked.get("quality")),
        quality_code=check.code if check else "",
        verdict=own,
        unread=unread_fields([item_result for item_result in (result, check) if item_result]),
        latency_ms=result.latency_ms if result else 0.0,
        **more,
    )


def _read(model: type[_Stored], stored: dict[str, Any] | None) -> _Stored | None:
    return model.model_validate(stored) if stored else None


def _quality_summary(
    gate: Gate | None, items: Sequence[schema.AnswerItemReport]
) -> schema.QualitySummaryReport | None:
    """Return the `quality` block of a run; None without a quality gate."""
    if gate is None:
        return None
    return schema.QualitySummaryReport(
        judge=gate.report,
        feature=gate.judge.feature,
        min_pass_ratio=gate.judge.checklist.min_pass_ratio,
        unchecked=sum(bool(item.quality_code) for item in items),
        not_run=sum(item.quality is None and not item.quality_code for item in items),
        overall=_checked_slice(gate, items),
        by_language={
            language: _checked_slice(gate, own)
            for language, own in sliced(items, lambda item: [item.language]).items()
        },
    )


def _checked_slice(
    gate: Gate, items: Sequence[schema.AnswerItemReport]
) -> schema.QualitySliceReport:
    checked = [item.quality for item in items if item.quality]
    questions = clusters_of(item.question_id for item in items if item.quality)
    passed = sum(report.passed for report in checked)
    rate = Estimate.share(passed, len(checked), questions)
    items_met = (_item_rate(item, checked, questions) for item in gate.judge.checklist.items)
    return schema.QualitySliceReport.like(
        rate, checked=len(checked), passed=passed, pass_rate=rate.value, items=tuple(items_met)
    )


def _item_rate(
    item: ChecklistItem, checked: Sequence[QualityReport], questions: Clusters
) -> schema.QualityItemRate:
    results = [result for report in checked for result in report.items if result.id == item.id]
    yes = sum(result.yes for result in results)
    unproven = sum(result.reported_yes is True and not result.trusted for result in results)
    rate = Estimate.share(yes, len(results), questions)
    measured = {"rate": rate.value, "low": rate.low, "high": rate.high}
    return schema.QualityItemRate.like(item, yes=yes, unproven=unproven, **measured)
