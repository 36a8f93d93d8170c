"""Whether the card of a judge allows its verdicts to gate a release."""

from dataclasses import dataclass
from typing import Literal

from gigamind.reports.cards.schema import JudgeCard

CardPolicy = Literal["require", "warn", "ignore"]
CardStatus = Literal["passed", "failed", "warned", "skipped"]

METRIC = "judge_card"
_STATUS: dict[CardPolicy, CardStatus] = {
    "require": "failed",
    "warn": "warned",
    "ignore": "skipped",
}


@dataclass(frozen=True, slots=True)
class CardRule:
    """What the policy makes of a card; a rule among those of a GateResult.

    Attributes:
        explanation: one sentence.
    """

    status: CardStatus
    explanation: str


def card_rule(
    card: JudgeCard | None, fingerprint: str, model: str | None, policy: CardPolicy
) -> CardRule:
    """The rule on the judge of a run, for metrics that an LLM judge gives.

    A judge without a valid card fails the release, is told, or is nobody's business, by the policy.
    """
    if card is not None and card.is_valid_for(fingerprint, model):
        return _result("passed", f"certified on {card.created_at[:10]} with {_count(card)}")
    why = _why(card, fingerprint, model)
    mend = "" if policy == "ignore" else "; make one with `gigamind judge certify`"
    return _result(_STATUS[policy], f"{why}{mend}")


def _why(card: JudgeCard | None, fingerprint: str, model: str | None) -> str:
    if card is None:
        return "the judge has no card"
    if card.judge.model != model:
        return f"its card is of the model {card.judge.model}, and the run asked {model}"
    return f"its card is of another judge ({card.judge.fingerprint[:12]}, and the run's is {fingerprint[:12]})"


def _count(card: JudgeCard) -> str:
    return f"{card.labels.count} {'label' if card.labels.count == 1 else 'labels'}"


def _result(status: CardStatus, told: str) -> CardRule:
    return CardRule(status, f"{METRIC}: {told}.")
