"""Compares human labels with the judge's claims, and measures their agreement."""

from collections.abc import Iterable, Sequence
from math import fsum

from gigamind.datasets.schema import AnswerLabels, LabelledFact
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Quote
from gigamind.judges.quotes import best_proof
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.segments.claims import claims_of, comparable, pieces_of
from gigamind.judges.search_qa.words import GRAMMAR, stems
from gigamind.metrics.grounding import ClaimRow, FactRow, GroundingTable, measure_claims
from gigamind.spans import Span
from gigamind.tasks.answers.schema import (
    AgreementReport,
    AnswerItemReport,
    EvaluatedClaim,
    LabelledClaimReport,
    LabelledFactReport,
    LabelsReport,
    SearchQAEvaluation,
)
from gigamind.vault.language import text_language

_MIN_CHARS = 8  # letters and digits of a fact, as for a quote
_MIN_SHARED_WORDS = 0.5  # share of a fact's words that a claim must have to state it


def unmatched_labels(answer: str, labels: AnswerLabels | None) -> list[str]:
    """Return the labelled claims that the answer lacks."""
    if labels is None:
        return []
    known = {comparable(claim.text) for claim in claims_of(pieces_of(answer))}
    return [claim.text for claim in labels.claims if comparable(claim.text) not in known]


def unbacked_facts(labels: AnswerLabels | None, notes: Sequence[str]) -> list[str]:
    """Return the labelled facts that no note contains."""
    if labels is None:
        return []
    return [fact.text for fact in labels.facts if not _backing(fact.text, notes)]


def _backing(fact: str, notes: Sequence[str]) -> list[Aligned]:
    quotes = [Quote(fact, source_index=index) for index in range(len(notes))]
    places = (
        best_proof(alignment, notes, _MIN_CHARS) for alignment in align_all(quotes, notes).outcomes
    )
    return [place for place, proves in places if proves and isinstance(place, Aligned)]


def _fact(
    fact: LabelledFact,
    evaluation: SearchQAEvaluation | None,
    notes: Sequence[str],
    references: Sequence[str] | None,
) -> LabelledFactReport:
    places = _backing(fact.text, notes)
    stating = (
        claim.id
        for claim in (evaluation.claims if evaluation else ())
        if any(_states(claim, fact.text, place) for place in places)
    )
    note = places[0].quote.source_index + 1 if places else None
    missed = (
        note is None
        and references is not None
        and (not references or bool(_backing(fact.text, references)))
    )
    return LabelledFactReport.like(fact, note=note, claim=next(stating, None), missed=missed)


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


def labels_report(
    labels: AnswerLabels | None,
    evaluation: SearchQAEvaluation | None,
    notes: Sequence[str] = (),
    references: Sequence[str] | None = None,
) -> LabelsReport | None:
    """Return the labels with the ids of matching claims: the same text for claims, stating the fact for facts.

    If a system chooses the notes, `references` are the texts of the dataset that contain the facts.
    """
    if labels is None:
        return None
    claims = evaluation.claims if evaluation else ()
    ids = {comparable(claim.text): claim.id for claim in reversed(claims)}  # the first one counts
    return LabelsReport.like(
        labels,
        claims=tuple(
            LabelledClaimReport.like(claim, claim=ids.get(comparable(claim.text)))
            for claim in labels.claims
        ),
        facts=tuple(_fact(fact, evaluation, notes, references) for fact in labels.facts),
    )


def grounding_of(
    evaluation: SearchQAEvaluation,
    notes: int,
    labels: AnswerLabels | None,
    facts: Sequence[LabelledFactReport],
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
    rows = tuple(
        ClaimRow(claim.verdict, claim.note, claim.cited, known.get(comparable(claim.text)))
        for claim in evaluation.claims
    )
    return measure_claims(
        GroundingTable(
            rows,
            notes,
            relevant,
            omissions=None
            if evaluation.completeness is None
            else sum(omission.doubt is None for omission in evaluation.omissions),
            answerable=bool(evaluation.reported_answerable),
            facts=tuple(
                FactRow(given=fact.claim is not None, vital=fact.vital)
                for fact in facts
                if fact.counts
            ),
        )
    )


def agreement(items: Sequence[AnswerItemReport]) -> AgreementReport | None:
    """Return the agreement of the run with human labels; None if no evaluated answer has comparable labels."""
    both = [(item.evaluation, item.labels) for item in items if item.evaluation and item.labels]
    if not both:
        return None
    correct = _distances((judged.correctness, labels.correctness) for judged, labels in both)
    useful = _distances((judged.utility, labels.utility) for judged, labels in both)
    abstained = [
        evaluation.abstains is labels.abstains
        for evaluation, labels in both
        if labels.abstains is not None
    ]
    matched = [
        _same(evaluation, claim)
        for evaluation, labels in both
        for claim in labels.claims
        if claim.claim is not None
    ]
    labelled = sum(len(labels.claims) for _evaluation, labels in both)
    if not (correct or useful or abstained or labelled):
        return None
    return AgreementReport(
        correctness_error=_mean(correct),
        correctness_n=len(correct),
        utility_error=_mean(useful),
        utility_n=len(useful),
        claim_accuracy=_mean(matched),
        claims=len(matched),
        claims_unmatched=labelled - len(matched),
        abstention_accuracy=_mean(abstained),
        abstentions=len(abstained),
    )


def _distances(pairs: Iterable[tuple[float | None, float | None]]) -> list[float]:
    return [abs(a - b) for a, b in pairs if a is not None and b is not None]


def _same(evaluation: SearchQAEvaluation, claim: LabelledClaimReport) -> bool:
    verdict = next(judged.verdict for judged in evaluation.claims if judged.id == claim.claim)
    return ("not_found" if verdict == "unverified" else verdict) == claim.verdict


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
