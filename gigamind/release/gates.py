"""The release gate: each rule of the policy, and the verdict of all. A rule without enough data does not pass."""

from collections.abc import Mapping, Sequence
from typing import Any

from gigamind.choices import Phase, Relaxable
from gigamind.formats import percent
from gigamind.i18n import _
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import is_mean, use_of
from gigamind.records.card import JudgeCard
from gigamind.records.judged import JudgeReport, WeakJudge
from gigamind.release.comparison import Comparison, LostItem, MetricChange, SpeedChange
from gigamind.release.model import BLOCK, EvalSnapshot
from gigamind.release.policy import (
    CHECKS,
    COVERAGE,
    PASSAGES,
    VERDICTS,
    WEAK,
    GateResult,
    GateVerdict,
    Policy,
    RuleResult,
    SpeedRule,
    Status,
)
from gigamind.release.shortfall import METRIC, card_rule, checked_card
from gigamind.stats.intervals import Interval
from gigamind.stats.paired import MIN_PAIRS, non_inferiority

_QUALITY = "metrics"


def _lost_rules(
    comparison: Comparison, policy: Policy, phase: Phase, judge: JudgeReport | None
) -> list[RuleResult]:
    """Return the rules about items that the current run lacks; that on checks if both runs have checks."""
    lost = {COVERAGE: comparison.lost}
    if comparison.gone:
        lost[PASSAGES] = comparison.gone
    if comparison.unjudged or (judge is not None and judge.asks_a_model):
        lost[VERDICTS] = comparison.unjudged
    if comparison.checks == "compared":
        lost[CHECKS] = comparison.unchecked
    return [_lost_rule(metric, items, comparison, policy, phase) for metric, items in lost.items()]


def _lost_rule(
    metric: str, items: Sequence[LostItem], comparison: Comparison, policy: Policy, phase: Phase
) -> RuleResult:
    """Return the rule; it only warns if no metric of these items can stop a release in this phase."""
    allowed, count = policy.coverage.max_lost, len(items)
    total = comparison.shared + (count if metric == COVERAGE else 0)
    blocks = {BLOCK} if metric == CHECKS else set(blocks_of(comparison.task))
    status: Status = "failed" if count / total > allowed else "passed"
    values = {
        "count": str(count),
        "total": str(total),
        "units": comparison.task,
        "limit": f"{allowed:g}",
        "example": items[0].id if items else "",
    }
    why, remarks, kept = f"lost_{metric}", ("such_as",) if items else (), 1 - count / total
    rule = _rule(metric, status, why, remarks, values, baseline=1.0, current=kept, limit=allowed)
    return _softened(rule, phase, soft=blocks <= set(policy.phases[phase].soft))


def _rule(
    metric: str,
    status: Status,
    why: str,
    remarks: tuple[str, ...] = (),
    values: Mapping[str, str] | None = None,
    *,
    interval: tuple[float | None, float | None] = (None, None),
    baseline: float | None = None,
    current: float | None = None,
    limit: float | None = None,
    n: int | None = None,
) -> RuleResult:
    given = {"metric": metric, **(values or {})}
    return RuleResult(
        metric=metric,
        status=status,
        baseline=baseline,
        current=current,
        limit=limit,
        explanation="",
        why=why,
        remarks=remarks,
        values=given,
        low=interval[0],
        high=interval[1],
        n=n,
    ).explained()


def _softened(rule: RuleResult, phase: Phase, *, soft: bool) -> RuleResult:
    if not soft or rule.status not in {"failed", "not-comparable"}:
        return rule
    return _changed(rule, "warned", (*rule.remarks, "soft"), {"phase": phase})


def _changed(
    rule: RuleResult, status: Status, remarks: tuple[str, ...], values: Mapping[str, str]
) -> RuleResult:
    update = {"status": status, "remarks": remarks, "values": {**rule.values, **values}}
    return rule.model_copy(update=update).explained()


_OF_VERDICTS = "unanswerable"  # the block of the metrics that count verdicts


def judge_release(
    comparison: Comparison,
    policy: Policy,
    phase: Phase,
    *,
    languages: Sequence[str] = (),
    judge: JudgeReport | None = None,
    before: JudgeReport | None = None,
    card: JudgeCard | None = None,
) -> GateResult:
    """Apply every rule for the task; if the runs cannot be compared, the verdict says so.

    Args:
        languages: of the current run; the judge report must have labels for each.
        judge, before: of the current run and of the baseline.

    Raises:
        InputError: the policy names an unknown metric.
    """
    policy.refuse_unknown(comparison.task)
    allowed = policy.comparable.relax
    differing = [entry for entry in comparison.mismatches if entry.relaxed_by in allowed]
    relaxed: tuple[Relaxable, ...] = tuple(e.relaxed_by for e in differing if e.relaxed_by)
    barred = [
        entry
        for entry in comparison.mismatches
        if entry.severity == "refuse"
        or (entry.severity == "no-verdict" and entry.relaxed_by not in relaxed)
    ]
    refusals = [entry.meaning for entry in barred]
    keys: tuple[Relaxable, ...] = tuple(e.relaxed_by for e in barred if e.relaxed_by)
    then: tuple[RuleResult, ...] = ()
    if barred and comparison.shared and len(keys) == len(barred):
        opened = policy.allowing(keys)
        then = judge_release(
            comparison, opened, phase, languages=languages, judge=judge, before=before, card=card
        ).failed
    if not comparison.shared:
        refusals.append(_("The runs have no item in common. Create a new baseline."))
    if refusals:
        reasons = tuple(refusals)
        return GateResult(
            phase=phase, verdict="not-comparable", rules=(), reasons=reasons, then=then
        )
    checked = checked_card(card, policy, phase, comparison.task, languages) if card else None
    rules = [
        *_quality_rules(comparison, policy, phase, judge, before and before.weak),
        *_lost_rules(comparison, policy, phase, judge),
        *_speed(comparison, policy),
    ]
    if judge and judge.needs_card:
        rules.append(card_rule(checked, judge, policy.quality.cards))
    found = _decided(phase, rules)
    reasons = (*found.reasons, *(entry.relaxation for entry in differing))
    return found.model_copy(update={"reasons": reasons, "relaxed": relaxed})


def _decided(phase: Phase, rules: Sequence[RuleResult]) -> GateResult:
    """Return the verdict of all rules, with its reasons."""
    verdict = _verdict(rules)
    deciding = [rule for rule in rules if _is_reason(rule, verdict)]
    deciding.sort(key=lambda rule: rule.why not in _UNKNOWABLE)
    reasons = tuple(rule.explanation for rule in deciding)
    return GateResult(phase=phase, verdict=verdict, rules=tuple(rules), reasons=reasons)


def _verdict(rules: Sequence[RuleResult]) -> GateVerdict:
    for worst in _VERDICTS:
        if any(rule.status == worst for rule in rules):
            return worst
    return "passed"


_VERDICTS: tuple[GateVerdict, ...] = ("failed", "not-comparable", "inconclusive", "warned")
_UNKNOWABLE = frozenset({"gone", "unchecked", "worst", "speed_gone"})
"""Reasons that a value is unknown; they come before known regressions."""


def _quality_rules(
    comparison: Comparison,
    policy: Policy,
    phase: Phase,
    judge: JudgeReport | None,
    weak: WeakJudge | None,
) -> list[RuleResult]:
    concerned = [name for name in policy.gated if _concerns(name, comparison)]
    soft = set(policy.phases[phase].soft)
    named = {*policy.quality.metrics, *policy.quality.judged}
    changes = [
        _quality(comparison, policy, phase, name, varies=_varies(name, policy, judge))
        for name in concerned
        if name in named
    ]
    if weak and policy.quality.weak_judges == "warn":
        shares = {name: percent(value) for name, value in weak}
        changes = [
            _informational(rule, WEAK, shares)
            if rule.metric.partition(".")[0] == _OF_VERDICTS
            else rule
            for rule in changes
        ]
    bounds = _bounds(comparison.figures, policy, concerned)
    at_worst = policy.phases[phase].at_worst
    rules = [
        _softened(rule, phase, soft=block in soft or (rule.why == "worst" and block in at_worst))
        for rule in (*changes, *bounds)
        if (block := rule.metric.partition(".")[0])
    ]
    if changes and not bounds and all(rule.status == "skipped" for rule in changes):
        rules.append(
            _rule(_QUALITY, "inconclusive", "nothing_held", (), {"units": comparison.task})
        )
    return rules


def _concerns(name: str, comparison: Comparison) -> bool:
    """Return whether the runs have the metric's block; no rule on checks applies if neither run has any."""
    block = name.partition(".")[0]
    if block == BLOCK:
        return comparison.checks != "none"
    return block in blocks_of(comparison.task)


def bounds_gate(run: EvalSnapshot[Any, Any], policy: Policy, phase: Phase) -> GateResult | None:
    """Apply the floors and ceilings to a run without a baseline; None without any, InputError for an unknown metric."""
    policy.refuse_unknown(run.task)
    blocks = {*blocks_of(run.task), *((BLOCK,) if run.kind.checklist(run) else ())}
    named = [name for name in policy.gated if name.partition(".")[0] in blocks]
    soft = policy.phases[phase].soft
    rules = [
        _softened(rule, phase, soft=rule.metric.partition(".")[0] in soft)
        for rule in _bounds(run.kind.figures(run.items), policy, named)
    ]
    return _decided(phase, rules) if rules else None


def _bounds(figures: Mapping[str, float], policy: Policy, names: Sequence[str]) -> list[RuleResult]:
    bounds = ((name, policy.bound(name)) for name in names)
    return [_bounded(figures, name, bound) for name, bound in bounds if bound is not None]


def _is_reason(rule: RuleResult, verdict: GateVerdict) -> bool:
    """Return whether a rule is a reason for the verdict; a missing judge report always is one."""
    if verdict == "passed":
        return False
    return rule.status == verdict or (rule.metric == METRIC and rule.status == "warned")


def _varies(name: str, policy: Policy, judge: JudgeReport | None) -> bool:
    """Return whether a metric varies between identical runs: the policy says so, or a model gave its verdicts."""
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
        values = {"before": f"{before:.4f}"}
        return _rule(
            name, "not-comparable", "worst", remarks, values, baseline=before, current=after
        )
    # Of both runs, so that a run cannot loosen its limit by losing items.
    items = comparison.shared + max(comparison.only_current, comparison.only_baseline)
    is_small = items < policy.small_sample.below
    allowed = policy.small_sample.drop if is_small else policy.phases[phase].drop
    status, remark, needed = (_judged if varies else _raw)(change, allowed)
    weighs = change.n and is_mean(name)  # else no item weighs 1 / n, and runs count their own items
    small = ("small",) if is_small and weighs else ()
    apart = ("apart",) if weighs and change.baseline_n != change.current_n else ()
    values = {
        "before": f"{before:.4f}",
        "after": f"{after:.4f}",
        "drop": f"{max(0.0, change.drop):.4f}",
        "limit": f"{allowed:g}",
        "n": str(change.n),
        "before_n": str(change.baseline_n),
        "after_n": str(change.current_n),
        "weight": f"{1 / max(1, change.n):.4f}",
        "units": comparison.task,
        "needed": str(needed),
        **({"below": str(policy.small_sample.below)} if is_small else {}),
    }
    remarks = (*small, *apart, *remark)
    return _rule(
        name, status, "drop", remarks, values, baseline=before, current=after, limit=allowed
    )


def _worst(name: str) -> float:
    return 1.0 if use_of(name).lower else 0.0


def at_worst(run: EvalSnapshot[Any, Any], policy: Policy) -> list[str]:
    """Return the gated metrics at their worst value: with this run as a baseline they could not get worse."""
    figures = run.kind.figures(run.items)
    free = (name for name in policy.gated if policy.bound(name) is None)
    return [name for name in free if figures.get(name) == _worst(name)]


def _unmeasured(
    comparison: Comparison, name: str, before: float | None, after: float | None
) -> RuleResult:
    of_checks = name.partition(".")[0] == BLOCK
    if of_checks and comparison.checks == "dropped":
        return _rule(name, "failed", "unchecked")
    if of_checks and comparison.checks == "other":
        return _rule(name, "inconclusive", "other_checklist")
    if before is not None:
        return _rule(name, "failed", "gone", (), {"before": f"{before:.4f}"}, baseline=before)
    why = "unmeasured" if after is None else "new"
    if of_checks and comparison.checks == "compared":
        why = "no_such_item"
    return _rule(name, "skipped", why, current=after)


def _bounded(figures: Mapping[str, float], name: str, bound: float) -> RuleResult:
    lower = use_of(name).lower
    value = figures.get(name)
    kind = "ceiling" if lower else "floor"
    if value is None:
        return _rule(name, "failed", f"{kind}_gone", (), {"limit": f"{bound:g}"}, limit=bound)
    broken = value > bound + _TIE if lower else value < bound - _TIE
    values = {"after": f"{value:.4f}", "limit": f"{bound:g}"}
    status: Status = "failed" if broken else "passed"
    return _rule(name, status, kind, (), values, current=value, limit=bound)


_TIE = 1e-9  # a mean equal to the bound must not fail because of a rounding error
_Outcome = tuple[Status, tuple[str, ...], int | None]


def _raw(change: MetricChange, allowed: float) -> _Outcome:
    """Decide on the raw drop: the metric is deterministic, so any drop is real."""
    return ("failed" if (change.drop or 0.0) > allowed else "passed"), (), None


def _judged(change: MetricChange, allowed: float) -> _Outcome:
    """Decide by non-inferiority: the metric varies, so only a significant drop beyond the margin fails."""
    if change.low is None or change.high is None:
        return "inconclusive", ("untested",), None
    lower = use_of(change.metric).lower
    interval = Interval(-change.high, -change.low) if lower else Interval(change.low, change.high)
    difference = -(change.drop or 0.0)
    decision, needed = non_inferiority(difference, interval, n=change.n, margin=allowed)
    if decision == "inconclusive":
        return "inconclusive", ("wide", "needs" if needed else "needs_all"), needed
    return ("failed" if decision == "fail" else "passed"), (), None


def _speed(comparison: Comparison, policy: Policy) -> list[RuleResult]:
    rules = {"search_p95": policy.speed.search_p95, "cold_start": policy.speed.cold_start}
    if any(mismatch.what == "hardware" for mismatch in comparison.mismatches):
        return [
            _rule(c.name, "skipped", "other_hardware", baseline=c.baseline_ms, current=c.current_ms)
            for c in comparison.speed
        ]
    ruled = [(change, speed_rule(change, rules[change.name])) for change in comparison.speed]
    held = policy.speed.systems == "hold"
    return [
        _informational(rule, "of_system", {}) if change.of_system and not held else rule
        for change, rule in ruled
    ]


def _informational(rule: RuleResult, remark: str, values: Mapping[str, str]) -> RuleResult:
    """Return the rule as a warning at most, with the reason; an inconclusive one is skipped."""
    if rule.status not in {"failed", "inconclusive", "not-comparable"}:
        return rule
    status: Status = "skipped" if rule.status == "inconclusive" else "warned"
    remarks = tuple(r for r in rule.remarks if r not in {"more_allowed", "of_verdicts"})
    return _changed(rule, status, (*remarks, remark), values)


def speed_rule(change: SpeedChange, rule: SpeedRule) -> RuleResult:
    """Return the rule on one time."""
    before, after = change.baseline_ms, change.current_ms
    if before is None:
        why = "unmeasured" if after is None else "new"
        return _rule(change.name, "skipped", why, current=after)
    if change.of_file:
        return _rule(change.name, "failed", "speed_of_file", baseline=before, current=after)
    if after is None or (change.baseline_passes and not change.passes):
        return _rule(change.name, "failed", "speed_gone", baseline=before, current=after)
    if change.ratio is not None:
        return _normalised_rule(change, rule, change.ratio)
    limit = rule.limit_ms(before)
    # With a single pass, a busy machine may cause the rise, so it does not stop the release.
    unsure = change.name == "search_p95" and after > limit
    status: Status = "inconclusive" if unsure else "failed" if after > limit else "passed"
    remarks = ("one_pass",) if unsure else ("more_allowed",) if status == "failed" else ()
    values = {"before": f"{before:.0f}", "after": f"{after:.0f}", "limit": f"{limit:.0f}"}
    return _rule(
        change.name, status, "slower", remarks, values, baseline=before, current=after, limit=limit
    )


_WIDEST = 4.0  # largest ratio of the ends of an interval: a wider one includes both half and twice the value


def _is_slower_system(change: SpeedChange, limit: float) -> bool:
    """Return whether another system is significantly slower; its time includes a network and another machine.

    Load affects all passes of a run, which an interval over passes does not show (`benchmarks/gate_speed.py`). So the
    whole, narrow interval and the p95 must be above the limit.
    """
    low, high = change.low or 0.0, change.high or 0.0
    before, after = change.baseline_ms or 0.0, change.current_ms or 0.0
    return low > limit and high <= _WIDEST * low and after > limit * before


def _normalised_rule(change: SpeedChange, rule: SpeedRule, ratio: float) -> RuleResult:
    """Return the rule on a time measured in passes; a value within the limit passes whatever its interval."""
    n = min(change.passes, change.baseline_passes)
    limit = min(rule.ratio, 1 + rule.rise_ms / (change.query_ms or 1.0))
    known = change.low is not None and change.high is not None and n >= MIN_PAIRS
    slower = known and (change.low or 0.0) > 1
    if change.of_system:
        slower = slower and _is_slower_system(change, limit)
    within = known and ratio <= limit
    status: Status = "passed" if within else "failed" if slower else "inconclusive"
    open_for = "wide" if known else "few_passes"
    remark = {"failed": "more_allowed", "inconclusive": open_for}.get(status)
    values = {
        "ratio": f"{ratio:.2f}",
        "low": "–" if change.low is None else f"{change.low:.2f}",
        "high": "–" if change.high is None else f"{change.high:.2f}",
        "passes": str(n),
        "limit": f"{limit:.2f}",
        "before": f"{change.baseline_ms or 0:.0f}",
        "after": f"{change.current_ms or 0:.0f}",
    }
    return _rule(
        change.name,
        status,
        "normalised",
        (remark,) if remark else (),
        values,
        baseline=change.baseline_ms,
        current=change.current_ms,
        limit=limit,
        interval=(change.low, change.high),
        n=n,
    )
