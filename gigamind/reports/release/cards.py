"""Whether the card of a judge allows its verdicts to gate a release."""

from collections.abc import Sequence
from typing import Any

from gigamind.reports.cards.requirements import Asked, HeldCard
from gigamind.reports.cards.schema import JudgeCard
from gigamind.reports.cards.shortfall import kappa_told, shortfalls
from gigamind.reports.cards.view import card_words, scale_name
from gigamind.reports.judged import JudgeReport
from gigamind.reports.release.policy import CardPolicy, Phase, Policy
from gigamind.reports.release.rule import RuleResult, Status
from gigamind.reports.release.tasks import TASKS

METRIC = "judge_card"
_STATUS: dict[CardPolicy, Status] = {"require": "failed", "warn": "warned", "ignore": "skipped"}
_CLAIMS = ("correctness", "supported")


def held_card(
    card: JudgeCard, policy: Policy, phase: Phase, task: str, languages: Sequence[str]
) -> HeldCard:
    """The card, held to what a phase asks for the metrics of a task that it gates."""
    return HeldCard(
        card, policy.card_requirements(phase), asked_scales(policy, task), tuple(languages)
    )


def judged_languages(summary: Any) -> tuple[str, ...]:  # noqa: ANN401  of the task's own kind
    """The languages of the items of a run, by its summary."""
    return tuple(summary.by_language)


def asked_scales(policy: Policy, task: str) -> Asked:
    """The scales that the gated metrics of a task rest on."""
    gated = (*policy.quality.metrics, *policy.quality.judged)
    groups = (_rests_on(name) for name in gated if name.partition(".")[0] in TASKS[task].blocks)
    return tuple(dict.fromkeys(group for group in groups if group))


def card_rule(held: HeldCard | None, judge: JudgeReport, policy: CardPolicy) -> RuleResult:
    """The rule on the judge of a run, for metrics that an LLM judge gives.

    A judge whose card is missing, of another judge, or not enough fails the release, is told, or is nobody's
    business, by the policy.
    """
    if held is None or not held.card.is_valid_for(judge.fingerprint, judge.model):
        return _lacking(_why(held, judge), policy, None)
    if not held.asked:
        return _result("passed", "no gated metric rests on what this judge says", held)
    missing = shortfalls(held, card_words("en"))
    if missing:
        return _lacking("; ".join(one.text for one in missing), policy, held)
    return _result("passed", f"certified on {held.card.created_at[:10]}{_agreement(held)}", held)


def _rests_on(metric: str) -> tuple[str, ...]:
    """Checks are of the checklist's judge, and rankings of none.

    Whether a claim is supported decides every figure on answers but their utility; labels may be of answers or claims.
    """
    block, _, name = metric.partition(".")
    if block == "answers":
        return ("utility",) if name == "utility" else _CLAIMS
    return ("unanswerable",) if block == "unanswerable" else ()


def _why(held: HeldCard | None, judge: JudgeReport) -> str:
    if held is None:
        return "the judge has no card"
    of = held.card.judge
    if of.model != judge.model:
        return f"its card is of the model {of.model}, and the run asked {judge.model}"
    return f"its card is of another judge ({of.fingerprint[:12]}, and the run's is {judge.fingerprint[:12]})"


def _agreement(held: HeldCard) -> str:
    told = card_words("en")
    scales = (scale for group in held.asked for scale in held.scales(group))
    shown = (f"{scale_name(one, told)}: {kappa_told(one.overall, told)}" for one in scales)
    return "".join(f"; {one}" for one in shown)


def _lacking(why: str, policy: CardPolicy, held: HeldCard | None) -> RuleResult:
    asks = "the gates ask for more ([card] in gates.toml): make another" if held else "make one"
    mend = "" if policy == "ignore" else f"; {asks} with `gigamind judge certify`"
    return _result(_STATUS[policy], f"{why}{mend}", held)


def _result(status: Status, told: str, held: HeldCard | None) -> RuleResult:
    weakest = held.weakest() if held else None
    scale, figure = weakest or (None, None)
    return RuleResult(
        metric=METRIC,
        status=status,
        baseline=None,
        current=figure.value if figure else None,
        limit=held.requirements.min_agreement if held else None,
        explanation=f"{METRIC}: {told}.",
        scale=scale.name if scale else None,
        low=figure.low if figure else None,
        high=figure.high if figure else None,
        n=figure.n if figure else None,
    )
