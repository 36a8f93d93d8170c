"""How far the judge of a run agrees with the people who labelled its dataset."""

from collections.abc import Sequence
from math import fsum

from gigamind.reports.answer_schema import (
    AgreementReport,
    AnswerItemReport,
    LabelledClaimReport,
)
from gigamind.reports.search_qa import SearchQAEvaluation


def agreement(items: Sequence[AnswerItemReport]) -> AgreementReport | None:
    """The run against the labels; None when no evaluated answer has any."""
    both = [(item.evaluation, item.labels) for item in items if item.evaluation and item.labels]
    if not both:
        return None
    correct = [
        abs(told.correctness - said.correctness)
        for told, said in both
        if told.correctness is not None and said.correctness is not None
    ]
    useful = [abs(told.utility - said.utility) for told, said in both if said.utility is not None]
    abstained = [told.abstains is said.abstains for told, said in both if said.abstains is not None]
    matched = [
        _same(told, claim)
        for told, said in both
        for claim in said.claims
        if claim.claim is not None
    ]
    labelled = sum(len(said.claims) for _, said in both)
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


def _same(told: SearchQAEvaluation, claim: LabelledClaimReport) -> bool:
    verdict = next(one.verdict for one in told.claims if one.id == claim.claim)
    return ("not_found" if verdict == "unverified" else verdict) == claim.verdict


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
