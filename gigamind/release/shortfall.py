"""What a judge report lacks for the release gates, and the gate's rule on it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gigamind.choices import Phase
from gigamind.formats import between, share
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.metrics.spec import blocks_of
from gigamind.records import card as cards
from gigamind.records.judged import JudgeReport
from gigamind.release.policy import CardPolicy, Policy, RuleResult, Status

LANGUAGES = {"en": _("English"), "ko": _("Korean")}
"""Names of the languages of labels and second checks."""
_SCALES = {
    "unanswerable": _("unanswerable"),
    "correctness": _("correctness"),
    "utility": _("utility"),
    "completeness": _("completeness"),
    "supported": _("supported claims"),
}
FIGURES = {
    "accuracy": _("accuracy"),
    "balanced_accuracy": _("balanced accuracy"),
    "sensitivity": _("sensitivity"),
    "specificity": _("specificity"),
    "cohen_kappa": _("Cohen's kappa"),
    "quadratic_kappa": _("quadratic kappa"),
    "mean_absolute_error": _("mean absolute error"),
    "mean_error": _("mean error"),
    "brier": _("Brier score"),
    "calibration_error": _("calibration error"),
}
"""Names of the metrics of a judge report."""
NO_MODEL = _("no model")
ANSWERS = {"yes": _("yes"), "no": _("no")}


def scale_name(name: str) -> Text:
    """Return the label of a scale; a team's own scale keeps its name."""
    return _SCALES.get(name, name)


_NO_FLOOR = -1.0  # no kappa is below it


@dataclass(frozen=True, slots=True)
class Shortfall:
    """One requirement that a judge report does not meet.

    Attributes:
        failed: whether a measured value is beyond its limit; otherwise the evidence is not enough.
        rule: what is required: agreement on a scale (and labels for it), consistency on a scale, or resistance to
            attacks.
        scale: "" for attacks.
    """

    text: Message
    failed: bool = False
    rule: Literal["agreement", "consistency", "attacks"] = "agreement"
    scale: str = ""


def shortfalls(checked: cards.CheckedCard) -> list[Shortfall]:
    """Return all requirements that a judge report does not meet."""
    if not any(scale.overall.items for scale in checked.card.scales):
        return [Shortfall(_("the judge gave no verdict on any item with a label"))]
    missing: list[Shortfall] = []
    for group in checked.required_scales:
        scales = checked.scales(group)
        if not scales:
            missing.append(Shortfall(_("{what}: no labels", what=scale_name(group[0]))))
        for scale in scales:
            missing += (replace(entry, scale=scale.name) for entry in _of_scale(scale, checked))
    return missing + list(_of_attacks(checked))


def kappa_text(group: cards.CardGroup) -> Message:
    """Return the agreement, its CI and its labels: "Cohen's kappa 0.600 (95% CI 0.500 – 0.700) over 100 labels"."""
    name = "quadratic_kappa" if "quadratic_kappa" in group.figures else "cohen_kappa"
    figure = with_interval(group.agreement)
    return _(
        "{kappa} {figure} over {labels}",
        kappa=FIGURES[name],
        figure=figure,
        labels=labels_text(group),
    )


def with_interval(figure: cards.CardFigure) -> Text:
    """Return a value with its CI, if it has one: "0.600 (95% CI 0.500 – 0.700)"."""
    value = share(figure.value)
    if figure.low is None:
        return value
    return _("{value} (95% CI {interval})", value=value, interval=between(figure))


def _of_scale(scale: cards.CardScale, checked: cards.CheckedCard) -> Iterator[Shortfall]:
    need, name = checked.requirements, scale_name(scale.name)
    yield from _few(scale.overall, name, need.min_labels)
    for what, figure in classes(scale):
        yield from _few(figure, what, need.min_labels_per_class)
    overall = list(_agreement(scale.overall, name, need.min_agreement))
    yield from overall
    failed = any(shortfall.failed for shortfall in overall)
    if need.min_labels_per_language:
        for language in checked.languages:
            what = _("{scale}, {language}", scale=name, language=LANGUAGES.get(language, language))
            missing = _of_language(scale.by_language.get(language), what, checked)
            # Disagreement overall implies disagreement in some language: it is reported once.
            yield from (entry for entry in missing if not (entry.failed and failed))
    if scale.flips:
        about = _(
            "{what}: verdicts on {n} items differ by {figure} on average between two equal runs",
            what=name,
            figure=with_interval(scale.flips),
            n=scale.flips.n,
        )
        yield from _above(about, scale.flips, need.max_flip_rate, "consistency")


def classes(scale: cards.CardScale) -> Iterator[tuple[Message, cards.CardFigure]]:
    """Yield the labels "yes" and "no" of a binary scale, with the share of right verdicts."""
    for answer, name in (("yes", "sensitivity"), ("no", "specificity")):
        if figure := scale.overall.figures.get(name):
            what = _("{scale} = {answer}", scale=scale_name(scale.name), answer=ANSWERS[answer])
            yield what, figure


def _of_language(
    group: cards.CardGroup | None, what: Text, checked: cards.CheckedCard
) -> Iterator[Shortfall]:
    """Yield the shortfalls in one language, which has few labels: its whole CI must be below the requirement."""
    need = checked.requirements
    if group is None or not group.items:
        yield Shortfall(_("{what}: no labels", what=what))
        return
    yield from _few(group, what, need.min_labels_per_language)
    figure, floor = group.agreement, need.min_agreement
    for entry in _agreement(group, what, floor):
        surely = entry.failed and (figure.high is None or figure.high < floor)
        if surely or figure.value is None:
            yield entry


def _few(
    counted: cards.CardGroup | cards.CardFigure, what: Text, least: int
) -> Iterator[Shortfall]:
    if cards.size(counted) < least:
        text = _(
            "{what}: only {labels}; at least {least} {units} are required",
            what=what,
            labels=labels_text(counted),
            least=least,
            units=_("labels") if counted.clusters is None else _("answers"),
        )
        yield Shortfall(text)


def _agreement(group: cards.CardGroup, what: Text, floor: float) -> Iterator[Shortfall]:
    figure = group.agreement
    if floor == _NO_FLOOR:
        return
    if figure.value is None:
        text = _(
            "{what}: all {labels} and all verdicts have the same value, so chance-corrected agreement is undefined",
            what=what,
            labels=labels_text(group),
        )
        yield Shortfall(text)
        return
    values = {"what": what, "kappa": kappa_text(group), "least": share(floor)}
    if figure.value < floor:
        yield Shortfall(_("{what}: {kappa} is below the required {least}", **values), failed=True)
    elif figure.low is None or figure.low < floor:
        yield Shortfall(_("{what}: {kappa} may be below the required {least}", **values))


def _of_attacks(checked: cards.CheckedCard) -> Iterator[Shortfall]:
    need, attacks = checked.requirements, checked.card.attacks
    if attacks is None or attacks.rate.value is None:
        if need.require_attacks:
            text = _("the judge was not tested with prompt-injection attacks")
            yield Shortfall(text, rule="attacks")
        return
    about = _(
        "{succeeded} of {attempted} attacks changed a verdict, a share of {figure}",
        succeeded=attacks.succeeded,
        attempted=attacks.attempted,
        figure=with_interval(attacks.rate),
    )
    yield from _above(about, attacks.rate, need.max_attack_rate, "attacks")


def _above(
    about: Message, figure: cards.CardFigure, most: float, rule: Literal["consistency", "attacks"]
) -> Iterator[Shortfall]:
    if figure.value is None:
        return
    values = {"about": about, "most": share(most)}
    if figure.value > most:
        yield Shortfall(_("{about}: above the allowed {most}", **values), failed=True, rule=rule)
    elif figure.high is not None and figure.high > most:
        yield Shortfall(_("{about}: may be above the allowed {most}", **values), rule=rule)


def labels_text(counted: cards.CardGroup | cards.CardFigure) -> Message:
    """Return the number of labels, and of answers with them if they are not independent."""
    n = counted.items if isinstance(counted, cards.CardGroup) else counted.n
    if counted.clusters is None or n == 1:
        return n_("{n} label", "{n:,} labels", n=n)
    return _("{n:,} labels of {clusters} answers", n=n, clusters=counted.clusters)


METRIC = "judge_card"
_STATUS: dict[CardPolicy, Status] = {"require": "failed", "warn": "warned", "ignore": "skipped"}
_CLAIMS = ("correctness", "supported")


def checked_card(
    card: cards.JudgeCard, policy: Policy, phase: Phase, task: str, languages: Sequence[str]
) -> cards.CheckedCard:
    """Return the judge report with what a phase requires for the gated metrics of a task."""
    return cards.CheckedCard(
        card,
        policy.card_requirements(phase),
        _required_scales(policy, task, card.judge.scales),
        tuple(languages),
    )


def _required_scales(policy: Policy, task: str, own: Collection[str] = ()) -> cards.ScaleGroups:
    """Return the scales behind the gated metrics of a task; `own` are the scales of a team's own judge."""
    gated = (*policy.quality.metrics, *policy.quality.judged)
    groups = (_scales_of(name, own) for name in gated if name.partition(".")[0] in blocks_of(task))
    return tuple(dict.fromkeys(group for group in groups if group))


def card_rule(
    checked: cards.CheckedCard | None, judge: JudgeReport, policy: CardPolicy
) -> RuleResult:
    """Return the rule on the judge of a run; `policy` decides what a bad, missing or other report does."""
    if why := unusable(checked, judge):
        return _lacking(why, policy, None)
    if checked is None or not checked.required_scales:
        return _result("passed", _("no gated metric depends on this judge"), checked)
    if missing := shortfalls(checked):
        return _lacking(joined(shortfall.text for shortfall in missing), policy, checked)
    scales = [scale for group in checked.required_scales for scale in checked.scales(group)]
    shown = [
        _("{name}: {value}", name=scale_name(scale.name), value=kappa_text(scale.overall))
        for scale in scales
    ]
    certified = _("the judge was certified on {date}", date=checked.card.created_at[:10])
    return _result("passed", joined([certified, *shown]), checked)


def unusable(checked: cards.CheckedCard | None, judge: JudgeReport) -> Text:
    """Return why a judge report says nothing about the judge of a run; "" if it does."""
    if checked is None:
        return _("the judge of this run has no report")
    certified = checked.card.judge
    if checked.card.is_valid_for(judge.fingerprint, judge.model):
        return ""
    return _(
        "the report is about another judge ({certified}; this run used {used})",
        certified=[certified.model or NO_MODEL, certified.fingerprint[:12]],
        used=[judge.model or NO_MODEL, judge.fingerprint[:12]],
    )


def _scales_of(metric: str, own: Collection[str]) -> tuple[str, ...]:
    """Return the scales that a metric depends on: none for rankings, and for checks, which another judge makes."""
    block, _dot, name = metric.partition(".")
    if name in own:
        return (name,)
    if block == "answers":
        return (name,) if name in {"utility", "completeness"} else _CLAIMS
    return ("unanswerable",) if block == "unanswerable" else ()


def _lacking(why: Text, policy: CardPolicy, checked: cards.CheckedCard | None) -> RuleResult:
    if policy != "ignore":
        fix = _("create a judge report with `gigamind judge certify`")
        if checked:
            fix = _(
                "the report does not meet [card] in gates.toml: certify the judge again with `gigamind judge certify`"
            )
        why = joined([why, fix])
    return _result(_STATUS[policy], why, checked)


def _result(status: Status, explanation: Text, checked: cards.CheckedCard | None) -> RuleResult:
    weakest = checked.weakest() if checked else None
    scale, figure = weakest or (None, None)
    return RuleResult(
        metric=METRIC,
        status=status,
        baseline=None,
        current=figure.value if figure else None,
        limit=checked.requirements.min_agreement if checked else None,
        explanation=_("judge report: {explanation}.", explanation=explanation),
        scale=scale.name if scale else None,
        low=figure.low if figure else None,
        high=figure.high if figure else None,
        n=figure.n if figure else None,
    )
