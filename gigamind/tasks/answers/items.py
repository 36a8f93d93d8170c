"""Builds the lines of per_item.jsonl: evaluation, checks and human labels of an answer."""

from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from math import fsum
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from gigamind.datasets.schema import AnswerLabels, LabelledFact
from gigamind.evaluation.costs import unread_fields
from gigamind.evaluation.shards import ModelRun, unscored
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Quote
from gigamind.i18n import Text, _
from gigamind.judges.protocol import Verdict as JudgeVerdict
from gigamind.judges.quotes import best_proof
from gigamind.judges.search_qa.judge import second_looks
from gigamind.judges.search_qa.judgement import without_second_look
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.segments import claims_of, comparable, pieces_of
from gigamind.judges.search_qa.words import GRAMMAR, stems
from gigamind.metrics.grounding import ClaimRow, FactRow, GroundingTable, measure_claims
from gigamind.records.judged import (
    EvaluatedClaim,
    ProofReport,
    QualityReport,
    SearchQAEvaluation,
    SecondLookReport,
    VerdictReport,
)
from gigamind.records.schema import ErrorReport
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.spans import Span
from gigamind.tasks.answers import schema
from gigamind.tasks.answers.checklist import GATE_ROLE
from gigamind.tasks.answers.prepared import SYSTEM_ROLE, EvalCase
from gigamind.vault.language import text_language

_MIN_CHARS = 8  # letters and digits of a fact, as for a quote
_MIN_SHARED_WORDS = 0.5  # share of a fact's words that a claim must have to state it


def unmatched_labels(answer: str, labels: AnswerLabels | None) -> list[str]:
    """Return the labelled claims that the answer lacks."""
    if labels is None:
        return []
    known = {comparable(claim.text) for claim in claims_of(pieces_of(answer))}
    return [claim.text for claim in labels.claims if comparable(claim.text) not in known]


def unbacked_facts(labels: AnswerLabels | None, notes: tuple[str, ...]) -> list[str]:
    """Return the labelled facts that no note contains."""
    facts = labels.facts if labels else ()
    return [fact.text for fact in facts if not _backing(fact.text, notes)]


@lru_cache(maxsize=4_096)  # each fact is looked for before the run, and again for its report
def _backing(fact: str, notes: tuple[str, ...]) -> Sequence[Aligned]:
    quotes = [Quote(fact, source_index=index) for index in range(len(notes))]
    outcomes = align_all(quotes, notes).outcomes
    places = (best_proof(outcome, notes, _MIN_CHARS) for outcome in outcomes)
    return [place for place, proves in places if proves and isinstance(place, Aligned)]


def _fact(
    fact: LabelledFact,
    evaluation: SearchQAEvaluation | None,
    notes: tuple[str, ...],
    references: tuple[str, ...] | None,
) -> schema.LabelledFactReport:
    places = _backing(fact.text, notes)
    stating = (
        claim.id
        for claim in (evaluation.claims if evaluation else ())
        if any(_states(claim, fact.text, place) for place in places)
    )
    note = places[0].quote.source_index + 1 if places else None
    is_known = references is not None and (not references or bool(_backing(fact.text, references)))
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
    notes: tuple[str, ...] = (),
    references: tuple[str, ...] | None = None,
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
    return measure_claims(table)


def agreement(items: Sequence[schema.AnswerItemReport]) -> schema.AgreementReport | None:
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


_ANSWER = _("answer")
_KINDS: dict[str, tuple[Literal["check", "item"], Text]] = {
    GATE_ROLE: ("check", _("checklist of answer")),
    SYSTEM_ROLE: ("item", _("question")),
}
_Stored = TypeVar("_Stored", bound=BaseModel)


def stored_verdict(verdict: JudgeVerdict[Any]) -> dict[str, Any]:
    """Return the JSON values that a run stores of a verdict."""
    if isinstance(verdict.detail, SearchQAEvaluation):
        return {"evaluation": verdict.detail.model_dump(mode="json")}
    if not verdict.scores:
        return {"verdict": None}
    report = VerdictReport.like(
        verdict,
        proof=tuple(map(ProofReport.like, verdict.proof)),
        flagged={number: tuple(flags) for number, flags in verdict.flags.items()},
    )
    return {"verdict": report.model_dump(mode="json")}


def answer_items(cases: Iterable[EvalCase], run: ModelRun) -> list[schema.AnswerItemReport]:
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
    parts = ("", GATE_ROLE, SYSTEM_ROLE)
    return [
        answer_item(case, *(results.get(ItemKey(case.id, x)) for x in parts), unbelieved=unbelieved)
        for case in cases
    ]


def answer_item(
    case: EvalCase,
    result: ItemResult | None,
    check: ItemResult | None = None,
    response: ItemResult | None = None,
    unbelieved: Container[tuple[str, str]] = frozenset(),
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


def failures(run: ModelRun) -> list[ErrorReport]:
    """Return the failed evaluations and checks; per_item.jsonl has their answers."""
    return unscored(run, lambda key: _KINDS.get(key.part, ("verdict", _ANSWER)))
