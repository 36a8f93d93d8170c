"""What a reader of a judge card must know before believing its figures."""

from collections.abc import Iterator

from gigamind.reports.cards.schema import CardScale, JudgeCard
from gigamind.reports.cards.view import scale_name
from gigamind.reports.page.wording import Words

_ENOUGH = 30  # labels of a class, from which a bootstrap interval is of use
_LANGUAGES = ("en", "ko")


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
    classes = [(name, group.items)]
    if group.positive is not None:
        classes = [
            (f"{name} = {told('page.yes')}", group.positive),
            (f"{name} = {told('page.no')}", group.items - group.positive),
        ]
    for what, n in classes:
        if n < _ENOUGH:
            yield told("caution.few", n=n, what=what, least=_ENOUGH)
    # A bootstrap interval of a share of 1 has no width, whatever the number of items.
    for (what, n), share in zip(classes, ("sensitivity", "specificity"), strict=False):
        if share in group.figures and group.figures[share].value == 1:
            yield told("caution.all_right", what=what, n=n, most=f"{min(1.0, 3 / n):.3f}")
    if scale.name == "supported":
        yield told("caution.claims", scale=name)
    kappa = group.figures.get("cohen_kappa") or group.figures.get("quadratic_kappa")
    if group.items and kappa is not None and kappa.value is None:
        yield told("caution.no_kappa", scale=name)
