"""Holds the labels of people against the claims that the judge decides on, and tells how far the two agree."""

from collections.abc import Sequence
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

_FEWEST_CHARS = 8  # letters and digits of a fact, as of a quote
_LEAST_WORDS = 0.5  # of a fact's words, that a claim must have to give it


def unmatched_labels(answer: str, labels: AnswerLabels | None, *, parts: bool) -> list[str]:
    """Texts of labelled claims that are no claim of the answer; with `parts`, nor any part of one."""
    if labels is None:
        return []
    known = {comparable(claim.piece.text) for claim in claims_of(pieces_of(answer))}
    labelled = [(claim.text, comparable(claim.text)) for claim in labels.claims]
    return [
        text
        for text, wording in labelled
        if wording not in known and not (parts and any(wording in claim for claim in known))
    ]


def unbacked_facts(labels: AnswerLabels | None, notes: Sequence[str]) -> list[str]:
    """Texts of labelled facts that no note backs."""
    if labels is None:
        return []
    return [fact.text for fact in labels.facts if not _backing(fact.text, notes)]


def _backing(fact: str, notes: Sequence[str]) -> list[Aligned]:
    """Where a fact stands in notes, proven as the quotes of a judge are."""
    asked = [Quote(fact, source_index=index) for index in range(len(notes))]
    places = (
        best_proof(alignment, notes, _FEWEST_CHARS)
        for alignment in align_all(asked, notes).outcomes
    )
    return [place for place, proves in places if proves and isinstance(place, Aligned)]


def _fact(
    fact: LabelledFact,
    evaluation: SearchQAEvaluation | None,
    notes: Sequence[str],
    references: Sequence[str] | None,
) -> LabelledFactReport:
    places = _backing(fact.text, notes)
    giving = (
        claim.id
        for claim in (evaluation.claims if evaluation else ())
        if any(_gives(claim, fact.text, place) for place in places)
    )
    note = places[0].quote.source_index + 1 if places else None
    missed = (
        note is None
        and references is not None
        and (not references or bool(_backing(fact.text, references)))
    )
    return LabelledFactReport.like(fact, note=note, claim=next(giving, None), missed=missed)


def _gives(claim: EvaluatedClaim, fact: str, place: Aligned) -> bool:
    """Whether a supported claim rests on the place of a fact and says it: its numbers, and half of its words or more.

    Of a claim in another language only numbers can be held against the fact.
    """
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
    return len(words & stems(claim.text)) >= _LEAST_WORDS * len(words)


def labels_report(
    labels: AnswerLabels | None,
    evaluation: SearchQAEvaluation | None,
    notes: Sequence[str] = (),
    references: Sequence[str] | None = None,
) -> LabelsReport | None:
    """The labels: claims with the id of the judge's claim of that text, facts with that of a claim that gives them.

    Args:
        references: what the dataset says that facts stand in, where the notes are the choice of a system; else None.
    """
    if labels is None:
        return None
    ids = _ids([(claim.id, claim.text) for claim in evaluation.claims] if evaluation else [])
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
    """The figures of one evaluated answer.

    Args:
        facts: that people say belong into the answer; those that do not count are left out.
        relevant: notes that bear on the question, where the dataset knows; else as the judge says, if of every note.
    """
    known = {
        comparable(claim.text): claim.correct
        for claim in (labels.claims if labels else ())
        if claim.correct is not None
    }
    rows = tuple(
        ClaimRow(claim.verdict, claim.note, claim.cited, known.get(comparable(claim.text)))
        for claim in evaluation.claims
    )
    return measure_claims(
        GroundingTable(
            rows,
            notes,
            relevant if relevant is not None else _told(evaluation),
            omissions=None
            if evaluation.completeness is None
            else sum(omission.doubt is None for omission in evaluation.omissions),
            answerable=bool(evaluation.told_answerable),
            facts=tuple(
                FactRow(given=fact.claim is not None, vital=fact.vital)
                for fact in facts
                if fact.counts
            ),
        )
    )


def _told(evaluation: SearchQAEvaluation) -> frozenset[int] | None:
    uses = evaluation.source_coverage
    if any(use.relevant is None for use in uses):
        return None
    return frozenset(use.note_index for use in uses if use.relevant)


def _ids(claims: Sequence[tuple[int, str]]) -> dict[str, int]:
    """The first of equal texts."""
    ids: dict[str, int] = {}
    for number, text in claims:
        ids.setdefault(comparable(text), number)
    return ids


def agreement(items: Sequence[AnswerItemReport]) -> AgreementReport | None:
    """The run against the labels; None when no evaluated answer has any that could be held against it."""
    both = [(item.evaluation, item.labels) for item in items if item.evaluation and item.labels]
    if not both:
        return None
    correct = [
        abs(evaluation.correctness - said.correctness)
        for evaluation, said in both
        if evaluation.correctness is not None and said.correctness is not None
    ]
    useful = [
        abs(evaluation.utility - said.utility)
        for evaluation, said in both
        if evaluation.utility is not None and said.utility is not None
    ]
    abstained = [
        evaluation.abstains is said.abstains
        for evaluation, said in both
        if said.abstains is not None
    ]
    matched = [
        _same(evaluation, claim)
        for evaluation, said in both
        for claim in said.claims
        if claim.claim is not None
    ]
    labelled = sum(len(said.claims) for _, said in both)
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


def _same(evaluation: SearchQAEvaluation, claim: LabelledClaimReport) -> bool:
    verdict = next(
        evaluated.verdict for evaluated in evaluation.claims if evaluated.id == claim.claim
    )
    return ("not_found" if verdict == "unverified" else verdict) == claim.verdict


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
