"""compare.md: is this release worse, how sure is that, and which items broke."""

import functools
from collections.abc import Sequence

from gigamind.release.compare import Comparison, MetricChange, RunName
from gigamind.release.gates import LOST
from gigamind.release.model import SnapshotHit
from gigamind.release.policy import GateResult, RuleResult
from gigamind.release.shortfall import METRIC, number
from gigamind.reports.release import mismatch_told, reasons_told
from gigamind.reports.text import code, render
from gigamind.wording import Language, Words, change_in, share, words

_ITEMS_SHOWN = 20
_HITS_SHOWN = 3
_BOUNDS = {"floor": "≥", "floor_gone": "≥", "ceiling": "≤", "ceiling_gone": "≤"}
_TIMES = frozenset({"search_p95", "cold_start"})


def render_comparison(comparison: Comparison, gate: GateResult, language: Language = "en") -> str:
    """The comparison and the gates' verdict as Markdown."""
    say = words(language)
    return render(
        "compare.md.jinja",
        say=say,
        comparison=comparison,
        gate=gate,
        title=say(f"compare.title_{gate.verdict}"),
        headline=headline(comparison, gate, say),
        mismatches=mismatches_told(comparison, say),
        shared=_shared(comparison, say),
        silent=(("unjudged", comparison.unjudged), ("unchecked", comparison.unchecked)),
        shown=_ITEMS_SHOWN,
        version=_version,
        value=_value,
        current=_current,
        mark=functools.partial(_mark, say),
        limit=functools.partial(_limit, say),
        figure=share,
        signed=signed,
        interval=_interval,
        p=_p,
        notes=_notes,
        ranking=functools.partial(_ranking, say),
        what=functools.partial(change_in, language),
    )


def headline(comparison: Comparison, gate: GateResult, say: Words) -> str:
    """The verdict in one or two sentences."""
    worse = sum(change.change == "worse" for change in comparison.changes)
    items = say(
        "compare.items",
        worse=worse,
        better=len(comparison.changes) - worse,
        shared=comparison.shared,
        units=say(f"units.{comparison.task}"),
    )
    reasons = reasons_told(gate, comparison, say)
    if gate.verdict == "passed":
        told = say("compare.none_worse", phase=gate.phase, items=items)
        return " ".join([told, *reasons])
    if gate.is_refused:
        return " ".join(reasons)
    return f"{' '.join(reasons)} {items}"


def mismatches_told(comparison: Comparison, say: Words) -> list[tuple[str, str]]:
    """In what the runs differ, each with what that means."""
    if say.language == "en":
        return [(one.what, one.meaning) for one in comparison.mismatches]
    return [
        (_named(one.what, say), mismatch_told(one, comparison.task, say))
        for one in comparison.mismatches
    ]


def _named(what: str, say: Words) -> str:
    key = f"what.{what.replace(' ', '_')}"
    return say(key) if say.knows(key) else what


def signed(value: float | None) -> str:
    """A difference with its sign; a dash where it is unknown."""
    return "–" if value is None else f"{value:+.3f}"


def _shared(comparison: Comparison, say: Words) -> str:
    counts = {"baseline": comparison.only_baseline, "current": comparison.only_current}
    alone = ", ".join(
        say(f"compare.only_{name}", count=count) for name, count in counts.items() if count
    )
    return say(
        "compare.shared",
        count=comparison.shared,
        units=say(f"units.{comparison.task}"),
        alone=say("compare.alone", what=alone) if alone else "",
    )


def _version(run: RunName) -> str:
    return f"{run.app_version} {(run.git_commit or '')[:12]}".strip()


def _value(metric: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if metric in _TIMES else share(value)


def _current(rule: RuleResult) -> str:
    """Of a judge card the agreement where it could be lowest, with its interval and labels."""
    if rule.metric != METRIC or rule.n is None:
        return _value(rule.metric, rule.current)
    ends = "" if rule.low is None else f" [{number(rule.low)}, {number(rule.high)}]"
    return f"{rule.scale}: kappa {number(rule.current)}{ends}, N = {rule.n}"


def _mark(say: Words, rule: RuleResult) -> str:
    of_card = f"compare.card_{rule.status}"
    is_card = rule.metric == METRIC and say.knows(of_card)
    return say(of_card if is_card else f"compare.mark_{rule.status}")


def _limit(say: Words, rule: RuleResult) -> str:
    if rule.limit is None:
        return "–"
    if rule.metric == METRIC:
        return f"≥ {number(rule.limit)}"
    if rule.why in _BOUNDS:
        return f"{_BOUNDS[rule.why]} {rule.limit:g}"
    if rule.why == "normalised":
        return f"× {rule.limit:.2f}"
    if rule.metric in _TIMES:
        return f"{rule.limit:,.0f} ms"
    key = "compare.limit_lost" if rule.metric in LOST else "compare.limit_worse"
    return say(key, limit=f"{rule.limit:g}")


def _interval(change: MetricChange) -> str:
    if change.low is None or change.high is None:
        return "–"
    return f"{signed(change.low)} – {signed(change.high)}"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004


def _notes(paths: Sequence[str]) -> str:
    return ", ".join(code(path) for path in paths)


def _ranking(say: Words, hits: Sequence[SnapshotHit]) -> str:
    return ", ".join(
        f"{code(hit.note)} {share(hit.base_score)}" for hit in hits[:_HITS_SHOWN]
    ) or say("summary.nothing")
