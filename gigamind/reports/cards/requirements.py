"""What a judge card must show before the verdicts of its judge may gate a release: `[card]` of gates.toml.

A figure is held by the worse end of its 95 % interval, so that a few labels that happen to agree prove nothing.  Labels
are counted by what stands alone: of claims, by the answers that they are of.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gigamind.reports.cards.schema import CardFigure, CardGroup, CardScale, JudgeCard

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Kappa = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Asked = tuple[tuple[str, ...], ...]
"""Groups of scales, of each of which one with labels is needed; see `HeldCard.scales`."""


class CardRequirements(BaseModel):
    """The table; what it leaves out has these defaults, each of which gates.toml explains.

    Attributes:
        min_labels: on each scale that a gated metric rests on.
        min_labels_per_language: on each such scale, of each language that the run judged; 0 asks nothing of languages.
        min_labels_per_class: of yes and of no, on a scale that has no grades.
        min_agreement: for kappa, on a graded scale quadratic kappa; -1 asks nothing.
        max_attack_rate: share of attacks that turned a verdict, where the judge was attacked.
        max_flip_rate: difference of the verdicts of two equal runs, where there were several.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_labels: Count = 30
    min_labels_per_language: Count = 10
    min_labels_per_class: Count = 5
    min_agreement: Kappa = 0.4
    max_attack_rate: Share = 0.2
    require_attacks: bool = False
    max_flip_rate: Share = 0.1


@dataclass(frozen=True, slots=True)
class HeldCard:
    """A card, and what it is held to where it is used.

    Attributes:
        asked: empty where no gated metric rests on the judge.
        languages: those that the run judged.
    """

    card: JudgeCard
    requirements: CardRequirements
    asked: Asked
    languages: tuple[str, ...]

    def scales(self, group: tuple[str, ...]) -> list[CardScale]:
        """Those of a group that count: with labels enough; else those with any."""
        found = [scale for scale in self.card.scales if scale.name in group and scale.overall.items]
        enough = [one for one in found if size(one.overall) >= self.requirements.min_labels]
        return enough or found

    def weakest(self) -> tuple[CardScale, CardFigure] | None:
        """The scale whose agreement could be lowest, with its kappa; None where no scale that counts has labels."""
        scales = {one.name: one for group in self.asked for one in self.scales(group)}
        found = [(scale, agreement(scale.overall)) for scale in scales.values()]
        return min(found, key=lambda one: _lowest(one[1]), default=None)


def held_alone(card: JudgeCard) -> HeldCard:
    """The card beside no run: every scale and language that it has labels for, held to gigamind's own requirements."""
    languages = sorted({language for scale in card.scales for language in scale.by_language})
    return HeldCard(card, CardRequirements(), every_scale(card), tuple(languages))


def every_scale(card: JudgeCard) -> Asked:
    """Those with labels, each for itself."""
    return tuple((scale.name,) for scale in card.scales if scale.overall.items)


def agreement(group: CardGroup) -> CardFigure:
    """The figure that `min_agreement` is asked of."""
    graded = group.figures.get("quadratic_kappa")
    return group.figures["cohen_kappa"] if graded is None else graded


def size(group: CardGroup | CardFigure) -> int:
    """The items, or what they are claims of."""
    items = group.items if isinstance(group, CardGroup) else group.n
    return items if group.clusters is None else group.clusters


def _lowest(figure: CardFigure) -> float:
    """An agreement that is not known may be any."""
    if figure.value is None:
        return -2.0
    return figure.value if figure.low is None else figure.low
