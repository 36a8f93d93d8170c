"""Why a judge card is not enough to gate by, in words with the figures that decided, Korean or English."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.reports.cards.requirements import HeldCard, agreement, size
from gigamind.reports.cards.schema import CardFigure, CardGroup, CardScale
from gigamind.reports.cards.view import clustered, number, scale_name
from gigamind.reports.page.wording import Words

_NO_FLOOR = -1.0  # no kappa is below it


@dataclass(frozen=True, slots=True)
class Shortfall:
    """One requirement that a card does not meet.

    Attributes:
        disagrees: the judge was seen to disagree with its labels; else there is too little to tell, or another fault.
    """

    text: str
    disagrees: bool = False


def shortfalls(held: HeldCard, told: Words) -> list[Shortfall]:
    """Every one; empty for a card that is enough."""
    if not any(scale.overall.items for scale in held.card.scales):
        return [Shortfall(told("short.nothing"))]
    found: list[Shortfall] = []
    for group in held.asked:
        scales = held.scales(group)
        if not scales:
            name = f"scale.{group[0]}"
            what = told(name) if told.knows(name) else group[0]
            found.append(Shortfall(told("short.none", what=what)))
        for scale in scales:
            found += _of_scale(scale, held, told)
    return found + list(_of_attacks(held, told))


def kappa_told(group: CardGroup, told: Words) -> str:
    """Agreement, its interval and its labels: "Cohen's kappa 0.600 [0.500, 0.700] over 100 labels"."""
    name = "quadratic_kappa" if "quadratic_kappa" in group.figures else "cohen_kappa"
    figure = agreement(group)
    values = {"kappa": told(f"metric.{name}"), "figure": bracketed(figure)}
    return told("short.kappa", **values, labels=_labels(group, told))


def bracketed(figure: CardFigure) -> str:
    """A figure with its interval, if it has one: "0.600 [0.500, 0.700]"."""
    shown = number(figure.value)
    return shown if figure.low is None else f"{shown} [{number(figure.low)}, {number(figure.high)}]"


def _of_scale(scale: CardScale, held: HeldCard, told: Words) -> Iterator[Shortfall]:
    need, name = held.requirements, scale_name(scale, told)
    yield from _few(scale.overall, name, need.min_labels, told)
    yield from _classes(scale.overall, name, need.min_labels_per_class, told)
    overall = list(_agreement(scale.overall, name, need.min_agreement, told))
    yield from overall
    disagrees = any(one.disagrees for one in overall)
    if need.min_labels_per_language:
        for language in held.languages:
            what = told("short.in_language", scale=name, language=language)
            found = _of_language(scale.by_language.get(language), what, held, told)
            # That it is no better in one language than in all is no news.
            yield from (one for one in found if not (one.disagrees and disagrees))
    flips = scale.flips
    if flips is not None:
        yield from _above(f"flips_{scale.kind}", flips, need.max_flip_rate, told, what=name)


def _of_language(
    group: CardGroup | None, what: str, held: HeldCard, told: Words
) -> Iterator[Shortfall]:
    """Few labels tell little of a single language, so its agreement may be low, but not be shown to be."""
    need, floor = held.requirements, held.requirements.min_agreement
    if group is None or not group.items:
        yield Shortfall(told("short.none", what=what))
        return
    yield from _few(group, what, need.min_labels_per_language, told)
    figure = agreement(group)
    if floor == _NO_FLOOR:
        return
    if figure.value is None:
        yield Shortfall(told("short.alike", what=what, labels=_labels(group, told)))
    elif (figure.value if figure.high is None else figure.high) < floor:
        yield _told_kappa("below", group, what, floor, told, disagrees=True)


def _few(group: CardGroup, what: str, least: int, told: Words) -> Iterator[Shortfall]:
    if size(group) < least:
        values = {"what": what, "labels": _labels(group, told), "least": least}
        yield Shortfall(clustered("short.few", group.clusters, told, **values))


def _classes(group: CardGroup, what: str, least: int, told: Words) -> Iterator[Shortfall]:
    for answer, share in (("yes", "sensitivity"), ("no", "specificity")):
        figure = group.figures.get(share)
        if figure is not None and size(figure) < least:
            values = {"what": what, "answer": told(f"page.{answer}"), "n": size(figure)}
            yield Shortfall(
                clustered("short.few_of_class", figure.clusters, told, **values, least=least)
            )


def _agreement(group: CardGroup, what: str, floor: float, told: Words) -> Iterator[Shortfall]:
    figure = agreement(group)
    if floor == _NO_FLOOR:
        return
    if figure.value is None:
        yield Shortfall(told("short.alike", what=what, labels=_labels(group, told)))
    elif figure.value < floor:
        yield _told_kappa("below", group, what, floor, told, disagrees=True)
    elif figure.low is None:
        yield _told_kappa("no_interval", group, what, floor, told)
    elif figure.low < floor:
        yield _told_kappa("low_end", group, what, floor, told)


def _told_kappa(
    name: str, group: CardGroup, what: str, floor: float, told: Words, *, disagrees: bool = False
) -> Shortfall:
    values = {"what": what, "kappa": kappa_told(group, told), "least": number(floor)}
    return Shortfall(told(f"short.{name}", **values), disagrees)


def _of_attacks(held: HeldCard, told: Words) -> Iterator[Shortfall]:
    need, attacks = held.requirements, held.card.attacks
    if attacks is None or attacks.rate.value is None:
        if need.require_attacks:
            yield Shortfall(told("short.no_attacks"))
        return
    counts = {"succeeded": attacks.succeeded, "attempted": attacks.attempted}
    yield from _above("attacks", attacks.rate, need.max_attack_rate, told, **counts)


def _above(
    name: str, figure: CardFigure, most: float, told: Words, **values: object
) -> Iterator[Shortfall]:
    if figure.value is None:
        return
    worst = figure.value if figure.high is None else figure.high
    if worst > most:
        end = "short.above" if figure.value > most else "short.high_end"
        about = told(f"short.{name}", figure=bracketed(figure), n=figure.n, **values)
        yield Shortfall(told(end, about=about, most=number(most)))


def _labels(group: CardGroup, told: Words) -> str:
    if group.items == 1:
        return told("short.one_label")
    return clustered("short.labels", group.clusters, told, n=group.items)
