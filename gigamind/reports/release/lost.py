"""The rules on what figures lack: items, verdicts and checks that the baseline had.  No mean shows their loss."""

from collections.abc import Sequence
from typing import NamedTuple

from gigamind.reports.judged import JudgeReport
from gigamind.reports.release.checks import BLOCK
from gigamind.reports.release.compare import Comparison, LostItem
from gigamind.reports.release.policy import Phase, Policy
from gigamind.reports.release.rule import RuleResult
from gigamind.reports.release.tasks import TASKS

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
    kind, allowed = TASKS[task], policy.coverage.lost_share
    blocks = {BLOCK} if lost.metric == CHECKS else set(kind.blocks)
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
        explanation=f"{lost.metric}: {count} of {lost.total} {kind.units} {lost.told}{example};"
        f" a share of {allowed:g} is allowed{remark if too_many else ''}.",
    )
