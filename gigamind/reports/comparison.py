"""compare.md: is this release worse, how sure is that, and which items broke."""

from collections.abc import Sequence

from gigamind.metrics.spec import units_of
from gigamind.release.compare import Comparison, MetricChange, RunName
from gigamind.release.gates import LOST
from gigamind.release.model import SnapshotHit
from gigamind.release.policy import GateResult, RuleResult
from gigamind.release.shortfall import METRIC, number
from gigamind.reports.text import code, render
from gigamind.wording import share

_ITEMS_SHOWN = 20
_HITS_SHOWN = 3
_TITLES = {
    "passed": "Release gate: passed",
    "failed": "Release gate: FAILED",
    "warned": "Release gate: passed with warnings",
    "inconclusive": "Release gate: inconclusive",
    "not-comparable": "Release gate: not comparable",
}
_MARKS = {
    "passed": "✅ ok",
    "failed": "❌ worse",
    "warned": "⚠️ worse",
    "skipped": "– skipped",
    "inconclusive": "❔ open",
    "not-comparable": "❔ no baseline",
}
_CARD_MARKS = {"failed": "❌ not certified", "warned": "⚠️ not certified"}
_LOST_VERDICTS = (
    "The baseline has a verdict on these, the current run has none, and no figure counts them."
)
_LOST_CHECKS = "The checklist decided about these in the baseline and not in the current run."
_BOUNDS = {"floor": "≥", "floor_gone": "≥", "ceiling": "≤", "ceiling_gone": "≤"}
_TIMES = frozenset({"search_p95", "cold_start"})


def render_comparison(comparison: Comparison, gate: GateResult) -> str:
    """The comparison and the gates' verdict as Markdown."""
    return render(
        "compare.md.jinja",
        comparison=comparison,
        gate=gate,
        title=_TITLES[gate.verdict],
        headline=headline(comparison, gate),
        shared=_shared(comparison),
        silent=(
            ("No verdict any more", _LOST_VERDICTS, comparison.unjudged),
            ("Not checked any more", _LOST_CHECKS, comparison.unchecked),
        ),
        shown=_ITEMS_SHOWN,
        version=_version,
        value=_value,
        current=_current,
        mark=_mark,
        limit=_limit,
        figure=share,
        signed=signed,
        interval=_interval,
        p=_p,
        notes=_notes,
        ranking=_ranking,
    )


def headline(comparison: Comparison, gate: GateResult) -> str:
    """The verdict in one or two sentences."""
    worse = sum(change.change == "worse" for change in comparison.changes)
    better = len(comparison.changes) - worse
    items = f"{worse} of {comparison.shared} shared {units_of(comparison.task)} got worse, {better} better."
    if gate.verdict == "passed":
        told = f"No metric is worse than the gates of phase {gate.phase} allow. {items}"
        return " ".join([told, *gate.reasons])
    if gate.is_refused:
        return " ".join(gate.reasons)
    return f"{' '.join(gate.reasons)} {items}"


def signed(value: float | None) -> str:
    """A difference with its sign; a dash where it is unknown."""
    return "–" if value is None else f"{value:+.3f}"


def _shared(comparison: Comparison) -> str:
    alone = [
        f"{count} only in the {name}"
        for count, name in (
            (comparison.only_baseline, "baseline"),
            (comparison.only_current, "current run"),
        )
        if count
    ]
    return f"{comparison.shared} {units_of(comparison.task)} in both runs" + (
        f" ({', '.join(alone)})." if alone else "."
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


def _mark(rule: RuleResult) -> str:
    told = _CARD_MARKS if rule.metric == METRIC else {}
    return told.get(rule.status, _MARKS[rule.status])


def _limit(rule: RuleResult) -> str:
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
    return f"{rule.limit:g} {'lost' if rule.metric in LOST else 'worse'}"


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


def _ranking(hits: Sequence[SnapshotHit]) -> str:
    return (
        ", ".join(f"{code(hit.note)} {share(hit.base_score)}" for hit in hits[:_HITS_SHOWN])
        or "nothing"
    )
