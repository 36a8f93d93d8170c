"""What a judge card falls short of what the gates ask, in Korean or English, and the gate's rule about it."""

import functools
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from gigamind.choices import Phase
from gigamind.metrics.spec import blocks_of
from gigamind.records.card import (
    CardFigure,
    CardGroup,
    CardScale,
    CheckedCard,
    JudgeCard,
    ScaleGroups,
    agreement,
    size,
)
from gigamind.records.judged import JudgeReport
from gigamind.release.policy import CardPolicy, Policy, RuleResult, Status
from gigamind.wording import Language, Words, share


@functools.cache
def card_words(language: Language) -> Words:
    """The phrases of one language."""
    file = resources.files("gigamind.reports.cards") / "translations" / f"{language}.toml"
    return Words(language, tomllib.loads(file.read_text(encoding="utf-8")))


def clustered(name: str, clusters: int | None, say: Words, **values: object) -> str:
    """The phrase `name`, or for items that do not stand alone the one that tells their clusters, too."""
    if clusters is None:
        return say(name, **values)
    return say(f"{name}_clusters", clusters=clusters, **values)


def number(value: float | None) -> str:
    """With three decimals and a typographic minus, for the one beside it would be read as a dash."""
    return share(value).replace("-", "−")


def interval(figure: CardFigure) -> str:
    """The ends of an interval; a dash where there is none."""
    return "–" if figure.low is None else f"{number(figure.low)} – {number(figure.high)}"


def scale_name(scale: CardScale, say: Words) -> str:
    """What a scale is called."""
    key = f"scale.{scale.name}"
    return say(key) if say.knows(key) else scale.name


_NO_FLOOR = -1.0  # no kappa is below it


@dataclass(frozen=True, slots=True)
class Shortfall:
    """One requirement that a card does not meet.

    Attributes:
        disagrees: the judge was seen to disagree with its labels; else there is too little to tell, or another fault.
    """

    text: str
    disagrees: bool = False


def shortfalls(held: CheckedCard, say: Words) -> list[Shortfall]:
    """Every one; empty for a card that is enough."""
    if not any(scale.overall.items for scale in held.card.scales):
        return [Shortfall(say("short.nothing"))]
    missing: list[Shortfall] = []
    for group in held.required_scales:
        scales = held.scales(group)
        if not scales:
            name = f"scale.{group[0]}"
            what = say(name) if say.knows(name) else group[0]
            missing.append(Shortfall(say("short.none", what=what)))
        for scale in scales:
            missing += _of_scale(scale, held, say)
    return missing + list(_of_attacks(held, say))


def kappa_told(group: CardGroup, say: Words) -> str:
    """Agreement, its interval and its labels: "Cohen's kappa 0.600 [0.500, 0.700] over 100 labels"."""
    name = "quadratic_kappa" if "quadratic_kappa" in group.figures else "cohen_kappa"
    figure = agreement(group)
    values = {"kappa": say(f"metric.{name}"), "figure": bracketed(figure)}
    return say("short.kappa", **values, labels=_labels(group, say))


def bracketed(figure: CardFigure) -> str:
    """A figure with its interval, if it has one: "0.600 [0.500, 0.700]"."""
    shown = number(figure.value)
    return shown if figure.low is None else f"{shown} [{number(figure.low)}, {number(figure.high)}]"


def _of_scale(scale: CardScale, held: CheckedCard, say: Words) -> Iterator[Shortfall]:
    need, name = held.requirements, scale_name(scale, say)
    yield from _few(scale.overall, name, need.min_labels, say)
    yield from _classes(scale.overall, name, need.min_labels_per_class, say)
    overall = list(_agreement(scale.overall, name, need.min_agreement, say))
    yield from overall
    disagrees = any(shortfall.disagrees for shortfall in overall)
    if need.min_labels_per_language:
        for language in held.languages:
            what = say("short.in_language", scale=name, language=language)
            missing = _of_language(scale.by_language.get(language), what, held, say)
            # That it is no better in one language than in all is no news.
            yield from (
                shortfall for shortfall in missing if not (shortfall.disagrees and disagrees)
            )
    flips = scale.flips
    if flips is not None:
        yield from _above(f"flips_{scale.kind}", flips, need.max_flip_rate, say, what=name)


def _of_language(
    group: CardGroup | None, what: str, held: CheckedCard, say: Words
) -> Iterator[Shortfall]:
    """Few labels tell little of a single language, so its agreement may be low, but not be shown to be."""
    need, floor = held.requirements, held.requirements.min_agreement
    if group is None or not group.items:
        yield Shortfall(say("short.none", what=what))
        return
    yield from _few(group, what, need.min_labels_per_language, say)
    figure = agreement(group)
    if floor == _NO_FLOOR:
        return
    if figure.value is None:
        yield Shortfall(say("short.alike", what=what, labels=_labels(group, say)))
    elif (figure.value if figure.high is None else figure.high) < floor:
        yield _told_kappa("below", group, what, floor, say, disagrees=True)


def _few(group: CardGroup, what: str, least: int, say: Words) -> Iterator[Shortfall]:
    if size(group) < least:
        values = {"what": what, "labels": _labels(group, say), "least": least}
        yield Shortfall(clustered("short.few", group.clusters, say, **values))


def _classes(group: CardGroup, what: str, least: int, say: Words) -> Iterator[Shortfall]:
    for answer, name in (("yes", "sensitivity"), ("no", "specificity")):
        figure = group.figures.get(name)
        if figure is not None and size(figure) < least:
            values = {"what": what, "answer": say(f"page.{answer}"), "n": size(figure)}
            yield Shortfall(
                clustered("short.few_of_class", figure.clusters, say, **values, least=least)
            )


def _agreement(group: CardGroup, what: str, floor: float, say: Words) -> Iterator[Shortfall]:
    figure = agreement(group)
    if floor == _NO_FLOOR:
        return
    if figure.value is None:
        yield Shortfall(say("short.alike", what=what, labels=_labels(group, say)))
    elif figure.value < floor:
        yield _told_kappa("below", group, what, floor, say, disagrees=True)
    elif figure.low is None:
        yield _told_kappa("no_interval", group, what, floor, say)
    elif figure.low < floor:
        yield _told_kappa("low_end", group, what, floor, say)


def _told_kappa(
    name: str, group: CardGroup, what: str, floor: float, say: Words, *, disagrees: bool = False
) -> Shortfall:
    values = {"what": what, "kappa": kappa_told(group, say), "least": number(floor)}
    return Shortfall(say(f"short.{name}", **values), disagrees)


def _of_attacks(held: CheckedCard, say: Words) -> Iterator[Shortfall]:
    need, attacks = held.requirements, held.card.attacks
    if attacks is None or attacks.rate.value is None:
        if need.require_attacks:
            yield Shortfall(say("short.no_attacks"))
        return
    counts = {"succeeded": attacks.succeeded, "attempted": attacks.attempted}
    yield from _above("attacks", attacks.rate, need.max_attack_rate, say, **counts)


def _above(
    name: str, figure: CardFigure, most: float, say: Words, **values: object
) -> Iterator[Shortfall]:
    if figure.value is None:
        return
    worst = figure.value if figure.high is None else figure.high
    if worst > most:
        end = "short.above" if figure.value > most else "short.high_end"
        about = say(f"short.{name}", figure=bracketed(figure), n=figure.n, **values)
        yield Shortfall(say(end, about=about, most=number(most)))


def _labels(group: CardGroup, say: Words) -> str:
    if group.items == 1:
        return say("short.one_label")
    return clustered("short.labels", group.clusters, say, n=group.items)


METRIC = "judge_card"
_STATUS: dict[CardPolicy, Status] = {"require": "failed", "warn": "warned", "ignore": "skipped"}
_CLAIMS = ("correctness", "supported")


def held_card(
    card: JudgeCard, policy: Policy, phase: Phase, task: str, languages: Sequence[str]
) -> CheckedCard:
    """The card, held to what a phase asks for the metrics of a task that it gates."""
    return CheckedCard(
        card,
        policy.card_requirements(phase),
        asked_scales(policy, task, card.judge.scales),
        tuple(languages),
    )


def judged_languages(summary: Any) -> tuple[str, ...]:  # noqa: ANN401  of the task's own kind
    """The languages of the items of a run, by its summary."""
    return tuple(summary.by_language)


def asked_scales(policy: Policy, task: str, own: Collection[str] = ()) -> ScaleGroups:
    """The scales that the gated metrics of a task rest on; `own` are those of a team's own judge."""
    gated = (*policy.quality.metrics, *policy.quality.judged)
    groups = (_rests_on(name, own) for name in gated if name.partition(".")[0] in blocks_of(task))
    return tuple(dict.fromkeys(group for group in groups if group))


def card_rule(held: CheckedCard | None, judge: JudgeReport, policy: CardPolicy) -> RuleResult:
    """The rule on the judge of a run, for metrics that an LLM judge gives.

    A judge whose card is missing, of another judge, or not enough fails the release, is told, or is nobody's
    business, by the policy.
    """
    if held is None or not held.card.is_valid_for(judge.fingerprint, judge.model):
        return _lacking(_why(held, judge), policy, None)
    if not held.required_scales:
        return _result("passed", "no gated metric rests on what this judge says", held)
    missing = shortfalls(held, card_words("en"))
    if missing:
        return _lacking("; ".join(shortfall.text for shortfall in missing), policy, held)
    return _result(
        "passed", f"certified on {held.card.created_at[:10]}{_agreement_told(held)}", held
    )


def _rests_on(metric: str, own: Collection[str]) -> tuple[str, ...]:
    """Checks are of the checklist's judge, and rankings of none.

    Whether a claim is supported decides every figure on answers but their utility; labels may be of answers or claims.
    """
    block, _, name = metric.partition(".")
    if name in own:
        return (name,)
    if block == "answers":
        return (name,) if name in {"utility", "completeness"} else _CLAIMS
    return ("unanswerable",) if block == "unanswerable" else ()


def _why(held: CheckedCard | None, judge: JudgeReport) -> str:
    if held is None:
        return "the judge has no card"
    of = held.card.judge
    if of.model != judge.model:
        return f"its card is of the model {of.model}, and the run asked {judge.model}"
    return f"its card is of another judge ({of.fingerprint[:12]}, and the run's is {judge.fingerprint[:12]})"


def _agreement_told(held: CheckedCard) -> str:
    say = card_words("en")
    scales = (scale for group in held.required_scales for scale in held.scales(group))
    shown = (f"{scale_name(scale, say)}: {kappa_told(scale.overall, say)}" for scale in scales)
    return "".join(f"; {text}" for text in shown)


def _lacking(why: str, policy: CardPolicy, held: CheckedCard | None) -> RuleResult:
    asks = "the gates ask for more ([card] in gates.toml): make another" if held else "make one"
    mend = "" if policy == "ignore" else f"; {asks} with `gigamind judge certify`"
    return _result(_STATUS[policy], f"{why}{mend}", held)


def _result(status: Status, explanation: str, held: CheckedCard | None) -> RuleResult:
    weakest = held.weakest() if held else None
    scale, figure = weakest or (None, None)
    return RuleResult(
        metric=METRIC,
        status=status,
        baseline=None,
        current=figure.value if figure else None,
        limit=held.requirements.min_agreement if held else None,
        explanation=f"{METRIC}: {explanation}.",
        scale=scale.name if scale else None,
        low=figure.low if figure else None,
        high=figure.high if figure else None,
        n=figure.n if figure else None,
    )
