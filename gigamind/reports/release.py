"""What summary.md and the summary of a CI job say of a run beside its baseline, in English or Korean."""

import html
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gigamind.metrics.table import in_order, label, metric_of
from gigamind.release.compare import Comparison, MetricChange
from gigamind.release.gates import relaxation
from gigamind.release.mismatch import Mismatch
from gigamind.release.policy import GateResult
from gigamind.reports.figures import Figure, Part, figures_of, measured
from gigamind.reports.text import inline, render
from gigamind.wording import Words, between, share, signed, words

MOST_BYTES = 6_000
_SHOWN = 5
_REASONS = 8
_TEXT_CHARS = 100


class Release(NamedTuple):
    """A comparison and what the gates say of it."""

    comparison: Comparison
    gate: GateResult


def release_section(release: Release, say: Words, *, shown: int = _SHOWN) -> str:
    """The verdict with its reasons, the metrics that surely moved or are gone, and the items that ended otherwise.

    Args:
        shown: items of a kind that are listed.
    """
    comparison, gate = release
    by_kind: dict[str, Sequence[Any]] = {
        "lost": comparison.lost,
        **{
            kind: [change for change in comparison.changes if change.change == kind]
            for kind in ("worse", "improved")
        },
    }
    items = say(
        "release.items",
        shared=comparison.shared,
        units=say(f"units.{comparison.task}"),
        worse=len(by_kind["worse"]),
        improved=len(by_kind["improved"]),
    )
    return render(
        "release.md.jinja",
        say=say,
        gate=gate,
        items=items,
        reasons=reasons_told(gate, comparison, say),
        most_reasons=_REASONS if shown else 1,
        moved=list(_moved(comparison)),
        label=label,
        signed=signed,
        items_by_kind=list(by_kind.items()),
        shown=shown,
    )


def reasons_told(gate: GateResult, comparison: Comparison | None, say: Words) -> list[str]:
    """The reasons of a verdict in the language of the phrases; what has none there stays as it is."""
    if say.language == "en":
        return list(gate.reasons)
    told = {rule.explanation: rule.told(say) for rule in gate.rules}
    if comparison:
        told |= {
            mismatch.meaning: mismatch_told(mismatch, comparison.task, say)
            for mismatch in comparison.mismatches
        }
    told |= {relaxation(key, words("en")): relaxation(key, say) for key in gate.relaxed}
    told[words("en")("rule.no_shared")] = say("rule.no_shared")
    return [told.get(reason, reason) for reason in gate.reasons]


def mismatch_told(mismatch: Mismatch, task: str, say: Words) -> str:
    """What a difference of two runs means, with what differs and how it can be compared all the same."""
    what = mismatch.what.replace(" ", "_")
    keys = (f"mismatch.{task}_{what}", f"mismatch.{what}")
    known = next((key for key in keys if say.knows(key)), None)
    if known is None:
        return mismatch.meaning
    detail = f" ({mismatch.detail})" if mismatch.detail else ""
    mend = f" {say('release.mend', key=mismatch.relaxed_by)}" if mismatch.relaxed_by else ""
    return f"{say(known)}{detail}{mend}"


def _moved(comparison: Comparison) -> Iterator[tuple[MetricChange, str]]:
    """Metrics whose interval excludes no change, and those that the current run lacks; the worse first."""
    ways = [(change, _way(change)) for change in comparison.metrics]
    for wanted in ("gone", "worse", "improved"):
        yield from ((change, wanted) for change, way in ways if way == wanted)


def _way(change: MetricChange) -> str:
    if change.baseline is not None and change.current is None:
        return "gone"
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return ""
    return "worse" if (change.drop or 0.0) > 0 else "improved"


def with_section(summary: str, release: Release, say: Words) -> str:
    """summary.md with the comparison before its first section."""
    head, mark, rest = summary.partition("\n## ")
    return f"{head}\n{release_section(release, say).rstrip()}\n{mark}{rest}"


def step_summary(task: str, part: Part | None, release: Release | None, say: Words) -> str:
    """What the summary of a CI job gets, folded: the main figures, and the comparison; at most 6 000 bytes.

    Args:
        part: all items of the run; None where two finished runs are compared.
    """
    for shown in (_SHOWN, 2, 0):
        text = _folded(task, part, release, say, shown)
        if len(text.encode()) <= MOST_BYTES:
            return text
    end = "\n\n</details>\n"
    cut = text.encode()[: MOST_BYTES - len(end)].decode(errors="ignore")
    return cut[: cut.rfind("\n")] + end


def _folded(task: str, part: Part | None, release: Release | None, say: Words, shown: int) -> str:
    figures = main_figures(part) if part else []
    told = [f"{figure.label(say.language)} {share(figure.value)}" for figure in figures]
    verdict = [say(f"gate.{release.gate.verdict}")] if release else []
    title = " · ".join([say(f"release.{task}"), *verdict, *told])
    lines = [f"<details><summary>{html.escape(title)}</summary>", ""]
    if figures:
        head = [say("page.metric"), say("page.value"), say("page.interval"), say("page.count")]
        lines += [f"| {' | '.join(head)} |", "|---|---:|:---:|---:|"]
        lines += [
            f"| {inline(figure.label(say.language))} | {share(figure.value)} | {between(figure.interval)}"
            f" | {figure.interval.n} |"
            for figure in figures
        ]
        lines.append("")
    if release:
        lines += [release_section(release, say, shown=shown).rstrip(), ""]
    return "\n".join([*lines, "</details>", "", ""])


def main_figures(part: Part) -> list[Figure]:
    """The main figures of a run, at the deepest cut-off; all of them where a team's own judge gave them."""
    found = measured(figures_of(part, in_order(list(part.intervals))))
    main = main_keys([figure.key for figure in found])
    return [figure for figure in found if figure.key in main]


def main_keys(keys: Sequence[str]) -> list[str]:
    """The main ones of the figures of these names, in the order of the table; all of them where none is."""
    ordered = in_order(keys)
    chosen: dict[str, str] = {}
    for key in ordered:
        metric = metric_of(key)
        if metric and metric.use.main and not (metric.use.first and metric.key in chosen):
            chosen[metric.key] = key
    return list(chosen.values()) or ordered
