"""Whether a release may go out: each rule of the policy applied to a comparison, and the verdict of them all.

A rule that nothing can be said about is no pass.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from gigamind.choices import Phase
from gigamind.metrics.spec import blocks_of, units_of
from gigamind.metrics.table import is_lower_better
from gigamind.records.card import HeldCard, JudgeCard
from gigamind.records.judged import JudgeReport
from gigamind.release.compare import Comparison, LostItem, MetricChange, SpeedChange
from gigamind.release.model import BLOCK, PASS_RATE
from gigamind.release.policy import GateResult, Policy, RuleResult, SpeedRule, Status, Verdict
from gigamind.release.shortfall import METRIC, card_rule, held_card
from gigamind.stats.intervals import Interval
from gigamind.stats.paired import non_inferiority

COVERAGE = "coverage"
VERDICTS = "verdicts"
CHECKS = "checks"
LOST = frozenset({COVERAGE, VERDICTS, CHECKS})


def lost_rules(
    comparison: Comparison, policy: Policy, phase: Phase, judge: JudgeReport | None
) -> list[RuleResult]:
    """Those that concern the runs: verdicts where a model gives them, checks where those of both are compared."""
    shared = comparison.shared
    gone = comparison.lost
    kinds = [_Lost(COVERAGE, gone, len(gone) + shared, "of the baseline could not be evaluated")]
    if judge is not None and judge.asks_a_model:
        told = "had a verdict in the baseline and have none now"
        kinds.append(_Lost(VERDICTS, comparison.unjudged, shared, told))
    if comparison.checks == "compared":
        told = "were checked in the baseline and are not now"
        kinds.append(_Lost(CHECKS, comparison.unchecked, shared, told))
    return [_rule(one, comparison.task, policy, phase) for one in kinds]


class _Lost(NamedTuple):
    """What is gone of so many, and in which words."""

    metric: str
    items: Sequence[LostItem]
    total: int
    told: str


def _rule(lost: _Lost, task: str, policy: Policy, phase: Phase) -> RuleResult:
    """Where nothing that the items count in stops a release in this phase, their loss does not either."""
    allowed = policy.coverage.lost_share
    blocks = {BLOCK} if lost.metric == CHECKS else set(blocks_of(task))
    soft = blocks <= set(policy.phases[phase].soft)
    failed, remark = ("warned", f"; only told in phase {phase}") if soft else ("failed", "")
    count, example = len(lost.items), f", such as {lost.items[0].id}" if lost.items else ""
    too_many = count / lost.total > allowed
    return RuleResult(
        metric=lost.metric,
        status=failed if too_many else "passed",
        baseline=1.0,
        current=1 - count / lost.total,
        limit=allowed,
        explanation=f"{lost.metric}: {count} of {lost.total} {units_of(task)} {lost.told}{example};"
        f" a share of {allowed:g} is allowed{remark if too_many else ''}.",
    )


_OF_VERDICTS = "unanswerable"  # the block of the metrics that count verdicts


def judge_release(
    comparison: Comparison,
    policy: Policy,
    phase: Phase,
    *,
    judge: JudgeReport | None = None,
    card: JudgeCard | None = None,
    languages: Sequence[str] = (),
) -> GateResult:
    """Apply every rule that concerns the task; where the runs cannot be compared, no verdict is invented.

    `languages` are those of the current run, each of which the judge's card must have labels for.

    Raises:
        InputError: the policy names a figure that nothing gives.
    """
    policy.quality.refuse_unknown(comparison.task)
    refusals = tuple(m.meaning for m in comparison.mismatches if m.severity == "refuse")
    if not comparison.shared:
        refusals += ("The runs share no item. A new baseline is needed.",)
    if refusals:
        return GateResult(phase=phase, verdict="not-comparable", rules=(), reasons=refusals)
    held = held_card(card, policy, phase, comparison.task, languages) if card else None
    rules = (
        *(
            _quality(comparison, policy, phase, name, varies=_varies(name, policy, judge))
            for name in (*policy.quality.metrics, *policy.quality.judged)
            if _concerns(name, comparison)
        ),
        *lost_rules(comparison, policy, phase, judge),
        *_speed(comparison, policy),
        *_card(judge, held, policy),
    )
    verdict: Literal["failed", "inconclusive", "warned", "passed"] = "passed"
    for worst in ("failed", "inconclusive", "warned"):
        if any(rule.status == worst for rule in rules):
            verdict = worst
            break
    told = [rule.explanation for rule in rules if _is_told(rule, verdict)]
    return GateResult(phase=phase, verdict=verdict, rules=rules, reasons=tuple(told))


def _concerns(name: str, comparison: Comparison) -> bool:
    """Whether the runs have that block; where neither was checked, nothing is said of checks."""
    block = name.partition(".")[0]
    if block == BLOCK:
        return comparison.checks != "none"
    return block in blocks_of(comparison.task)


def _is_told(rule: RuleResult, verdict: Verdict) -> bool:
    """Whether a rule is a reason for the verdict; that nobody has judged the judge is one beside any other."""
    if verdict == "passed":
        return False
    return rule.status == verdict or (rule.metric == METRIC and rule.status == "warned")


def _card(judge: JudgeReport | None, held: HeldCard | None, policy: Policy) -> list[RuleResult]:
    """None for a judge that asks no model: its verdicts are what its file says."""
    if judge is None or not judge.asks_a_model:
        return []
    return [card_rule(held, judge, policy.quality.cards)]


def _varies(name: str, policy: Policy, judge: JudgeReport | None) -> bool:
    """Whether equal runs may differ in a metric: the policy says so, or a model gave the verdicts that it counts."""
    block = name.partition(".")[0]
    by_model = judge is not None and judge.asks_a_model
    return name in policy.quality.judged or block == BLOCK or (by_model and block == _OF_VERDICTS)


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
            explanation=_why_skipped(name, comparison),
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


def _why_skipped(name: str, comparison: Comparison) -> str:
    if name.partition(".")[0] == BLOCK:
        if comparison.checks == "not-compared":
            return f"{name}: the runs were not checked by the same checklist."
        if comparison.metric(PASS_RATE):
            return f"{name}: the checklist has no such item."
    return f"{name} was not measured in both runs."


def _raw(change: MetricChange, allowed: float) -> tuple[Status, str]:
    """The same input gives the same figure, so chance has no part in a drop."""
    return ("failed" if (change.drop or 0.0) > allowed else "passed"), ""


def _judged(change: MetricChange, allowed: float) -> tuple[Status, str]:
    """Verdicts flip between equal runs: a drop counts when it passes the margin and chance does not explain it."""
    if change.low is None or change.high is None:
        return "inconclusive", "; a ratio over items has no paired test"
    lower = is_lower_better(change.metric)
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
