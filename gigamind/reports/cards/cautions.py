"""What a reader of a judge card must know before believing its figures, and the verdict on it in a line."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.records.card import CardGroup, CardScale, JudgeCard, check_alone
from gigamind.release.shortfall import clustered, scale_name, shortfalls
from gigamind.wording import Words

_ENOUGH = 30  # labels of a class, or their clusters, from which a bootstrap interval is of use
_LANGUAGES = ("en", "ko")


@dataclass(frozen=True, slots=True)
class _Class:
    """The items with one label; `right` is the share of them that was judged so, None where it is not known."""

    name: str
    n: int
    clusters: int | None
    right: float | None = None


def cautions(card: JudgeCard, say: Words) -> list[str]:
    """One sentence for each, in the language of the phrases."""
    sentences = [caution for scale in card.scales for caution in _scale_cautions(scale, say)]
    labels = card.labels
    if labels.unscored:
        sentences.append(say("caution.unscored", unscored=labels.unscored, count=labels.count))
    if labels.source == "dataset":
        sentences.append(say("caution.dataset"))
    seen = {language for scale in card.scales for language in scale.by_language}
    known = card.judge.languages or _LANGUAGES
    sentences += [
        say("caution.language", language=language)
        for language in known
        if seen and language not in seen
    ]
    if len(card.runs) == 1 and card.judge.asks_a_model:
        sentences.append(say("caution.one_run"))
    if card.short_panels:
        sentences.append(say("caution.short_panel", short=card.short_panels))
    if card.attacks is None and card.judge.asks_a_model:
        sentences.append(say("caution.no_attacks"))
    if card.liars is None and card.judge.kind == "search_qa":
        sentences.append(say("caution.no_liars"))
    return sentences


def _scale_cautions(scale: CardScale, say: Words) -> Iterator[str]:
    group, name = scale.overall, scale_name(scale, say)
    classes = list(_classes(group, name, say))
    for label_class in classes:
        yield from _few(label_class, say)
    for label_class in classes:
        # The interval tells how far such a share may be off; this says it in words that nobody passes over.
        if label_class.right == 1:
            most = f"{min(1.0, 3 / (label_class.clusters or label_class.n)):.3f}"
            yield _of_class("caution.all_right", label_class, say, most=most)
    kappa = group.figures.get("cohen_kappa") or group.figures.get("quadratic_kappa")
    if group.items and kappa is not None and kappa.value is None:
        yield say("caution.no_kappa", scale=name)


def _classes(group: CardGroup, name: str, say: Words) -> Iterator[_Class]:
    if group.positive is None:
        yield _Class(name, group.items, group.clusters)
        return
    for answer, n, share in (
        ("yes", group.positive, "sensitivity"),
        ("no", group.items - group.positive, "specificity"),
    ):
        figure = group.figures[share]
        yield _Class(f"{name} = {say(f'page.{answer}')}", n, figure.clusters, figure.value)


def _few(label_class: _Class, say: Words) -> Iterator[str]:
    if label_class.clusters == 1:
        yield say("caution.one_cluster", what=label_class.name)
    elif (label_class.clusters or label_class.n) < _ENOUGH:
        yield _of_class("caution.few", label_class, say, least=_ENOUGH)


def _of_class(name: str, label_class: _Class, say: Words, **more: object) -> str:
    counted = {"what": label_class.name, "n": label_class.n}
    return clustered(name, label_class.clusters, say, **counted, **more)


@dataclass(frozen=True, slots=True)
class CardVerdict:
    """The sentence, why it is not a better one, and what the card was held to."""

    headline: str
    reasons: tuple[str, ...]
    held_to: str


def card_verdict(card: JudgeCard, say: Words) -> CardVerdict:
    """By gigamind's own requirements, over all scales and languages that the card has labels for."""
    held = check_alone(card)
    missing = shortfalls(held, say)
    name = (
        "disagrees"
        if any(shortfall.disagrees for shortfall in missing)
        else "open"
        if missing
        else "enough"
    )
    count = card.labels.count - card.labels.unscored
    languages = ", ".join(held.languages)
    return CardVerdict(
        say(f"verdict.{name}", whom=say(f"verdict.{card.labels.source}"), count=count),
        tuple(say("verdict.reason", reason=shortfall.text) for shortfall in missing),
        say("verdict.held_to", languages=languages or say("verdict.no_language")),
    )
