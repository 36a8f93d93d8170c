"""The line of a run's report about its judge: how well it agrees with labels."""

from dataclasses import replace

from gigamind.i18n import Language, Message, _, joined, n_, translator
from gigamind.records.card import CardLabels, CardScale, CheckedCard, every_scale
from gigamind.records.judged import JudgeReport, SecondLookReport
from gigamind.release.shortfall import FIGURES, LANGUAGES, scale_name, shortfalls, with_interval

NO_MODEL = _("no model")


def certified(checked: CheckedCard | None, judge: JudgeReport | None, lang: Language = "en") -> str:
    """Return the line; "" without a judge, or without model and report. Certified: meets the gates' requirements."""
    if judge is None or (checked is None and not judge.needs_card):
        return ""
    return translator(lang)(_certified(checked, judge))


def _certified(checked: CheckedCard | None, judge: JudgeReport) -> Message:
    if checked is None:
        return _(
            "The judge of this run is not certified: its verdicts were never compared with labels. To compare"
            " them, run gigamind judge certify."
        )
    card = checked.card
    if card.judge.model != judge.model:
        return _(
            "The judge of this run is not certified: the judge report is about the model {certified}, but this run"
            " used the model {used}.",
            certified=card.judge.model or NO_MODEL,
            used=judge.model or NO_MODEL,
        )
    if not card.is_valid_for(judge.fingerprint, judge.model):
        return _(
            "The judge of this run is not certified: the judge report is about a judge with another judge file,"
            " prompt or schema."
        )
    required = checked.required_scales or every_scale(card)
    missing = shortfalls(replace(checked, required_scales=required))
    values = {
        "date": card.created_at[:10],
        "labels": labels_text(card.labels, card.labels.count),
        "figures": joined(map(_scale, card.scales)),
    }
    if not missing:
        return _(
            "The judge was certified on {date} by comparison with {labels}: {figures}.", **values
        )
    return _(
        "The judge was compared with {labels} on {date}: {figures}. It does not meet the requirements of the"
        " release gates: {reasons}.",
        reasons=joined(shortfall.text for shortfall in missing),
        **values,
    )


def labels_text(labels: CardLabels, count: int) -> Message:
    """Return the number of labels and who gave them."""
    if labels.source == "file":
        return n_("{n} label given by a person", "{n:,} labels given by people", n=count)
    return n_("{n} label from the dataset", "{n:,} labels from the dataset", n=count)


def tried(look: SecondLookReport, lang: Language = "en") -> str:
    """Return how many canaries a model for second checks accepted, and whether its checks count."""
    (made, accepted), (low, high) = look.canaries, look.canary_interval or (0.0, 1.0)
    values = {
        "model": look.model,
        "language": LANGUAGES[look.language],
        "accepted": accepted,
        "made": made,
        "low": low,
        "high": high,
    }
    if look.believed:
        text = _(
            "{model} ({language}) accepted {accepted:,} of {made:,} false statements about the notes"
            " (95% CI {low:.1%} to {high:.1%}), so its second checks count",
            **values,
        )
    else:
        text = _(
            "Second checks of {model} ({language}) do not count: it accepted {accepted:,} of {made:,} false statements"
            " about the notes (95% CI {low:.1%} to {high:.1%})",
            **values,
        )
    return translator(lang)(text)


def _scale(scale: CardScale) -> Message:
    names = ("balanced_accuracy", "cohen_kappa")
    if scale.kind == "graded":
        names = ("quadratic_kappa", "mean_absolute_error")
    group = scale.overall
    values = {
        "scale": scale_name(scale.name),
        "figures": [
            _("{name} {value}", name=FIGURES[name], value=with_interval(group.figures[name]))
            for name in names
        ],
        "n": group.items,
        "clusters": group.clusters,
    }
    if group.clusters is None:
        return _("{scale}: {figures}, N = {n} items", **values)
    return _("{scale}: {figures}, N = {n} items from {clusters} answers", **values)
