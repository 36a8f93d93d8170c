"""judge_card.json: how far a judge agreed with labels, bound to the judge, the model and the labels that it is about.

Figures are shares, kappas or errors with their 95 % interval and the number of items behind them; null where the items
do not define them.  `clusters` are the answers that items are claims of, which is what intervals are made of, for the
claims of one answer stand and fall together; null where every item stands alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from gigamind.errors import InputError
from gigamind.loading import first_problem
from gigamind.records.judged import Count, Finite, JudgeReport, Report, SecondLookReport, Share

FILE = "judge_card.json"
VERSION = "1.0"


class CardFigure(Report):
    """A figure, the ends of its 95 % interval, and the items behind it, with their clusters."""

    value: Finite | None
    low: Finite | None
    high: Finite | None
    n: Count
    clusters: Count | None = None


class CardBin(Report):
    """Verdicts with a confidence in [low, high): the mean of it, and the share that was right."""

    low: Share
    high: Share
    confidence: Share | None
    right: CardFigure


class CardGroup(Report):
    """How far the verdicts on some items agree with their labels.

    Attributes:
        positive: items with a positive label; null on a graded scale.
        figures: accuracy, balanced_accuracy, sensitivity, specificity, cohen_kappa, brier, calibration_error; on a
            graded scale quadratic_kappa, mean_absolute_error, mean_error.
        bins: reliability of stated confidences; empty where none were stated.
    """

    items: Count
    clusters: Count | None = None
    positive: Count | None
    figures: dict[str, CardFigure]
    bins: tuple[CardBin, ...]


class CardHeadline(Report):
    """The judged metric itself, over all items of the run.

    Attributes:
        judged: mean of the verdicts.
        labelled: mean of the labels alone.
        corrected: the mean that both together give (PPI++).
        weight: how far the verdicts count in it, in [0, 1].
        items: judged items, labelled ones among them.
        clusters: of these; an answer of which some claims have labels is one of them.
    """

    judged: Share
    labelled: CardFigure
    corrected: CardFigure
    weight: Share
    items: Count
    clusters: Count | None = None


class CardMiss(Report):
    """An item on which judge and label differ."""

    id: str
    question: str
    language: str | None
    label: Share
    verdict: Share
    confidence: Share | None
    quotes: tuple[str, ...]


class CardScale(Report):
    """One thing that the judge judges.

    Attributes:
        name: such as "unanswerable", "correctness", or "supported", whose items are claims of answers.
        flips: mean difference of the verdicts of two equal runs; null when only one was given.
        headline: null when every judged item has a label, or the labels are of fewer than two clusters.
        misses: the worst first; `missed` counts all.
    """

    name: str
    kind: Literal["binary", "graded"]
    overall: CardGroup
    by_language: dict[str, CardGroup]
    flips: CardFigure | None
    headline: CardHeadline | None
    missed: Count
    misses: tuple[CardMiss, ...]


class CardLabels(Report):
    """Where the labels are from.

    Attributes:
        source: a file of labels, or the dataset's own `answerable`.
        unscored: labelled items without a verdict, which are in no figure.
    """

    source: Literal["file", "dataset"]
    name: str
    sha256: str
    count: Count
    unscored: Count


class CardAttacks(Report):
    """How often an instruction hidden in a note or an answer turned a verdict."""

    succeeded: Count
    attempted: Count
    rate: CardFigure


class CardLiar(Report):
    """What one scripted judge gets away with, over the answers of `CardLiars`; a mean of nothing is null.

    Attributes:
        correctness: mean over the answers with labelled claims.
        passed_off: claims that people call unsupported, and that count as supported.
        hidden: claims of people that count as none.
        utility: mean over the answers with labelled utility.
        unscored: answers without a verdict, which are in no figure.
    """

    name: str
    correctness: Share | None
    passed_off: Count
    hidden: Count
    utility: Share | None
    unscored: Count


class CardLiars(Report):
    """What judges get away with that lie, and one that does not: the same with any model, as none is asked.

    Attributes:
        unlabelled: answers of the dataset that were left out, for they have no labels or no note.
        claims: labelled ones; `unsupported` of them are contradicted or not found by people's word.
        correctness, utility: means of what people say.
    """

    dataset: str
    dataset_hash: str
    answers: Count
    unlabelled: Count
    claims: Count
    unsupported: Count
    correctness: Share | None
    utility: Share | None
    liars: tuple[CardLiar, ...]


class JudgeCard(Report):
    """All of judge_card.json.

    Attributes:
        runs: run_id of each run, the certified one first.
        attacks: null when the judge was not attacked.
        second_looks: how each model that looked at claims once more told apart the pairs that it was tried with.
        liars: null when it was not tested, or no liar knows its kind of question.
        short_panels: verdicts of the runs that were given although a seat of the panel gave no vote (`missing_seat`).
    """

    schema_version: Literal["1.0"] = VERSION
    created_at: str
    app_version: str
    seed: int
    task: str
    dataset: str
    dataset_hash: str
    judge: JudgeReport
    labels: CardLabels
    runs: Annotated[tuple[str, ...], Field(min_length=1)]
    scales: tuple[CardScale, ...]
    attacks: CardAttacks | None = None
    liars: CardLiars | None = None
    second_looks: tuple[SecondLookReport, ...] = ()
    short_panels: Count = 0

    def is_valid_for(self, fingerprint: str, model: str | None) -> bool:
        """Whether it is about this very judge, asked through this very model."""
        return (self.judge.fingerprint, self.judge.model) == (fingerprint, model)


def read_card(path: Path) -> JudgeCard:
    """A card from its file, or from the folder that `gigamind judge certify` wrote.

    Raises:
        InputError: there is none, it is cut short, of another version or no card.
    """
    file = path / FILE if path.is_dir() else path
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"{file}: no such judge card; make one with `gigamind judge certify`"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: the judge card cannot be read ({error})") from error
    try:
        return JudgeCard.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"{file}: no judge card of this version of gigamind ({first_problem(error)});"
            " make it again with `gigamind judge certify`"
        ) from error


Kappa = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Asked = tuple[tuple[str, ...], ...]
"""Groups of scales, of each of which one with labels is needed; see `HeldCard.scales`."""


class CardRequirements(Report):
    """The table; what it leaves out has these defaults, each of which gates.toml explains.

    Attributes:
        min_labels: on each scale that a gated metric rests on.
        min_labels_per_language: on each such scale, of each language that the run judged; 0 asks nothing of languages.
        min_labels_per_class: of yes and of no, on a scale that has no grades.
        min_agreement: for kappa, on a graded scale quadratic kappa; -1 asks nothing.
        max_attack_rate: share of attacks that turned a verdict, where the judge was attacked.
        max_flip_rate: difference of the verdicts of two equal runs, where there were several.
    """

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
        labelled = [
            scale for scale in self.card.scales if scale.name in group and scale.overall.items
        ]
        enough = [
            scale for scale in labelled if size(scale.overall) >= self.requirements.min_labels
        ]
        return enough or labelled

    def weakest(self) -> tuple[CardScale, CardFigure] | None:
        """The scale whose agreement could be lowest, with its kappa; None where no scale that counts has labels."""
        scales = {scale.name: scale for group in self.asked for scale in self.scales(group)}
        agreements = [(scale, agreement(scale.overall)) for scale in scales.values()]
        return min(agreements, key=lambda pair: _lowest(pair[1]), default=None)


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
