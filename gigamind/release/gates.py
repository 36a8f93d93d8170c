"""Whether a release may go out: each rule of the policy applied to a comparison, and the verdict of them all.

A rule that nothing can be said about is no pass.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gigamind.choices import Phase, Relaxable
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import is_lower_better, is_mean
from gigamind.records.card import CheckedCard, JudgeCard
from gigamind.records.judged import JudgeReport
from gigamind.release.comparison import Comparison, LostItem, MetricChange, SpeedChange, relaxation
from gigamind.release.model import BLOCK, EvalSnapshot
from gigamind.release.policy import (
    CHECKS,
    COVERAGE,
    PASSAGES,
    VERDICTS,
    GateResult,
    GateVerdict,
    Policy,
    RuleResult,
    SpeedRule,
    Status,
    explain,
)
from gigamind.release.shortfall import METRIC, card_rule, held_card
from gigamind.stats.intervals import Interval
from gigamind.stats.paired import MIN_PAIRS, non_inferiority
from gigamind.wording import words

QUALITY = "metrics"


def lost_rules(
    comparison: Comparison, policy: Policy, phase: Phase, judge: JudgeReport | None
) -> list[RuleResult]:
    """Those that concern the runs: verdicts where a model gives them or some are gone, checks where both have some.

    A judge that asks nobody always decides where it can; what it cannot decide about, such as an answer that never
    came, is in no figure either.
    """
    shared, gone = comparison.shared, comparison.lost
    kinds = [_Lost(COVERAGE, gone, len(gone) + shared)]
    if comparison.gone:
        kinds.append(_Lost(PASSAGES, comparison.gone, shared))
    if comparison.unjudged or (judge is not None and judge.asks_a_model):
        kinds.append(_Lost(VERDICTS, comparison.unjudged, shared))
    if comparison.checks == "compared":
        kinds.append(_Lost(CHECKS, comparison.unchecked, shared))
    return [_lost_rule(kind, comparison.task, policy, phase) for kind in kinds]


class _Lost(NamedTuple):
    """What is gone of so many."""

    metric: str
    items: Sequence[LostItem]
    total: int


def _lost_rule(lost: _Lost, task: str, policy: Policy, phase: Phase) -> RuleResult:
    """Where nothing that the items count in stops a release in this phase, their loss does not either."""
    allowed = policy.coverage.max_lost
    blocks = {BLOCK} if lost.metric == CHECKS else set(blocks_of(task))
    count = len(lost.items)
    status: Status = "failed" if count / lost.total > allowed else "passed"
    remarks = ("such_as",) if lost.items else ()
    return _softened(
        _Told(
            f"lost_{lost.metric}",
            remarks,
            count=str(count),
            total=str(lost.total),
            units=task,
            limit=f"{allowed:g}",
            example=lost.items[0].id if lost.items else "",
        ).rule(lost.metric, status, baseline=1.0, current=1 - count / lost.total, limit=allowed),
        phase,
        soft=blocks <= set(policy.phases[phase].soft),
    )


class _Told:
    """Why a rule ends as it does: a phrase of the table "rule" with its remarks and what they name."""

    def __init__(self, why: str, remarks: tuple[str, ...] = (), **values: str) -> None:
        self.why, self.remarks, self.values = why, remarks, values

    def rule(
        self,
        metric: str,
        status: Status,
        *,
        interval: tuple[float | None, float | None] = (None, None),
        baseline: float | None = None,
        current: float | None = None,
        limit: float | None = None,
        n: int | None = None,
    ) -> RuleResult:
        """The rule on a metric."""
        values = {"metric": metric, **self.values}
        return RuleResult(
            metric=metric,
            status=status,
            baseline=baseline,
            current=current,
            limit=limit,
            explanation=explain(words("en"), self.why, self.remarks, values),
            why=self.why,
            remarks=self.remarks,
            values=values,
            low=interval[0],
            high=interval[1],
            n=n,
        )


def _softened(rule: RuleResult, phase: Phase, *, soft: bool) -> RuleResult:
    """The rule, only told where the phase says so."""
    if not soft or rule.status not in {"failed", "not-comparable"}:
        return rule
    explanation = _Told(rule.why, (*rule.remarks, "soft"), **{**rule.values, "phase": phase})
    return _as_told(rule, "warned", explanation)


def _as_told(rule: RuleResult, status: Status, explanation: _Told) -> RuleResult:
    """The rule with its figures, and another end."""
    return explanation.rule(
        rule.metric,
        status,
        baseline=rule.baseline,
        current=rule.current,
        limit=rule.limit,
        interval=(rule.low, rule.high),
        n=rule.n,
    )


_OF_VERDICTS = "unanswerable"  # the block of the metrics that count verdicts


def judge_release(
    comparison: Comparison,
    policy: Policy,
    phase: Phase,
    *,
    languages: Sequence[str] = (),
    judge: JudgeReport | None = None,
    card: JudgeCard | None = None,
) -> GateResult:
    """Apply every rule that concerns the task; where the runs cannot be compared, no verdict is invented.

    `languages` are those of the current run, each of which the judge's card must have labels for.

    Raises:
        InputError: the policy names a figure that nothing gives.
    """
    policy.refuse_unknown(comparison.task)
    differing = [
        mismatch
        for mismatch in comparison.mismatches
        if mismatch.relaxed_by in policy.comparable.relax
    ]
    relaxed: tuple[Relaxable, ...] = tuple(
        mismatch.relaxed_by for mismatch in differing if mismatch.relaxed_by
    )
    refusals = [
        mismatch.meaning
        for mismatch in comparison.mismatches
        if mismatch.severity == "refuse"
        or (mismatch.severity == "no-verdict" and mismatch.relaxed_by not in relaxed)
    ]
    if not comparison.shared:
        refusals.append(words("en")("rule.no_shared"))
    if refusals:
        return GateResult(phase=phase, verdict="not-comparable", rules=(), reasons=tuple(refusals))
    held = held_card(card, policy, phase, comparison.task, languages) if card else None
    rules = (
        *_quality_rules(comparison, policy, phase, judge),
        *lost_rules(comparison, policy, phase, judge),
        *_speed(comparison, policy),
        *_card(judge, held, policy),
    )
    verdict = _verdict(rules)
    deciding = [rule for rule in rules if _is_told(rule, verdict)]
    deciding.sort(key=lambda rule: rule.why not in UNKNOWABLE)
    reasons = [rule.explanation for rule in deciding]
    reasons += [relaxation(mismatch, words("en")) for mismatch in differing]
    return GateResult(
        phase=phase, verdict=verdict, rules=rules, reasons=tuple(reasons), relaxed=relaxed
    )


def _verdict(rules: Sequence[RuleResult]) -> GateVerdict:
    """The worst of them."""
    for worst in _VERDICTS:
        if any(rule.status == worst for rule in rules):
            return worst
    return "passed"


_VERDICTS: tuple[GateVerdict, ...] = ("failed", "not-comparable", "inconclusive", "warned")
UNKNOWABLE = frozenset({"gone", "unchecked", "worst", "speed_gone"})
"""Why nothing can be known of a figure, which is told before what is known to be worse."""


def _quality_rules(
    comparison: Comparison, policy: Policy, phase: Phase, judge: JudgeReport | None
) -> list[RuleResult]:
    """That on each metric's change, then that on each bound; where all of the former say nothing, that, too."""
    concerned = [name for name in policy.gated if _concerns(name, comparison)]
    soft = set(policy.phases[phase].soft)
    named = {*policy.quality.metrics, *policy.quality.judged}
    changes = [
        _quality(comparison, policy, phase, name, varies=_varies(name, policy, judge))
        for name in concerned
        if name in named
    ]
    bounds = _bounds(comparison.figures, policy, concerned)
    soft_at_worst = policy.phases[phase].at_worst
    rules = [
        _softened(
            rule, phase, soft=block in soft or (rule.why == "worst" and block in soft_at_worst)
        )
        for rule in (*changes, *bounds)
        if (block := rule.metric.partition(".")[0])
    ]
    if changes and not bounds and all(rule.status == "skipped" for rule in changes):
        rules.append(_Told("nothing_held", units=comparison.task).rule(QUALITY, "inconclusive"))
    return rules


def _concerns(name: str, comparison: Comparison) -> bool:
    """Whether the runs have that block; where neither was checked, nothing is said of checks."""
    block = name.partition(".")[0]
    if block == BLOCK:
        return comparison.checks != "none"
    return block in blocks_of(comparison.task)


def bounds_gate(run: EvalSnapshot[Any, Any], policy: Policy, phase: Phase) -> GateResult | None:
    """What holds a run that is compared with nothing: floors and ceilings; None where none concerns its task.

    Raises:
        InputError: the policy names a figure that nothing gives.
    """
    policy.refuse_unknown(run.task)
    blocks = {*blocks_of(run.task), *((BLOCK,) if run.kind.checklist(run) else ())}
    named = [name for name in policy.gated if name.partition(".")[0] in blocks]
    soft = policy.phases[phase].soft
    rules = tuple(
        _softened(rule, phase, soft=rule.metric.partition(".")[0] in soft)
        for rule in _bounds(run.kind.figures(run.items), policy, named)
    )
    if not rules:
        return None
    verdict = _verdict(rules)
    reasons = tuple(rule.explanation for rule in rules if _is_told(rule, verdict))
    return GateResult(phase=phase, verdict=verdict, rules=rules, reasons=reasons)


def _bounds(figures: Mapping[str, float], policy: Policy, names: Sequence[str]) -> list[RuleResult]:
    return [
        _bounded(figures, name, bound)
        for name in names
        if (bound := policy.bound(name)) is not None
    ]


def _is_told(rule: RuleResult, verdict: GateVerdict) -> bool:
    """Whether a rule is a reason for the verdict; that nobody has judged the judge is one beside any other."""
    if verdict == "passed":
        return False
    return rule.status == verdict or (rule.metric == METRIC and rule.status == "warned")


def _card(judge: JudgeReport | None, held: CheckedCard | None, policy: Policy) -> list[RuleResult]:
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
    before, after = (change.baseline, change.current) if change else (None, None)
    if change is None or change.drop is None or before is None or after is None:
        return _unmeasured(comparison, name, before, after)
    if before == after == _worst(name) and policy.bound(name) is None:
        remarks = ("of_verdicts",) if name.partition(".")[0] == _OF_VERDICTS else ()
        explanation = _Told("worst", remarks, before=f"{before:.4f}")
        return explanation.rule(name, "not-comparable", baseline=before, current=after)
    allowed = policy.allowed_drop(phase, comparison.items)
    status, remark, needed = (_judged if varies else _raw)(change, allowed)
    is_small = comparison.items < policy.small_sample.below and change.n
    small = ("small",) if is_small and is_mean(name) else ()  # else no item weighs 1 / n
    apart = ("apart",) if change.baseline_n != change.current_n else ()
    return _Told(
        "drop",
        (*small, *apart, *remark),
        before=f"{before:.4f}",
        after=f"{after:.4f}",
        drop=f"{max(0.0, change.drop):.4f}",
        limit=f"{allowed:g}",
        n=str(change.n),
        before_n=str(change.baseline_n),
        after_n=str(change.current_n),
        weight=f"{1 / max(1, change.n):.4f}",
        units=comparison.task,
        needed=str(needed),
    ).rule(name, status, baseline=before, current=after, limit=allowed)


def _worst(name: str) -> float:
    return 1.0 if is_lower_better(name) else 0.0


def at_worst(run: EvalSnapshot[Any, Any], policy: Policy) -> list[str]:
    """The gated metrics that a run has at the worst there is: as a baseline it could tell no other run to be worse."""
    figures = run.kind.figures(run.items)
    return [
        name
        for name in policy.gated
        if figures.get(name) == _worst(name) and policy.bound(name) is None
    ]


def _unmeasured(
    comparison: Comparison, name: str, before: float | None, after: float | None
) -> RuleResult:
    """A figure that one run lacks: the baseline's is gone, or its own would hold nothing."""
    of_checks = name.partition(".")[0] == BLOCK
    if of_checks and comparison.checks == "dropped":
        return _Told("unchecked").rule(name, "failed")
    if of_checks and comparison.checks == "other":
        return _Told("other_checklist").rule(name, "inconclusive")
    if before is not None:
        explanation = _Told("gone", before=f"{before:.4f}")
        return explanation.rule(name, "failed", baseline=before)
    why = "unmeasured" if after is None else "new"
    if of_checks and comparison.checks == "compared":
        why = "no_such_item"
    return _Told(why).rule(name, "skipped", current=after)


def _bounded(figures: Mapping[str, float], name: str, bound: float) -> RuleResult:
    """What the current run must reach, whatever the baseline did; it is held by all its items."""
    lower = is_lower_better(name)
    value = figures.get(name)
    kind = "ceiling" if lower else "floor"
    if value is None:
        return _Told(f"{kind}_gone", limit=f"{bound:g}").rule(name, "failed", limit=bound)
    broken = value > bound + _TIE if lower else value < bound - _TIE
    explanation = _Told(kind, after=f"{value:.4f}", limit=f"{bound:g}")
    return explanation.rule(name, "failed" if broken else "passed", current=value, limit=bound)


_TIE = 1e-9  # a mean that is the bound on paper must not break it by a rounding error
_Outcome = tuple[Status, tuple[str, ...], int | None]


def _raw(change: MetricChange, allowed: float) -> _Outcome:
    """The same input gives the same figure, so chance has no part in a drop."""
    return ("failed" if (change.drop or 0.0) > allowed else "passed"), (), None


def _judged(change: MetricChange, allowed: float) -> _Outcome:
    """Verdicts flip between equal runs: a drop counts when it passes the margin and chance does not explain it."""
    if change.low is None or change.high is None:
        return "inconclusive", ("untested",), None
    lower = is_lower_better(change.metric)
    interval = Interval(-change.high, -change.low) if lower else Interval(change.low, change.high)
    decided = non_inferiority(-(change.drop or 0.0), interval, n=change.n, margin=allowed)
    if decided.decision == "inconclusive":
        remark = "needs" if decided.needed_n else "needs_all"
        return "inconclusive", ("wide", remark), decided.needed_n
    return ("failed" if decided.decision == "fail" else "passed"), (), None


def _speed(comparison: Comparison, policy: Policy) -> list[RuleResult]:
    rules = {"search_p95": policy.speed.search_p95, "cold_start": policy.speed.cold_start}
    if not comparison.same_hardware:
        return [
            _Told("other_hardware").rule(
                change.name, "skipped", baseline=change.baseline_ms, current=change.current_ms
            )
            for change in comparison.speed
        ]
    ruled = [(change, speed_rule(change, rules[change.name])) for change in comparison.speed]
    holds = policy.speed.systems == "hold"
    return [_unheld(rule) if change.of_system and not holds else rule for change, rule in ruled]


def _unheld(rule: RuleResult) -> RuleResult:
    """The rule on another system's speed, only told: what is open of it is no reason to leave the verdict open."""
    if rule.status not in {"failed", "inconclusive"}:
        return rule
    status: Status = "warned" if rule.status == "failed" else "skipped"
    remarks = tuple(remark for remark in rule.remarks if remark != "more_allowed")
    return _as_told(rule, status, _Told(rule.why, (*remarks, "of_system"), **rule.values))


def speed_rule(change: SpeedChange, rule: SpeedRule) -> RuleResult:
    """That on one time."""
    before, after = change.baseline_ms, change.current_ms
    if before is None:
        why = "unmeasured" if after is None else "new"
        return _Told(why).rule(change.name, "skipped", current=after)
    if change.of_file:
        explanation = _Told("speed_of_file")
        return explanation.rule(change.name, "failed", baseline=before, current=after)
    if after is None or (change.baseline_passes and not change.passes):
        explanation = _Told("speed_gone")
        return explanation.rule(change.name, "failed", baseline=before, current=after)
    if change.ratio is not None:
        return _normalised_rule(change, rule, change.ratio)
    limit = rule.limit_ms(before)
    # One pass of a busy machine: a rise may be its own, so without passes of the baseline it stops no release.
    unsure = change.name == "search_p95" and after > limit
    status: Status = "inconclusive" if unsure else "failed" if after > limit else "passed"
    explanation = _Told(
        "slower",
        ("one_pass",) if unsure else ("more_allowed",) if status == "failed" else (),
        before=f"{before:.0f}",
        after=f"{after:.0f}",
        limit=f"{limit:.0f}",
    )
    return explanation.rule(change.name, status, baseline=before, current=after, limit=limit)


_WIDEST = 4.0  # of an interval's ends, one over the other: twice as much and half as much are then as likely


def _is_slower_system(change: SpeedChange, limit: float) -> bool:
    """Whether another system is slower for sure, whose time is that of a network and a machine of its own, too.

    What is busy there is so for all passes of a run, and no interval over passes sees that: of equal runs 3 to 5 in 100
    failed by the rule for our own search, and two of eight on a busy machine (`benchmarks/gate_speed.py`).  So all of
    the interval must lie past the limit, it must not be wide, and the p95 must have risen past the limit, too.
    """
    low, high = change.low or 0.0, change.high or 0.0
    before, after = change.baseline_ms or 0.0, change.current_ms or 0.0
    return low > limit and high <= _WIDEST * low and after > limit * before


def _normalised_rule(change: SpeedChange, rule: SpeedRule, ratio: float) -> RuleResult:
    """A failure is a rise past the limit that chance does not explain; one that it does, or too few passes, is open.

    A figure within the limit passes: its interval is told, and an even narrower one would stop releases that are as
    fast as they were whenever their machine was busy.
    """
    n = min(change.passes, change.baseline_passes)
    limit = min(rule.ratio, 1 + rule.rise_ms / (change.query_ms or 1.0))
    known = change.low is not None and change.high is not None and n >= MIN_PAIRS
    sure = known and (change.low or 0.0) > 1
    if change.of_system:
        sure = sure and _is_slower_system(change, limit)
    status: Status = "passed" if known and ratio <= limit else "failed" if sure else "inconclusive"
    open_for = "wide" if known else "few_passes"
    remark = {"failed": "more_allowed", "inconclusive": open_for}.get(status)
    return _Told(
        "normalised",
        (remark,) if remark else (),
        ratio=f"{ratio:.2f}",
        low="–" if change.low is None else f"{change.low:.2f}",
        high="–" if change.high is None else f"{change.high:.2f}",
        passes=str(n),
        limit=f"{limit:.2f}",
        before=f"{change.baseline_ms or 0:.0f}",
        after=f"{change.current_ms or 0:.0f}",
    ).rule(
        change.name,
        status,
        baseline=change.baseline_ms,
        current=change.current_ms,
        limit=limit,
        interval=(change.low, change.high),
        n=n,
    )
