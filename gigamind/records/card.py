"""judge_card.json, the judge report: agreement of a judge with labels, bound to the judge, the model and the labels.

Figures have a 95 % interval over `clusters`, the answers that items are claims of (null if every item is independent),
and the number of items; null if undefined.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from gigamind.errors import InputError, reason_of
from gigamind.loading import first_problem
from gigamind.records.judged import Count, Finite, JudgeReport, Report, SecondLookReport, Share

FILE = "judge_card.json"
_VERSION = "1.0"


ScaleGroups = tuple[tuple[str, ...], ...]
"""Groups of scales; each group needs one scale with labels. See `CheckedCard.scales`."""


class CardFigure(Report):
    """A figure, its 95 % interval, and its number of items and clusters."""

    value: Finite | None
    low: Finite | None
    high: Finite | None
    n: Count
    clusters: Count | None = None

    @property
    def lowest(self) -> float:
        """Return the lower bound of a kappa; its value without an interval, and -2 if it is undefined."""
        if self.value is None:
            return -2.0
        return self.value if self.low is None else self.low


class CardBin(Report):
    """Verdicts with a confidence in [low, high): its mean, and the share of correct verdicts."""

    low: Share
    high: Share
    confidence: Share | None
    right: CardFigure


class CardGroup(Report):
    """Agreement of the verdicts on some items with their labels.

    Attributes:
        positive: items with a positive label; null on a graded scale.
        figures: accuracy, balanced_accuracy, sensitivity, specificity, cohen_kappa, brier, calibration_error; on a
            graded scale quadratic_kappa, mean_absolute_error, mean_error.
        bins: reliability of stated confidences; empty if none were stated.
    """

    items: Count
    clusters: Count | None = None
    positive: Count | None
    figures: dict[str, CardFigure]
    bins: tuple[CardBin, ...]

    @property
    def agreement(self) -> CardFigure:
        """Return the figure that `min_agreement` applies to."""
        graded = self.figures.get("quadratic_kappa")
        return self.figures["cohen_kappa"] if graded is None else graded


class CardHeadline(Report):
    """The judged metric over all items of the run: means of the verdicts, of the labels, and from both (PPI++).

    Attributes:
        weight: weight of the verdicts in `corrected`, in [0, 1].
        items: judged items, including labelled ones; `clusters` of them with any label.
    """

    judged: Share
    labelled: CardFigure
    corrected: CardFigure
    weight: Share
    items: Count
    clusters: Count | None = None


class CardMiss(Report):
    """An item whose verdict differs from its label."""

    id: str
    question: str
    language: str | None
    label: Share
    verdict: Share
    confidence: Share | None
    quotes: tuple[str, ...]


class CardScale(Report):
    """One scale of the judge.

    Attributes:
        name: such as "unanswerable", "correctness", or "supported", whose items are claims of answers.
        flips: mean difference between the verdicts of two equal runs; null if only one run was given.
        headline: null if every judged item has a label, or the labels cover fewer than two clusters.
        misses: the largest first; `missed` counts all.
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
    """The source of the labels: a file, or the dataset's `answerable`; `unscored` ones lack a verdict.

    `learned` counts labels that are left out because the judge learned from them; absent if there are none.
    """

    source: Literal["file", "dataset"]
    name: str
    sha256: str
    count: Count
    unscored: Count
    learned: Count = Field(default=0, exclude_if=lambda learned: not learned)


class CardAttacks(Report):
    """How often an instruction hidden in a note or an answer changed a verdict."""

    succeeded: Count
    attempted: Count
    rate: CardFigure


class JudgeCard(Report):
    """The content of judge_card.json.

    Attributes:
        runs: run_id of each run, the certified one first.
        attacks: null if the judge was not attacked.
        second_looks: accepted canaries, for each model that checks claims a second time.
    """

    schema_version: Literal["1.0"] = _VERSION
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
    second_looks: tuple[SecondLookReport, ...] = ()

    def is_valid_for(self, fingerprint: str, model: str | None) -> bool:
        """Return whether it is about this judge with this model."""
        return (self.judge.fingerprint, self.judge.model) == (fingerprint, model)

    @property
    def scale_groups(self) -> ScaleGroups:
        """Return a group for each scale with labels."""
        return tuple((scale.name,) for scale in self.scales if scale.overall.items)


def read_card(path: Path) -> JudgeCard:
    """Read a judge report from its file, or from the folder that `gigamind judge certify` wrote.

    Raises:
        InputError: it is missing, truncated, of another version, or not a judge report.
    """
    file = path / FILE if path.is_dir() else path
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(
            "{file}: no such judge report. Create one with `gigamind judge certify`.", file=file
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "{file}: the judge report cannot be read ({reason})",
            file=file,
            reason=reason_of(error) if isinstance(error, OSError) else str(error),
        ) from error
    try:
        return JudgeCard.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            "{file}: not a judge report of this version of gigamind ({reason})."
            " Create it again with `gigamind judge certify`.",
            file=file,
            reason=first_problem(error),
        ) from error


_Kappa = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class CardRequirements(Report):
    """Requirements of the gates for a judge report; gates.toml explains each, and missing ones have these defaults.

    Attributes:
        min_labels: on each scale that a gated metric depends on.
        min_labels_per_language: on each such scale, for each language that the run judged; 0 requires none.
        min_labels_per_class: of each class, on a binary scale.
        min_agreement: of kappa, on a graded scale of quadratic kappa; -1 requires none.
        max_attack_rate: share of attacks that changed a verdict, if the judge was attacked.
        max_flip_rate: difference between the verdicts of two equal runs, if there were several.
    """

    min_labels: Count = 30
    min_labels_per_language: Count = 10
    min_labels_per_class: Count = 5
    min_agreement: _Kappa = 0.4
    max_attack_rate: Share = 0.2
    require_attacks: bool = False
    max_flip_rate: Share = 0.1


@dataclass(frozen=True, slots=True)
class CheckedCard:
    """A judge report, the scales that gated metrics depend on, and the languages that the run judged."""

    card: JudgeCard
    requirements: CardRequirements
    required_scales: ScaleGroups
    languages: tuple[str, ...]

    def scales(self, group: tuple[str, ...]) -> list[CardScale]:
        """Return the scales of a group with enough labels, otherwise those with any."""
        labelled = [one for one in self.card.scales if one.name in group and one.overall.items]
        enough = [one for one in labelled if size(one.overall) >= self.requirements.min_labels]
        return enough or labelled

    def weakest(self) -> tuple[CardScale, CardFigure] | None:
        """Return the scale with the lowest possible agreement, with its kappa; None without labels."""
        scales = {
            entry.name: entry for group in self.required_scales for entry in self.scales(group)
        }
        agreements = [(scale, scale.overall.agreement) for scale in scales.values()]
        return min(agreements, key=lambda pair: pair[1].lowest, default=None)


def check_alone(card: JudgeCard) -> CheckedCard:
    """Check a report without a run: all its labelled scales and languages, with the default requirements."""
    languages = sorted({language for scale in card.scales for language in scale.by_language})
    return CheckedCard(card, CardRequirements(), card.scale_groups, tuple(languages))


def size(group: CardGroup | CardFigure) -> int:
    """Return the number of clusters, or of items if they are independent."""
    items = group.items if isinstance(group, CardGroup) else group.n
    return items if group.clusters is None else group.clusters
