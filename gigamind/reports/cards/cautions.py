"""Cautions on a judge report, and its verdict."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.i18n import Message, Text, Translator, _, n_
from gigamind.records.card import CardGroup, CardScale, JudgeCard, check_alone
from gigamind.release.shortfall import ANSWERS, scale_name, shortfalls
from gigamind.reports.cards.line import labels_text

_ENOUGH = 30  # labels of a class, or their clusters, for a useful bootstrap interval
_LANGUAGES = ("en", "ko")


@dataclass(frozen=True, slots=True)
class _Class:
    """The items with one label; `right` is the share with the right verdict, None if unknown."""

    name: Text
    n: int
    clusters: int | None
    right: float | None = None

    @property
    def values(self) -> dict[str, object]:
        return {"what": self.name, "n": self.n, "clusters": self.clusters}


def cautions(card: JudgeCard, say: Translator) -> list[str]:
    """Return the cautions, one sentence each."""
    return list(map(say, _cautions(card)))


def _cautions(card: JudgeCard) -> Iterator[Message]:
    for scale in card.scales:
        yield from _scale_cautions(scale)
    labels = card.labels
    if labels.unscored:
        yield _(
            "The judge gave no verdict on {unscored} of {count} labelled items. No metric includes these items.",
            unscored=labels.unscored,
            count=labels.count,
        )
    if labels.source == "dataset":
        yield _("The labels come from the dataset. They are not independent human judgements.")
    seen = {language for scale in card.scales for language in scale.by_language}
    for language in card.judge.languages or _LANGUAGES:
        if seen and language not in seen:
            yield _(
                "No labelled item is in the language {language}, so it is unknown how accurate the judge is in"
                " this language.",
                language=language,
            )
    if len(card.runs) == 1 and card.judge.asks_a_model:
        yield _(
            "Only one run was given, so it is unknown whether the judge repeats its verdicts. Pass a second run of"
            " the same judge to gigamind judge certify."
        )
    if card.short_panels:
        yield n_(
            "{n} verdict was decided although a panel member gave no vote (missing_seat in the judge file). The"
            " metrics include this verdict.",
            "{n:,} verdicts were decided although a panel member gave no vote (missing_seat in the judge file)."
            " The metrics include these verdicts.",
            n=card.short_panels,
        )
    if card.attacks is None and card.judge.asks_a_model:
        yield _(
            "The judge was not tested with prompt-injection attacks. Run gigamind judge attack and pass its report"
            " with --attacks."
        )
    if card.liars is None and card.judge.kind == "search_qa":
        yield _(
            "The evaluation was not tested with deceptive judges. Run gigamind judge test and pass its report with"
            " --tests."
        )


def _scale_cautions(scale: CardScale) -> Iterator[Message]:
    group, name = scale.overall, scale_name(scale.name)
    classes = list(_classes(group, name))
    for label_class in classes:
        yield from _few(label_class)
    for label_class in classes:
        # The interval of such a share says the same, but readers overlook it.
        if label_class.right == 1:
            yield _all_right(label_class)
    kappa = group.figures.get("cohen_kappa") or group.figures.get("quadratic_kappa")
    if group.items and kappa is not None and kappa.value is None:
        yield _(
            "All items have the same label for {scale}, so the agreement of the judge with the labels cannot be"
            " corrected for chance.",
            scale=name,
        )


def _classes(group: CardGroup, name: Text) -> Iterator[_Class]:
    if group.positive is None:
        yield _Class(name, group.items, group.clusters)
        return
    for answer, n, share in (
        ("yes", group.positive, "sensitivity"),
        ("no", group.items - group.positive, "specificity"),
    ):
        figure = group.figures[share]
        called = _("{scale} = {answer}", scale=name, answer=ANSWERS[answer])
        yield _Class(called, n, figure.clusters, figure.value)


def _few(label_class: _Class) -> Iterator[Message]:
    values = {**label_class.values, "least": _ENOUGH}
    if label_class.clusters == 1:
        yield _(
            "All labels for {what} come from one answer. They show nothing about other answers, and no confidence"
            " interval can be computed.",
            **values,
        )
    elif (label_class.clusters or label_class.n) >= _ENOUGH:
        return
    elif label_class.clusters is None:
        yield _(
            "There are only {n} labels for {what}. With fewer than {least} labels, confidence intervals are"
            " imprecise.",
            **values,
        )
    else:
        yield _(
            "The {n} labels for {what} come from only {clusters} answers. With fewer than {least} answers,"
            " confidence intervals are imprecise.",
            **values,
        )


def _all_right(label_class: _Class) -> Message:
    most = min(1.0, 3 / (label_class.clusters or label_class.n))
    values = {**label_class.values, "most": most}
    if label_class.clusters is None:
        return _(
            "The judge was right on all {n} labels for {what}. Its true error rate could still be as high as"
            " {most:.1%} (95% confidence, rule of three).",
            **values,
        )
    return _(
        "The judge was right on all {n} labels for {what}, from {clusters} answers. Its true error rate could"
        " still be as high as {most:.1%} (95% confidence, rule of three over answers).",
        **values,
    )


@dataclass(frozen=True, slots=True)
class CardVerdict:
    """The verdict, why it is not a better one, and the requirements behind it."""

    headline: str
    reasons: tuple[str, ...]
    requirements: str


def card_verdict(card: JudgeCard, say: Translator) -> CardVerdict:
    """Return the verdict by gigamind's own requirements, over all labelled scales and languages."""
    checked = check_alone(card)
    missing = shortfalls(checked)
    labels = labels_text(card.labels, card.labels.count - card.labels.unscored)
    if any(shortfall.disagrees for shortfall in missing):
        headline = _(
            "This judge is not reliable enough for release gates: it disagrees too often with {labels}",
            labels=labels,
        )
    elif missing:
        headline = _(
            "Unknown whether this judge is reliable enough for release gates: {labels} are not enough evidence",
            labels=labels,
        )
    else:
        headline = _(
            "This judge is reliable enough for release gates: it agrees well with {labels}",
            labels=labels,
        )
    requirements = _(
        "This judge was checked against the default requirements of gigamind's release gates, only in the"
        " languages that have labels: {languages}.",
        languages=checked.languages or _("none"),
    )
    return CardVerdict(
        say(headline),
        tuple(say(_("{reason}.", reason=shortfall.text)) for shortfall in missing),
        say(requirements),
    )
