"""compare.md: is this release worse, how sure is that, and which items broke."""

import functools
from collections.abc import Sequence

from gigamind.release.comparison import Comparison, MetricChange, RunName
from gigamind.release.model import SnapshotHit
from gigamind.release.policy import LOST, GateResult, RuleResult
from gigamind.release.shortfall import METRIC, number
from gigamind.reports.figures import rule_name
from gigamind.reports.release import (
    Release,
    decision_text,
    other_mismatches,
    reason_texts,
    too_few,
    unmeasured_text,
    limits_text,
    verdict_text,
)
from gigamind.reports.text import code, render
from gigamind.wording import Language, Words, change_in, share, words

_ITEMS_SHOWN = 20
_HITS_SHOWN = 3
_BOUNDS = {"floor": "≥", "floor_gone": "≥", "ceiling": "≤", "ceiling_gone": "≤"}
_TIMES = frozenset({"search_p95", "cold_start"})


def render_comparison(comparison: Comparison, gate: GateResult, language: Language = "en") -> str:
    """The comparison and the gates' verdict as Markdown."""
    say, release = words(language), Release(comparison, gate)
    return render(
        "compare.md.jinja",
        say=say,
        comparison=comparison,
        gate=gate,
        title=decision_text(release, say),
        verdict=verdict_text(release, say),
        reasons=[*reason_texts(gate, comparison, say), *passing_notes(comparison, gate, say)],
        mismatches=other_mismatches(gate, comparison, say),
        shared=_shared(comparison, say),
        shown=_ITEMS_SHOWN,
        version=_version,
        baseline=_baseline,
        current=_current,
        silent=(
            ("gone", comparison.gone),
            ("unjudged", comparison.unjudged),
            ("unchecked", comparison.unchecked),
        ),
        figure=share,
        signed=signed,
        p=_p,
        notes=_notes,
        named=functools.partial(_named, say),
        called=functools.partial(_called, say),
        mark=functools.partial(_mark, say),
        limit=functools.partial(_limit, say),
        interval=functools.partial(_interval, say),
        ranking=functools.partial(_ranking, say),
        what=functools.partial(change_in, language),
    )


def passing_notes(comparison: Comparison, gate: GateResult, say: Words) -> list[str]:
    """What a verdict that names no failure rests on, what it could not have seen, and what no gate could hold."""
    passed = [say(_("No gated metric dropped more than phase {phase} allows.", phase=gate.phase))] if gate.verdict == "passed" else []
    apart = [
        rule.told(say) for rule in gate.rules if rule.status == "passed" and _APART in rule.remarks
    ]
    rest = (limits_text(comparison, gate, say), unmeasured_text(gate, say))
    return [*passed, *apart, *filter(None, rest)]


_APART = "apart"  # of a figure that the runs measured on other items: N is told


def signed(value: float | None) -> str:
    """A difference with its sign; a dash where it is unknown."""
    return "–" if value is None else f"{value:+.3f}"


def _shared(comparison: Comparison, say: Words) -> str:
    counts = {"baseline": comparison.only_baseline, "current": comparison.only_current}
    alone = ", ".join(
        say(f"compare.only_{name}", count=count) for name, count in counts.items() if count
    )
    return say(_("{count} {units} in both runs{alone}.", count=comparison.shared, units=say(f"units.{comparison.task}"), alone=say("compare.alone", what=alone) if alone else ""))

def _version(run: RunName) -> str:
    return f"{run.app_version} {(run.git_commit or '')[:12]}".strip()


def _named(say: Words, rule: RuleResult) -> str:
    """The metric; of a time that passes hold, what they hold, for the p95 beside it holds nothing."""
    return say(_("cost of a query (units of a reference load)")) if rule.why == "normalised" else _called(say, rule.metric)


def _called(say: Words, metric: str) -> str:
    """By its name, as compare.json and gates.toml have it; in Korean by its label."""
    return metric if say.language == "en" else rule_name(metric, say)


def _baseline(rule: RuleResult) -> str:
    return "1.00" if rule.why == "normalised" else _value(rule.metric, rule.baseline)


def _value(metric: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if metric in _TIMES else share(value)


def _current(rule: RuleResult) -> str:
    """Of a judge card the agreement where it could be lowest, with its interval and labels; of passes, the ratio."""
    if rule.why == "normalised":
        return rule.values["ratio"]
    if rule.metric != METRIC or rule.n is None:
        return _value(rule.metric, rule.current)
    ends = "" if rule.low is None else f" [{number(rule.low)}, {number(rule.high)}]"
    return f"{rule.scale}: kappa {number(rule.current)}{ends}, N = {rule.n}"


def _mark(say: Words, rule: RuleResult) -> str:
    of_card, why = f"compare.card_{rule.status}", f"compare.{rule.status}_{rule.why}"
    if rule.metric == METRIC and say.knows(of_card):
        return say(of_card)
    return say(why if say.knows(why) else f"compare.mark_{rule.status}")


def _limit(say: Words, rule: RuleResult) -> str:
    if rule.limit is None:
        return "–"
    if rule.metric == METRIC:
        return f"≥ {number(rule.limit)}"
    if rule.why in _BOUNDS:
        return f"{_BOUNDS[rule.why]} {rule.limit:g}"
    if rule.why == "normalised":
        return f"≤ {rule.limit:.2f}"
    if rule.metric in _TIMES:
        return f"{rule.limit:,.0f} ms"
    key = "compare.limit_lost" if rule.metric in LOST else "compare.limit_worse"
    return say(key, limit=f"{rule.limit:g}")


def _interval(say: Words, change: MetricChange) -> str:
    if change.interval is None:
        return too_few(change, say) or "–"
    low, high = change.interval
    return f"{signed(low)} – {signed(high)}"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004


def _notes(paths: Sequence[str]) -> str:
    return ", ".join(code(path) for path in paths)


def _ranking(say: Words, hits: Sequence[SnapshotHit]) -> str:
    return ", ".join(
        f"{code(hit.note)} {share(hit.base_score)}" for hit in hits[:_HITS_SHOWN]
    ) or say(_("nothing"))
