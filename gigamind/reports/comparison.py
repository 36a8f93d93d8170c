"""compare.md: whether a release is worse, with which significance, and on which items."""

import functools
from collections.abc import Iterator, Mapping, Sequence

from gigamind.formats import share
from gigamind.i18n import Language, Message, Translator, _, joined, translator
from gigamind.metrics.spec import units_of
from gigamind.release.comparison import Comparison, LostItem, MetricChange, RunName
from gigamind.release.model import SnapshotHit
from gigamind.release.policy import LOST, GateResult, RuleResult, Status
from gigamind.release.shortfall import METRIC
from gigamind.reports.figures import rule_name
from gigamind.reports.release import (
    Release,
    decision_text,
    limits_text,
    other_mismatches,
    reason_texts,
    too_few,
    unmeasured_text,
    verdict_text,
)
from gigamind.reports.text import code, render

_ITEMS_SHOWN = 20
_HITS_SHOWN = 3
_BOUNDS = {"floor": "≥", "floor_gone": "≥", "ceiling": "≤", "ceiling_gone": "≤"}
_TIMES = frozenset({"search_p95", "cold_start"})


def render_comparison(comparison: Comparison, gate: GateResult, language: Language = "en") -> str:
    """Return the comparison and the verdict of the gates as Markdown."""
    say, release = translator(language), Release(comparison, gate)
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
        silent=[(say(title), say(lead), items) for title, lead, items in _silent(comparison)],
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
        what=say,
    )


def _silent(comparison: Comparison) -> Iterator[tuple[Message, Message, Sequence[LostItem]]]:
    """Yield the items that no metric includes any more: title, explanation and items."""
    yield (
        _("Items whose expected passage is no longer in its note"),
        _(
            "The expected passages of these questions were in the notes of the baseline, but are missing in this"
            " run. Rankings are still measured, but no result can show the answer. Restore the passages, or label"
            " these questions again."
        ),
        comparison.gone,
    )
    yield (
        _("Items without a verdict in this run"),
        _(
            "The baseline has a verdict for these items and this run has none, so no metric includes"
            " them. See the errors.jsonl of this run."
        ),
        comparison.unjudged,
    )
    yield (
        _("Items without a checklist result in this run"),
        _(
            "The baseline has a checklist result for these items and this run has none. See the"
            " errors.jsonl of this run."
        ),
        comparison.unchecked,
    )


def passing_notes(comparison: Comparison, gate: GateResult, say: Translator) -> list[str]:
    """Return the basis of a verdict without failures: what passed, and the limits of the comparison."""
    notes: list[str] = []
    if gate.verdict == "passed":
        text = _(
            "No metric that the release gates check got worse by more than phase {phase} allows.",
            phase=gate.phase,
        )
        notes.append(say(text))
    notes += [
        say(rule.explanation)
        for rule in gate.rules
        if rule.status == "passed" and _OTHER_ITEMS in rule.remarks
    ]
    limits = (limits_text(comparison, gate, say), unmeasured_text(gate, say))
    return [*notes, *filter(None, limits)]


_OTHER_ITEMS = "apart"  # the remark that the runs measured a metric on different items


def signed(value: float | None) -> str:
    """Return a difference with its sign; a dash if it is unknown."""
    return "–" if value is None else f"{value:+.3f}"


def _shared(comparison: Comparison, say: Translator) -> str:
    texts = [
        _(
            "In both runs: {count:,} {units}.",
            count=comparison.shared,
            units=units_of(comparison.task),
        )
    ]
    if count := comparison.only_baseline:
        texts.append(_("Items only in the baseline: {count:,}.", count=count))
    if count := comparison.only_current:
        texts.append(_("Items only in this run: {count:,}.", count=count))
    return say(joined(texts, " "))


def _version(run: RunName) -> str:
    return f"{run.app_version} {(run.git_commit or '')[:12]}".strip()


def _named(say: Translator, rule: RuleResult) -> str:
    return (
        say(_("time cost of a query, relative to a reference load"))
        if rule.why == "normalised"
        else _called(say, rule.metric)
    )


def _called(say: Translator, metric: str) -> str:
    label = rule_name(metric, say)
    return f"{label} ({metric})" if "." in metric else label


def _baseline(rule: RuleResult) -> str:
    return "1.00" if rule.why == "normalised" else _value(rule.metric, rule.baseline)


def _value(metric: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if metric in _TIMES else share(value)


def _current(rule: RuleResult) -> str:
    """Return the current value; for a judge report the lowest agreement, for passes the cost ratio."""
    if rule.why == "normalised":
        return rule.values["ratio"]
    if rule.metric != METRIC or rule.n is None:
        return _value(rule.metric, rule.current)
    ends = "" if rule.low is None else f" [{share(rule.low)}, {share(rule.high)}]"
    return f"{rule.scale}: kappa {share(rule.current)}{ends}, N = {rule.n}"


_MARKS: Mapping[Status, Message] = {
    "passed": _("✅ passed"),
    "failed": _("❌ worse"),
    "warned": _("⚠️ worse"),
    "skipped": _("– skipped"),
    "inconclusive": _("❔ inconclusive"),
    "not-comparable": _("❔ at its worst value in both runs"),
}
_MARKS_BY_REASON: Mapping[tuple[Status, str], Message] = {
    ("failed", "gone"): _("❌ no value in this run"),
    ("warned", "gone"): _("⚠️ no value in this run"),
    ("warned", "worst"): _("⚠️ at its worst value in both runs"),
    ("skipped", "unmeasured"): _("– not measured in either run"),
    ("skipped", "new"): _("– not measured in the baseline"),
    ("skipped", "other_hardware"): _("– skipped: the runs used different hardware"),
    ("skipped", "no_such_item"): _("– skipped: the checklist has no such item"),
    ("skipped", "normalised"): _("– not gated: speed of a system evaluated with --system"),
    ("skipped", "slower"): _("– not gated: speed of a system evaluated with --system"),
    ("failed", METRIC): _("❌ judge not certified"),
    ("warned", METRIC): _("⚠️ judge not certified"),
}


def _mark(say: Translator, rule: RuleResult) -> str:
    reason = METRIC if rule.metric == METRIC else rule.why
    return say(_MARKS_BY_REASON.get((rule.status, reason), _MARKS[rule.status]))


def _limit(say: Translator, rule: RuleResult) -> str:
    return "–" if rule.limit is None else _limit_of(say, rule, rule.limit)


def _limit_of(say: Translator, rule: RuleResult, limit: float) -> str:
    if rule.metric == METRIC:
        return f"≥ {share(limit)}"
    if rule.why in _BOUNDS:
        return f"{_BOUNDS[rule.why]} {limit:g}"
    if rule.why == "normalised":
        return f"≤ {limit:.2f}"
    if rule.metric in _TIMES:
        return f"{limit:,.0f} ms"
    if rule.metric in LOST:
        return say(_("largest allowed share of lost items: {limit:g}", limit=limit))
    return say(_("worse by at most {limit:g}", limit=limit))


def _interval(say: Translator, change: MetricChange) -> str:
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


def _ranking(say: Translator, hits: Sequence[SnapshotHit]) -> str:
    return ", ".join(
        f"{code(hit.note)} {share(hit.base_score)}" for hit in hits[:_HITS_SHOWN]
    ) or say(_("nothing"))
