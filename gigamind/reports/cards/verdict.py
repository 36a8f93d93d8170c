"""What a judge card says first: whether its judge may gate a release, in one sentence for who decides on releases."""

from dataclasses import dataclass

from gigamind.reports.cards.requirements import held_alone
from gigamind.reports.cards.schema import JudgeCard
from gigamind.reports.cards.shortfall import shortfalls
from gigamind.reports.page.wording import Words


@dataclass(frozen=True, slots=True)
class CardVerdict:
    """The sentence, why it is not a better one, and what the card was held to."""

    headline: str
    reasons: tuple[str, ...]
    held_to: str


def card_verdict(card: JudgeCard, told: Words) -> CardVerdict:
    """By gigamind's own requirements, over all scales and languages that the card has labels for."""
    held = held_alone(card)
    found = shortfalls(held, told)
    name = "disagrees" if any(one.disagrees for one in found) else "open" if found else "enough"
    count = card.labels.count - card.labels.unscored
    languages = ", ".join(held.languages)
    return CardVerdict(
        told(f"verdict.{name}", whom=told(f"verdict.{card.labels.source}"), count=count),
        tuple(told("verdict.reason", reason=one.text) for one in found),
        told("verdict.held_to", languages=languages or told("verdict.no_language")),
    )
