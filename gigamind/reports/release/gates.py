"""The verdict on a release: the policy's rules applied to a comparison.

One `GateResult` is the source of the exit code, compare.md, JUnit XML, the CI summary and the artifact.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from gigamind.reports.cards.schema import JudgeCard
from gigamind.reports.judged import JudgeReport
from gigamind.reports.release.cards import METRIC, card_rule
from gigamind.reports.release.compare import Comparison, LostItem, MetricChange, SpeedChange
from gigamind.reports.release.policy import LOWER_IS_BETTER, Phase, Policy, SpeedRule
from gigamind.reports.release.tasks import TASKS
from gigamind.stats.intervals import Interval
from gigamind.stats.noninferiority import non_inferiority

Status = Literal["passed", "failed", "warned", "skipped", "inconclusive"]
VERDICTS = "verdicts"
_OF_VERDICTS = "unanswerable"  # the block of the metrics that count verdicts
Verdict = Literal["passed", "failed", "warned", "inconclusive", "not-comparable"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleResult(_Part):
    """One rule on one metric.

    Attributes:
        metric: as in summary.json, or `coverage`, `verdicts`, `search_p95`, `cold_start`, `judge_card`.
        status: "warned" is a failure that the phase only tells.
        limit: what the current value is held against, in the metric's unit.
        explanation: one sentence with the figures that decided.
    """

    metric: str
    status: Status
    baseline: float | None
    current: float | None
    limit: float | None
    explanation: str


class GateResult(_Part):
    """The verdict and its reasons."""

    phase: Phase
    verdict: Verdict
    rules: tuple[RuleResult, ...]
    reasons: tuple[str, ...]

    @property
    def failed(self) -> tuple[RuleResult, ...]:
        """The rules that stop the release."""
        return tuple(rule for rule in self.rules if rule.status == "failed")


def judge_release(
    comparison: Comparison,
    policy: Policy,
    phase: Phase,
    *,
    judge: JudgeReport | None = None,
    card: JudgeCard | None = None,
) -> GateResult:
    """Apply every rule that concerns the task; where the runs cannot be compared, no verdict is invented."""
    refusals = tuple(m.meaning for m in comparison.mismatches if m.severity == "refuse")
    if not comparison.shared:
        refusals += ("The runs share no item. A new baseline is needed.",)
    if refusals:
        return GateResult(phase=phase, verdict="not-comparable", rules=(), reasons=refusals)
    rules = (
        *(
            _quality(comparison, policy, phase, name, varies=_varies(name, policy, judge))
            for name in (*policy.quality.metrics, *policy.quality.judged)
            if name.partition(".")[0] in TASKS[comparison.task].blocks
        ),
        _coverage(comparison, policy, phase),
        *_verdicts(comparison, policy, phase, judge),
        *_speed(comparison, policy),
        *_card(judge, card, policy),
    )
    verdict: Literal["failed", "inconclusive", "warned", "passed"] = "passed"
    for worst in ("failed", "inconclusive", "warned"):
        if any(rule.status == worst for rule in rules):
            verdict = worst
            break
    told = [rule.explanation for rule in rules if _is_told(rule, verdict)]
    return GateResult(phase=phase, verdict=verdict, rules=rules, reasons=tuple(told))


def _is_told(rule: RuleResult, verdict: Verdict) -> bool:
    """Whether a rule is a reason for the verdict; that nobody has judged the judge is one beside any other."""
    if verdict == "passed":
        return False
    return rule.status == verdict or (rule.metric == METRIC and rule.status == "warned")


def _card(judge: JudgeReport | None, card: JudgeCard | None, policy: Policy) -> list[RuleResult]:
    """None for a judge that asks no model: its verdicts are what its file says."""
    if judge is None or not judge.asks_a_model:
        return []
    rule = card_rule(card, judge.fingerprint, judge.model, policy.quality.cards)
    return [
        RuleResult(
            metric=METRIC,
            status=rule.status,
            baseline=None,
            current=None,
            limit=None,
            explanation=rule.explanation,
        )
    ]


def _coverage(comparison: Comparison, policy: Policy, phase: Phase) -> RuleResult:
    """Items that can no longer be evaluated are the worst of all, and no mean shows them."""
    total = len(comparison.lost) + comparison.shared
    told = "of the baseline could not be evaluated"
    of = comparison.task
    return _lost("coverage", comparison.lost, total, told, task=of, policy=policy, phase=phase)


def _verdicts(
    comparison: Comparison, policy: Policy, phase: Phase, judge: JudgeReport | None
) -> list[RuleResult]:
    """Items that a model gave no verdict on are in no figure about verdicts: they count as lost ones do."""
    if judge is None or not judge.asks_a_model:
        return []
    told = "had a verdict in the baseline and have none now"
    found, of = (comparison.unjudged, comparison.shared), comparison.task
    return [_lost(VERDICTS, *found, told, task=of, policy=policy, phase=phase)]


def _lost(
    metric: str,
    lost: Sequence[LostItem],
    total: int,
    told: str,
    *,
    task: str,
    policy: Policy,
    phase: Phase,
) -> RuleResult:
    """The rule on items that figures lack.

    A task of which nothing stops a release in this phase is not stopped by them either.
    """
    kind, allowed = TASKS[task], policy.coverage.lost_share
    soft = set(kind.blocks) <= set(policy.phases[phase].soft)
    failed, remark = ("warned", f"; only told in phase {phase}") if soft else ("failed", "")
    example = f", such as {lost[0].id}" if lost else ""
    too_many = len(lost) / total > allowed
    return RuleResult(
        metric=metric,
        status=failed if too_many else "passed",
        baseline=1.0,
        current=1 - len(lost) / total,
        limit=allowed,
        explanation=f"{metric}: {len(lost)} of {total} {kind.units} {told}{example};"
        f" a share of {allowed:g} is allowed{remark if too_many else ''}.",
    )


def _varies(name: str, policy: Policy, judge: JudgeReport | None) -> bool:
    """Whether equal runs may differ in a metric: the policy says so, or a model gave the verdicts that it counts."""
    by_model = judge is not None and judge.asks_a_model
    return name in policy.quality.judged or (by_model and name.partition(".")[0] == _OF_VERDICTS)


def _quality(
    comparison: Comparison, policy: Policy, phase: Phase, name: str, *, varies: bool
) -> RuleResult:
    change = comparison.metric(name)
    if change is None or change.drop is None:
        return RuleResult(
            metric=name,
            status="skipped",
            baseline=change.baseline if change else None,
            current=change.current if change else None,
            limit=None,
            explanation=f"{name} was not measured in both runs.",
        )
    allowed = policy.allowed_drop(phase, change.n)
    status, remark = (_judged if varies else _raw)(change, allowed)
    if status == "failed" and name.partition(".")[0] in policy.phases[phase].soft:
        status, remark = "warned", f"{remark}; only told in phase {phase}"
    small = f" (N = {change.n} is a small sample)" if change.n < policy.small_sample.below else ""
    figures = f"{change.baseline:.4f} -> {change.current:.4f}, worse by {max(0.0, change.drop):.4f}"
    return RuleResult(
        metric=name,
        status=status,
        baseline=change.baseline,
        current=change.current,
        limit=allowed,
        explanation=f"{name}: {figures}; {allowed:g} is allowed{small}{remark}.",
    )


def _raw(change: MetricChange, allowed: float) -> tuple[Status, str]:
    """The same input gives the same figure, so chance has no part in a drop."""
    return ("failed" if (change.drop or 0.0) > allowed else "passed"), ""


def _judged(change: MetricChange, allowed: float) -> tuple[Status, str]:
    """Verdicts flip between equal runs: a drop counts when it passes the margin and chance does not explain it."""
    if change.low is None or change.high is None:
        return "inconclusive", "; a ratio over items has no paired test"
    lower = change.metric in LOWER_IS_BETTER
    interval = Interval(-change.high, -change.low) if lower else Interval(change.low, change.high)
    decided = non_inferiority(-(change.drop or 0.0), interval, n=change.n, margin=allowed)
    if decided.decision == "inconclusive":
        needed = (
            f"about {decided.needed_n} items would tell"
            if decided.needed_n
            else "no number of items would tell"
        )
        return "inconclusive", f"; the interval is too wide to tell, {needed}"
    return ("failed" if decided.decision == "fail" else "passed"), ""


def _speed(comparison: Comparison, policy: Policy) -> list[RuleResult]:
    rules = {"search_p95": policy.speed.search_p95, "cold_start": policy.speed.cold_start}
    other_hardware = any(m.severity == "no-speed" for m in comparison.mismatches)
    return [_speed_rule(change, rules[change.name], other_hardware) for change in comparison.speed]


def _speed_rule(change: SpeedChange, rule: SpeedRule, other_hardware: bool) -> RuleResult:  # noqa: FBT001
    before, after = change.baseline_ms, change.current_ms
    if before is None or after is None or other_hardware:
        why = "the hardware differs" if other_hardware else "not measured in both runs"
        return RuleResult(
            metric=change.name,
            status="skipped",
            baseline=before,
            current=after,
            limit=None,
            explanation=f"{change.name}: {why}.",
        )
    limit = min(before + rule.rise_ms, max(before * rule.ratio, before + rule.ratio_from_ms))
    return RuleResult(
        metric=change.name,
        status="failed" if after > limit else "passed",
        baseline=before,
        current=after,
        limit=limit,
        explanation=f"{change.name}: {before:.0f} ms -> {after:.0f} ms; up to {limit:.0f} ms is allowed.",
    )
