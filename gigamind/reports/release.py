"""The section of summary.md on a run and its baseline, and the first lines of all outputs on a comparison."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gigamind.formats import signed
from gigamind.i18n import Message, Translator, _, joined, n_
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import in_order, label, metric_of
from gigamind.release.comparison import ComparedItem, Comparison, MetricChange, Mismatch, relaxation
from gigamind.release.mismatch import WHAT
from gigamind.release.policy import GateResult, GateVerdict
from gigamind.reports.figures import Figure, Part, figures_of, measured, metric_name
from gigamind.reports.text import inline, render
from gigamind.reports.verdict import Release
from gigamind.stats.special import beta_quantile

_SHOWN = 5
_REASONS = 8
_UNGATED = 4


DECISIONS: Mapping[GateVerdict, Message] = {
    "passed": _("Ready to release: no gate failed"),
    "failed": _("Do not release"),
    "warned": _("Ready to release, with warnings"),
    "inconclusive": _("Inconclusive: the results do not allow a decision"),
    "not-comparable": _("No decision: the runs are not comparable"),
}
GATES: Mapping[GateVerdict, Message] = {
    "passed": _("Release gate passed"),
    "failed": _("Release gate failed"),
    "inconclusive": _("Release gate inconclusive"),
    "warned": _("Release gate passed with warnings"),
    "not-comparable": _("Release gate undecided: the runs are not comparable"),
}
TASKS: Mapping[str, Message] = {
    "search": _("Search evaluation"),
    "links": _("Link evaluation"),
    "answers": _("Answer evaluation"),
}


def decision_text(release: Release, say: Translator) -> str:
    """Return whether to release, and how many items got worse."""
    if release.gate.is_refused:
        return f"{say(DECISIONS['not-comparable'])}."
    sentence = say(DECISIONS[plain_verdict(release)])
    return f"{sentence}. {items_text(release.comparison, say)}"


def plain_verdict(release: Release) -> GateVerdict:
    """Return the verdict for readers: "warned" if the gates passed but an ungated metric got significantly worse."""
    verdict = release.gate.verdict
    return "warned" if verdict == "passed" and _ungated(release) else verdict


def items_text(comparison: Comparison, say: Translator) -> str:
    """Return how many items are lost, worse and better, and the slice that has all worse ones."""
    counts = Counter(change.change for change in comparison.changes)
    silent, gone = len(comparison.unjudged), len(comparison.lost)
    unchanged = not counts["worse"] and not counts["improved"]
    values = {
        "shared": comparison.shared - (silent if unchanged else 0),
        "units": units_of(comparison.task),
        "worse": counts["worse"],
        "improved": counts["improved"],
    }
    if unchanged:
        changed = _("All {shared} {units} have the same result in both runs.", **values)
    elif not counts["worse"]:
        changed = _("{improved} of {shared} {units} got better, and none got worse.", **values)
    elif comparison.worse_in is None and not counts["improved"]:
        changed = _("{worse} of {shared} {units} got worse, and none got better.", **values)
    elif comparison.worse_in is None:
        changed = _("{worse} of {shared} {units} got worse, and {improved} got better.", **values)
    else:
        changed = _(
            "{worse} of {shared} {units} got worse (all in the slice “{part}”), and {improved} got better.",
            part=slice_name(*comparison.worse_in),
            **values,
        )
    texts = [changed]
    if gone:
        lost = _(
            "This run could not evaluate {count} {units} of the baseline.", count=gone, **values
        )
        texts.insert(0, lost)
    if silent:
        texts.append(
            _(
                "{count} {units} with a verdict in the baseline have no verdict in this run.",
                count=silent,
                **values,
            )
        )
    return say(joined(texts, " "))


def slice_name(kind: str, key: str) -> Message:
    """Return the label of a slice of the items."""
    match kind:
        case "language":
            return _("language: {key}", key=key)
        case "cross_lingual":
            return _("cross-lingual (query and note in different languages)")
        case "difficulty":
            return _("difficulty: {key}", key=key)
        case "tag":
            return _("tag: {key}", key=key)
        case _overall:
            return _("all queries")


def limits_text(comparison: Comparison, gate: GateResult, say: Translator) -> str:
    """Return what a passed gate could have missed; "" if that is less than a gate allows.

    The limit is the one-sided 95 % limit of Clopper and Pearson (Biometrika 26(4), 1934): 0.21 for 0 of 13 items.
    """
    n, worse = comparison.shared, sum(change.change == "worse" for change in comparison.changes)
    limits = [rule.limit for rule in gate.rules if rule.why == "drop" and rule.limit is not None]
    if gate.verdict not in {"passed", "warned"} or not limits or worse >= n:
        return ""
    most = beta_quantile(0.95, worse + 1, n - worse)
    if most <= max(limits):
        return ""
    sentence = _(
        "{worse} of {n} {units} got worse, but the true share could be as high as {most:.1%} (95% confidence)."
        " Evaluate more {units} to detect smaller changes.",
        n=n,
        units=units_of(comparison.task),
        worse=worse,
        most=most,
    )
    single = _(
        "With {n} items, a single item can lower a metric by {weight:.1%}, which is more than the allowed drop of"
        " {limit:.1%}.",
        n=n,
        weight=1 / n,
        limit=min(limits),
    )
    return say(joined([sentence, single], " ") if 1 / n > min(limits) else sentence)


def verdict_text(release: Release, say: Translator) -> str:
    """Return the verdict; if the gates passed, also the ungated metrics that got significantly worse."""
    texts = (say(GATES[release.gate.verdict]), ungated_text(release, say))
    return " – ".join(filter(None, texts))


def ungated_text(release: Release, say: Translator) -> str:
    """Return the ungated metrics that got significantly worse, if the gates passed; "" if there are none."""
    changes = _ungated(release)
    if not changes:
        return ""
    metrics = [metric_name(change.metric, say) for change in changes[:_UNGATED]]
    if len(changes) > _UNGATED:
        metrics.append("…")
    text = n_(
        "{n} metric without a gate got significantly worse: {metrics}",
        "{n} metrics without a gate got significantly worse: {metrics}",
        n=len(changes),
        metrics=metrics,
    )
    return say(text)


def _ungated(release: Release) -> list[MetricChange]:
    comparison, gate = release
    if gate.verdict not in {"passed", "warned"}:
        return []
    gated = {rule.metric for rule in gate.rules}
    changes = comparison.metrics
    return [entry for entry in changes if entry.is_better is False and entry.metric not in gated]


def unmeasured_text(gate: GateResult, say: Translator) -> str:
    """Return the gated metrics without a value; "" if there are none."""
    rules = (rule for rule in gate.rules if rule.status == "skipped" and metric_of(rule.metric))
    metrics = [metric_name(rule.metric, say) for rule in rules]
    return (
        say(
            _(
                "The release gates did not check these metrics, because they were not measured: {metrics}.",
                metrics=metrics,
            )
        )
        if metrics
        else ""
    )


def worst_value_text(worst: Sequence[str], say: Translator) -> str:
    """Return the warning that these gated metrics of a baseline are at their worst value, and how to fix it."""
    if all(name.startswith("unanswerable.") for name in worst):
        fix = _(
            "Evaluate again with `gigamind eval search ... --unanswerable-mode calibrated` and make that run the"
            " baseline. Before that, check the false refusals in its summary.md: this mode wrongly refuses many"
            " paraphrased questions."
        )
    else:
        fix = _(
            "Make a better run the baseline, or set an absolute limit in gates.toml: a minimum under [floors] or a"
            " maximum under [ceilings]."
        )
    text = _(
        "warning: the baseline already has the worst possible value of {metrics}, so the gate cannot detect a"
        " regression. A later run that is no better passes with a warning only in phases where `at_worst` in"
        " gates.toml allows this. In other phases, such runs are not comparable. {fix}",
        metrics=[metric_name(name, say) for name in worst],
        fix=fix,
    )
    return say(text)


def release_section(release: Release, say: Translator) -> str:
    """Return the verdict with its reasons, the significant changes of metrics, and the changed items."""
    comparison, gate = release
    return render(
        "release.md.jinja",
        say=say,
        gate=gate,
        verdict=verdict_text(release, say),
        items=items_text(comparison, say),
        reasons=reason_texts(gate, comparison, say),
        most_reasons=_REASONS,
        moved=list(_moved(comparison)),
        label=label,
        signed=signed,
        what=say,
        ways=_WAYS,
        items_by_kind=items_by_kind(comparison),
        shown=_SHOWN,
    )


def items_by_kind(comparison: Comparison) -> list[tuple[str, Sequence[ComparedItem]]]:
    """Return the items with another result: "lost", "worse" and "improved" ones, in this order."""
    changes = comparison.changes
    return [
        ("lost", comparison.lost),
        *((kind, [c for c in changes if c.change == kind]) for kind in ("worse", "improved")),
    ]


def reason_texts(gate: GateResult, comparison: Comparison | None, say: Translator) -> list[str]:
    """Return the reasons of a verdict, followed by the limits of a judge that compares words."""
    limits = judge_limits(comparison, say) if comparison and not gate.is_refused else []
    return [*map(say, gate.reasons), *limits]


def deciding_reasons(release: Release, say: Translator) -> list[str]:
    """Return the reasons that decided, without relaxed differences and the limits of the judge."""
    comparison, gate = release
    differing = relaxed(gate, comparison)
    others: set[str] = {
        relaxation(entry, entry.relaxed_by) for entry in differing if entry.relaxed_by
    }
    return [say(reason) for reason in gate.reasons if reason not in others]


def judge_limits(comparison: Comparison, say: Translator) -> list[str]:
    """Return the limits of a judge that compares words; none for other judges."""
    return [say(WORDS_BLIND)] if comparison.by_words else []


WORDS_BLIND = _(
    "The judge compares words, not meaning. It counts a claim as not found if it is paraphrased or in another"
    " language than the note. It may miss changes of word order, tense, obligation or limit."
)


def missed_bounds(bounds: GateResult | None, say: Translator) -> list[str]:
    """Return the floors and ceilings that a run misses."""
    rules = bounds.rules if bounds else ()
    return [say(rule.explanation) for rule in rules if rule.status in {"failed", "warned"}]


def bounds_decision(bounds: GateResult, say: Translator) -> str:
    """Return whether to release a run without a baseline, and how many floors and ceilings it misses."""
    missed, count = len(missed_bounds(bounds, say)), len(bounds.rules)
    if not missed:
        return say(
            _("The run meets all {count} absolute limits (floors and ceilings).", count=count)
        )
    text = _(
        "{missed} of {count} absolute limits (floors and ceilings in gates.toml) are not met.",
        missed=missed,
        count=count,
    )
    return f"{say(DECISIONS[bounds.verdict])}. {say(text)}"


def relaxed(gate: GateResult, comparison: Comparison) -> list[Mismatch]:
    """Return the differences of the runs that the policy allows; the reasons name them."""
    return [mismatch for mismatch in comparison.mismatches if mismatch.relaxed_by in gate.relaxed]


def relaxed_texts(release: Release | None, say: Translator) -> list[str]:
    """Return the meaning of the relaxed differences, which the reasons name already."""
    if release is None:
        return []
    comparison, gate = release
    return [say(mismatch.meaning) for mismatch in relaxed(gate, comparison)]


def other_mismatches(
    gate: GateResult, comparison: Comparison, say: Translator
) -> list[tuple[str, str]]:
    """Return the differences of the runs that are not among the reasons, each with its meaning."""
    return [
        (say(WHAT.get(mismatch.what, mismatch.what)), say(mismatch.meaning))
        for mismatch in comparison.mismatches
        if mismatch.meaning not in gate.reasons and mismatch.relaxed_by not in gate.relaxed
    ]


def _moved(comparison: Comparison) -> Iterator[tuple[MetricChange, str]]:
    """Yield the metrics that changed significantly or are missing in the current run: missing, worse, better."""
    ways = [(change, _way(change)) for change in comparison.metrics]
    for wanted in ("gone", "worse", "improved"):
        yield from ((change, wanted) for change, way in ways if way == wanted)


_WAYS = {
    "gone": _("missing"),
    "worse": _("significantly worse"),
    "improved": _("significantly better"),
}


def _way(change: MetricChange) -> str:
    if change.baseline is not None and change.current is None:
        return "gone"
    return {True: "improved", False: "worse", None: ""}[change.is_better]


def with_section(summary: str, release: Release, say: Translator) -> str:
    """Return summary.md with the decision in its first line, and the comparison before its first section."""
    head, mark, rest = _decided(summary, decision_text(release, say)).partition("\n## ")
    section = release_section(release, say).rstrip()
    return f"{head}\n{section}\n{mark}{rest}"


def with_bounds(summary: str, bounds: GateResult, say: Translator) -> str:
    """Return summary.md with the decision on a run without a baseline, and the bounds it misses, in front."""
    return _decided(summary, bounds_decision(bounds, say), missed_bounds(bounds, say))


def _decided(summary: str, decision: str, reasons: Sequence[str] = ()) -> str:
    title, _break, text = summary.partition("\n")
    listed = "".join(f"\n- {inline(reason)}" for reason in reasons)
    first = f"**{inline(decision)}**\n{listed}\n" if listed else f"**{inline(decision)}**\n"
    return f"{title}\n\n{first}{text}"


def main_figures(part: Part) -> list[Figure]:
    """Return the main metrics of a run at the deepest cut-off; all metrics of a team's own judge."""
    figures = measured(figures_of(part, in_order(list(part.intervals))))
    main = main_keys([figure.key for figure in figures])
    return [figure for figure in figures if figure.key in main]


def main_keys(keys: Sequence[str]) -> list[str]:
    """Return the main metrics among these names, in the table's order; all of them if none is a main one."""
    ordered = in_order(keys)
    chosen: dict[str, str] = {}
    for key in ordered:
        metric = metric_of(key)
        if metric and metric.use.main and not (metric.use.first and metric.key in chosen):
            chosen[metric.key] = key
    return list(chosen.values()) or ordered


def too_few(change: MetricChange, say: Translator) -> str:
    """Return that too few items changed for a CI; "" if there is another reason for its absence, or a CI."""
    if change.low is None or not change.changed or change.interval is not None:
        return ""
    return say(
        n_(
            "{n} changed items are too few for a CI",
            "{n} changed items are too few for a CI",
            n=change.changed,
        )
    )
