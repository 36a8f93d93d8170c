"""What summary.md says of a run beside its baseline, in English or Korean.

And what all outputs say first of a comparison: whether to release, how many items got worse, and the verdict.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gigamind.messages import message_in
from gigamind.metrics.table import in_order, label, metric_of
from gigamind.release.comparison import ComparedItem, Comparison, MetricChange, Mismatch, relaxation
from gigamind.release.policy import GateResult, GateVerdict
from gigamind.reports.figures import Figure, Part, figures_of, measured, metric_name
from gigamind.reports.text import inline, render
from gigamind.stats.special import beta_quantile
from gigamind.wording import Words, change_in, signed, words

_SHOWN = 5
_REASONS = 8
_UNGATED = 4


class Release(NamedTuple):
    """A comparison and what the gates say of it."""

    comparison: Comparison
    gate: GateResult


def decision_told(release: Release, say: Words) -> str:
    """Whether to release, and how many items got worse, in plain words."""
    if release.gate.is_refused:
        return f"{say(_("Not comparable"))}."
    sentence = say(f"decision.{plain_verdict(release)}")
    return f"{sentence}. {items_told(release.comparison, say)}"


def plain_verdict(release: Release) -> GateVerdict:
    """The verdict as people must read it: with warnings, where gates that passed hold nothing of what got worse."""
    verdict = release.gate.verdict
    return "warned" if verdict == "passed" and _ungated(release) else verdict


def items_told(comparison: Comparison, say: Words) -> str:
    """How many items are lost, how many got worse and how many better, and in which slice alone they got worse."""
    counts = Counter(change.change for change in comparison.changes)
    ways = [way for way in ("worse", "improved") if counts[way]]
    silent = len(comparison.unjudged)
    units = say(f"units.{comparison.task}")
    sentence = say(
        f"decision.items_{'both' if len(ways) > 1 else ways[0] if ways else 'alike'}",
        shared=comparison.shared - (0 if ways else silent),
        units=units,
        worse=counts["worse"],
        improved=counts["improved"],
        all_in=_all_in(comparison, say),
    )
    gone = len(comparison.lost)
    lost = say(_("{count} of the baseline's {units} could not be evaluated.", count=gone, units=units)) if gone else ""
    unjudged = say(_("{count} of the {units} had a verdict and have none now.", count=silent, units=units)) if silent else ""
    return " ".join(filter(None, (lost, sentence, unjudged)))


def unseen_told(comparison: Comparison, gate: GateResult, say: Words) -> str:
    """What a pass could not have seen; "" where so many items were compared that it is less than a gate allows.

    Of n items of which k got worse, the share of all such items that is worse is below the one-sided 95 % limit of
    Clopper and Pearson (Biometrika 26(4), 1934): with no item worse and n = 13 that is 0.21.
    """
    n, worse = comparison.shared, sum(change.change == "worse" for change in comparison.changes)
    limits = [rule.limit for rule in gate.rules if rule.why == "drop" and rule.limit is not None]
    if gate.verdict not in {"passed", "warned"} or not limits or worse >= n:
        return ""
    most = beta_quantile(0.95, worse + 1, n - worse)
    if most <= max(limits):
        return ""
    units = say(f"units.{comparison.task}")
    sentence = say(_("Limits: {worse} of {n} {units} got worse; the true rate could be as high as {most} " "(95% confidence). More {units} show smaller changes.", n=n, units=units, worse=worse, most=f"{most:.2f}"))
    single = say(_("With {n} items, one worse item ({weight}) already exceeds the allowed drop ({limit}).", weight=f"{1 / n:.2f}", limit=f"{min(limits):g}"))
    return f"{sentence} {single}" if 1 / n > min(limits) else sentence


def _all_in(comparison: Comparison, say: Words) -> str:
    if comparison.worse_in is None:
        return ""
    kind, key = comparison.worse_in
    own = f"decision.slice_{kind}_{key}"
    part = say(own) if say.knows(own) else say(f"page.kind_{kind}", key=key)
    return say(_(" (all {part})", part=part))


def verdict_told(release: Release, say: Words) -> str:
    """The verdict, and by name what surely got worse that no gate holds, where the gates passed."""
    return " – ".join(
        filter(None, (say(f"gate.{release.gate.verdict}"), ungated_told(release, say)))
    )


def ungated_told(release: Release, say: Words) -> str:
    """What surely got worse and no gate holds, where the gates passed; "" where nothing did."""
    changes = _ungated(release)
    if not changes:
        return ""
    named = [metric_name(change.metric, say) for change in changes[:_UNGATED]]
    metrics = ", ".join([*named, "…"] if len(changes) > _UNGATED else named)
    return say(n_("{n} ungated metric got worse: {metrics}", "{n} ungated metrics got worse: {metrics}", n=len(changes), metrics=metrics))


def _ungated(release: Release) -> list[MetricChange]:
    comparison, gate = release
    if gate.verdict not in {"passed", "warned"}:
        return []
    held = {rule.metric for rule in gate.rules}
    changes = comparison.metrics
    return [change for change in changes if change.is_better is False and change.metric not in held]


def unheld_told(gate: GateResult, say: Words) -> str:
    """The metrics that a gate was to hold and nobody measured; "" where there are none."""
    rules = (rule for rule in gate.rules if rule.status == "skipped" and metric_of(rule.metric))
    metrics = ", ".join(metric_name(rule.metric, say) for rule in rules)
    return say(_("Not measured, so not gated: {metrics}.", metrics=metrics)) if metrics else ""


def no_verdict_told(worst: Sequence[str], say: Words) -> str:
    """That a baseline gives no verdict, for it has these gated metrics at their worst, and what to type."""
    of_verdicts = all(name.startswith("unanswerable.") for name in worst)
    mend = say(f"terminal.at_worst_{'verdicts' if of_verdicts else 'bounds'}")
    metrics = ", ".join(metric_name(name, say) for name in worst)
    return say(_("warning: already at the worst value: {metrics}. The gate cannot detect a regression " "from this baseline. A run that is no better passes with warnings where `at_worst` in " "gates.toml says so; elsewhere the runs are not comparable. {fix}", metrics=metrics))


def release_section(release: Release, say: Words) -> str:
    """The verdict with its reasons, the metrics that surely moved or are gone, and the items that ended otherwise."""
    comparison, gate = release
    return render(
        "release.md.jinja",
        say=say,
        gate=gate,
        verdict=verdict_told(release, say),
        items=items_told(comparison, say),
        reasons=reasons_told(gate, comparison, say),
        most_reasons=_REASONS,
        moved=list(_moved(comparison)),
        label=label,
        signed=signed,
        what=functools.partial(change_in, say.language),
        items_by_kind=items_by_kind(comparison),
        shown=_SHOWN,
    )


def items_by_kind(comparison: Comparison) -> list[tuple[str, Sequence[ComparedItem]]]:
    """The items that ended otherwise: "lost", "worse" and "improved" ones, in this order."""
    changes = comparison.changes
    return [
        ("lost", comparison.lost),
        *((kind, [c for c in changes if c.change == kind]) for kind in ("worse", "improved")),
    ]


def reasons_told(gate: GateResult, comparison: Comparison | None, say: Words) -> list[str]:
    """The reasons of a verdict in the language of the phrases; what has none there stays as it is.

    Behind them what its judge cannot see, where that sees words alone.
    """
    blind = blind_told(comparison, say) if comparison and not gate.is_refused else []
    if say.language == "en":
        return [*gate.reasons, *blind]
    translations = {rule.explanation: rule.told(say) for rule in gate.rules}
    if comparison:
        translations |= {
            mismatch.meaning: mismatch_told(mismatch, comparison.task, say)
            for mismatch in comparison.mismatches
        }
        translations |= {
            relaxation(mismatch, words("en")): relaxation(mismatch, say)
            for mismatch in relaxed(gate, comparison)
        }
    translations[words("en")("rule.no_shared")] = say(_("The runs share no item. A new baseline is needed."))
    return [*(translations.get(reason, reason) for reason in gate.reasons), *blind]


def deciding_told(release: Release, say: Words) -> list[str]:
    """The reasons that decided alone, without what else there is to mind: what was relaxed, what a judge cannot see."""
    comparison, gate = release
    told = reasons_told(gate, comparison, say)
    minded = {relaxation(mismatch, say) for mismatch in relaxed(gate, comparison)}
    minded |= {*blind_told(comparison, say)}
    return [reason for reason in told if reason not in minded]


def blind_told(comparison: Comparison, say: Words) -> list[str]:
    """What the judge of a comparison cannot see, where that sees words alone."""
    return [say(_("The judge compares words, not meaning. It counts paraphrased claims, and claims in " "another language than the note, as not found. It may miss a changed order, tense, " "obligation or limit."))] if comparison.by_words else []


def bounds_told(bounds: GateResult | None, say: Words) -> list[str]:
    """The floors and ceilings that a run misses."""
    rules = bounds.rules if bounds else ()
    return [rule.told(say) for rule in rules if rule.status in {"failed", "warned"}]


def bounds_decision(bounds: GateResult, say: Words) -> str:
    """Whether to release a run that is compared with nothing, and how many floors and ceilings it misses."""
    missed, count = len(bounds_told(bounds, say)), len(bounds.rules)
    if not missed:
        return say(_("All {count} floors and ceilings are met.", count=count))
    told = say(_("{missed} of {count} floors and ceilings are not met.", missed=missed, count=count))
    return f"{say(f'decision.{bounds.verdict}')}. {told}"


def relaxed(gate: GateResult, comparison: Comparison) -> list[Mismatch]:
    """In what the runs differ and are compared all the same, which is among the reasons."""
    return [mismatch for mismatch in comparison.mismatches if mismatch.relaxed_by in gate.relaxed]


def relaxed_told(release: Release | None, say: Words) -> list[str]:
    """What the runs differ in, where the reasons say already that they are compared all the same."""
    if release is None:
        return []
    comparison, gate = release
    return [mismatch_told(mismatch, comparison.task, say) for mismatch in relaxed(gate, comparison)]


def mismatches_beside(
    gate: GateResult, comparison: Comparison, say: Words
) -> list[tuple[str, str]]:
    """In what else the runs differ than the reasons say, each with what that means."""
    reasons = {*gate.reasons}
    others = [
        mismatch
        for mismatch in comparison.mismatches
        if mismatch.meaning not in reasons and mismatch.relaxed_by not in gate.relaxed
    ]
    if say.language == "en":
        return [(mismatch.what, mismatch.meaning) for mismatch in others]
    return [
        (_named(mismatch.what, say), mismatch_told(mismatch, comparison.task, say))
        for mismatch in others
    ]


def _named(what: str, say: Words) -> str:
    key = f"what.{what.replace(' ', '_')}"
    return say(key) if say.knows(key) else what


def mismatch_told(mismatch: Mismatch, task: str, say: Words) -> str:
    """What a difference of two runs means, with what differs and how it can be compared all the same."""
    what = mismatch.what.replace(" ", "_")
    keys = (f"mismatch.{task}_{what}", f"mismatch.{what}")
    known = next((key for key in keys if say.knows(key)), None)
    if known is None:
        return mismatch.meaning
    detail = message_in(say.language, mismatch.detail).replace(" -> ", " → ")
    detail = f" ({detail})" if detail else ""
    mend = f" {say(_("Where the change is meant, `gigamind baseline promote` this run; `--changed {key}` " "compares all the same.", key=mismatch.relaxed_by))}" if mismatch.relaxed_by else ""
    return f"{say(known)}{detail}{mend}"


def _moved(comparison: Comparison) -> Iterator[tuple[MetricChange, str]]:
    """Metrics that surely changed, and those that the current run lacks; the worse first."""
    ways = [(change, _way(change)) for change in comparison.metrics]
    for wanted in ("gone", "worse", "improved"):
        yield from ((change, wanted) for change, way in ways if way == wanted)


def _way(change: MetricChange) -> str:
    if change.baseline is not None and change.current is None:
        return "gone"
    return {True: "improved", False: "worse", None: ""}[change.is_better]


def with_section(summary: str, release: Release, say: Words) -> str:
    """summary.md with the decision in its first line, and the comparison before its first section."""
    head, mark, rest = _decided(summary, decision_told(release, say)).partition("\n## ")
    section = release_section(release, say).rstrip()
    return f"{head}\n{section}\n{mark}{rest}"


def with_bounds(summary: str, bounds: GateResult, say: Words) -> str:
    """summary.md with the decision on a run that is compared with nothing in its first line, and what it misses."""
    return _decided(summary, bounds_decision(bounds, say), bounds_told(bounds, say))


def _decided(summary: str, decision: str, reasons: Sequence[str] = ()) -> str:
    title, _, text = summary.partition("\n")
    listed = "".join(f"\n- {inline(reason)}" for reason in reasons)
    first = f"**{inline(decision)}**\n{listed}\n" if listed else f"**{inline(decision)}**\n"
    return f"{title}\n\n{first}{text}"


def main_figures(part: Part) -> list[Figure]:
    """The main figures of a run, at the deepest cut-off; all of them where a team's own judge gave them."""
    figures = measured(figures_of(part, in_order(list(part.intervals))))
    main = main_keys([figure.key for figure in figures])
    return [figure for figure in figures if figure.key in main]


def main_keys(keys: Sequence[str]) -> list[str]:
    """The main ones of the figures of these names, in the order of the table; all of them where none is."""
    ordered = in_order(keys)
    chosen: dict[str, str] = {}
    for key in ordered:
        metric = metric_of(key)
        if metric and metric.use.main and not (metric.use.first and metric.key in chosen):
            chosen[metric.key] = key
    return list(chosen.values()) or ordered


def too_few(change: MetricChange, say: Words) -> str:
    """That too few items changed for an interval; "" where that is not why there is none."""
    is_so = change.low is not None and change.changed and change.interval is None
    return say(n_("too few changes ({n})", "too few changes ({n})", n=change.changed)) if is_so else ""
