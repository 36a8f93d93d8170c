"""What a reader of a judge card must know before believing its figures."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.reports.cards.schema import CardGroup, CardScale, JudgeCard
from gigamind.reports.cards.view import clustered, scale_name
from gigamind.reports.page.wording import Words

_ENOUGH = 30  # labels of a class, or their clusters, from which a bootstrap interval is of use
_LANGUAGES = ("en", "ko")


@dataclass(frozen=True, slots=True)
class _Class:
    """The items with one label; `right` is the share of them that was judged so, None where it is not known."""

    name: str
    n: int
    clusters: int | None
    right: float | None = None


def cautions(card: JudgeCard, told: Words) -> list[str]:
    """One sentence for each, in the language of the phrases."""
    found = [caution for scale in card.scales for caution in _scale_cautions(scale, told)]
    labels = card.labels
    if labels.unscored:
        found.append(told("caution.unscored", unscored=labels.unscored, count=labels.count))
    if labels.source == "dataset":
        found.append(told("caution.dataset"))
    seen = {language for scale in card.scales for language in scale.by_language}
    known = card.judge.languages or _LANGUAGES
    found += [told("caution.language", language=one) for one in known if seen and one not in seen]
    if len(card.runs) == 1 and card.judge.asks_a_model:
        found.append(told("caution.one_run"))
    if card.attacks is None and card.judge.asks_a_model:
        found.append(told("caution.no_attacks"))
    return found


def _scale_cautions(scale: CardScale, told: Words) -> Iterator[str]:
    group, name = scale.overall, scale_name(scale, told)
    classes = list(_classes(group, name, told))
    for one in classes:
        yield from _few(one, told)
    for one in classes:
        # The interval tells how far such a share may be off; this says it in words that nobody passes over.
        if one.right == 1:
            most = f"{min(1.0, 3 / (one.clusters or one.n)):.3f}"
            yield clustered(
                "caution.all_right", one.clusters, told, what=one.name, n=one.n, most=most
            )
    kappa = group.figures.get("cohen_kappa") or group.figures.get("quadratic_kappa")
    if group.items and kappa is not None and kappa.value is None:
        yield told("caution.no_kappa", scale=name)


def _classes(group: CardGroup, name: str, told: Words) -> Iterator[_Class]:
    if group.positive is None:
        yield _Class(name, group.items, group.clusters)
        return
    for answer, n, share in (
        ("yes", group.positive, "sensitivity"),
        ("no", group.items - group.positive, "specificity"),
    ):
        figure = group.figures[share]
        yield _Class(f"{name} = {told(f'page.{answer}')}", n, figure.clusters, figure.value)


def _few(one: _Class, told: Words) -> Iterator[str]:
    if one.clusters == 1:
        yield told("caution.one_cluster", what=one.name)
    elif (one.clusters or one.n) < _ENOUGH:
        yield clustered("caution.few", one.clusters, told, n=one.n, what=one.name, least=_ENOUGH)
