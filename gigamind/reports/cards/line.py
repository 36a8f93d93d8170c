"""How far the judge of a run agrees with its labels, in the one line that the report of the run has for it."""

from dataclasses import replace

from gigamind.records.card import CardFigure, CardScale, CheckedCard, every_scale
from gigamind.records.judged import JudgeReport, SecondLookReport
from gigamind.release.shortfall import (
    card_words,
    clustered,
    interval,
    number,
    scale_name,
    shortfalls,
)
from gigamind.wording import Language, Words


def certified(held: CheckedCard | None, judge: JudgeReport | None, lang: Language = "en") -> str:
    """The line; "" for a judge that asks no model and has no card, and where nothing is judged.

    It calls a judge certified only where the card meets what the gates ask of it.
    """
    if judge is None or (held is None and not judge.asks_a_model):
        return ""
    say = card_words(lang)
    if held is None:
        return say("line.no_card")
    card = held.card
    if card.judge.model != judge.model:
        ours = judge.model or say("page.no_model")
        return say("line.other_model", card=card.judge.model or say("page.no_model"), run=ours)
    if not card.is_valid_for(judge.fingerprint, judge.model):
        return say("line.other_judge")
    missing = shortfalls(replace(held, required_scales=held.required_scales or every_scale(card)), say)
    return say(
        "line.held" if missing else "line.certified",
        date=card.created_at[:10],
        labels=say(f"line.labels_{card.labels.source}", count=card.labels.count),
        figures="; ".join(_scale(scale, say) for scale in card.scales),
        reasons="; ".join(shortfall.text for shortfall in missing),
    )


def tried(look: SecondLookReport, lang: Language = "en") -> str:
    """How a model that looks at claims once more told apart the pairs that it was tried with."""
    (said, seen), (unsaid, denied) = look.said, look.unsaid
    counts = {"right": seen + denied, "pairs": said + unsaid}
    say = card_words(lang)
    key = "line.tried_believed" if look.believed else "line.tried_in_vain"
    return say(key, model=look.model, language=say(f"line.in_{look.language}"), **counts)


def _scale(scale: CardScale, say: Words) -> str:
    names = (
        ("quadratic_kappa", "mean_absolute_error")
        if scale.kind == "graded"
        else ("balanced_accuracy", "cohen_kappa")
    )
    figures = ", ".join(_figure(name, scale.overall.figures[name], say) for name in names)
    name, group = scale_name(scale, say), scale.overall
    return clustered("line.scale", group.clusters, say, scale=name, figures=figures, n=group.items)


def _figure(name: str, figure: CardFigure, say: Words) -> str:
    shown = f"{say(f'metric.{name}')} {number(figure.value)}"
    return shown if figure.low is None else f"{shown} (95 % {interval(figure)})"
