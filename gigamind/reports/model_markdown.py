"""What asking a model gave and cost, for people who read text: a section of summary.md, and lines of the shell."""

from gigamind.reports.judged import CoverageReport, FlipReport, LlmReport, PanelReport, UsageReport
from gigamind.reports.templating import figure, render
from gigamind.stats.krippendorff import Reading, reading

_OUTCOMES = {
    "scored": "judged",
    "unscored": "no usable reply",
    "refused": "refused",
    "error": "failed",
    "skipped_budget": "left by the budget",
}
_RULES = {
    "as_told": "as the model says",
    "only_with_quotes": "only answers whose quote stands in the note",
}

_READINGS: dict[Reading, str] = {
    "reliable": "the seats agree well, which alone does not make them right",
    "tentative": "the seats agree fairly well, enough for tentative conclusions",
    "unreliable": "the seats agree too little to rely on their verdicts",
    "chance": "the seats agree no more than by chance",
}


def model_section(llm: LlmReport) -> str:
    """The section of summary.md, without a line break at its end."""
    return render(
        "model.md.jinja",
        llm=llm,
        coverage=coverage(llm),
        flips=flip_lines(llm),
        panel=panel_line(llm.panel) if llm.panel else "",
        usage=[(role, part, cost(part)) for role, part in llm.by_role.items()],
        rates=[(_RULES[rule], rates) for rule, rates in llm.rates.items()],
    ).strip()


def panel_line(panel: PanelReport) -> str:
    """How far the seats of a panel agree, and what they left without a verdict."""
    interval = f"{figure(panel.alpha_low)} – {figure(panel.alpha_high)}"
    alpha = (
        "is not defined, for no two votes differ"
        if panel.alpha is None
        else f"is {figure(panel.alpha)} ({interval}): {_READINGS[reading(panel.alpha)]}"
    )
    told = (
        f"Votes of the panel's {panel.seats} seats differ on {panel.split} of {panel.items} items"
        f" ({figure(panel.rate)}, 95 % interval {figure(panel.low)} – {figure(panel.high)}); Krippendorff's alpha"
        f" {alpha}."
    )
    lost = {"for want of a vote": panel.incomplete, "split in halves": panel.tied}
    why = ", ".join(f"{count} {reason}" for reason, count in lost.items() if count)
    return f"{told} Without a verdict: {why}." if why else told


def coverage(llm: LlmReport) -> str:
    """How many items have a verdict, and what became of the others; evaluations and checks apart."""
    if llm.checks is None:
        return _covered(llm, "have a verdict")
    judged = _covered(llm, "evaluations have a verdict")
    return f"{judged}, and {_covered(llm.checks, 'checks by the checklist')}"


def _covered(part: LlmReport | CoverageReport, what: str) -> str:
    others = ", ".join(
        f"{_OUTCOMES[name]}: {count}" for name, count in part.outcomes.items() if name != "scored"
    )
    told = f"{part.outcomes.get('scored', 0)} of {part.items} {what}"
    return f"{told} ({others})" if others else told


def flip_lines(llm: LlmReport) -> list[str]:
    """What changed on a second judging: a sentence for evaluations, one for checks; none where it was not asked for."""
    lines: list[str] = []
    if llm.flips:
        again = "Judged" if llm.checks is None else "Evaluated"
        lines.append(_flipped(llm.flips, f"{again} a second time", "verdicts changed"))
    if llm.checks and llm.checks.flips:
        what = "answers changed between passing the checklist and not"
        lines.append(_flipped(llm.checks.flips, "Checked a second time", what))
    return lines


def _flipped(flips: FlipReport, again: str, what: str) -> str:
    interval = f"{figure(flips.low)} – {figure(flips.high)}"
    share = f"({figure(flips.rate)}, 95 % interval {interval})"
    return f"{again}: {flips.flipped} of {flips.judged_again} {what} {share}."


def unjudged(llm: LlmReport | None) -> int:
    """Items that were to get a verdict and have none."""
    return llm.items - llm.outcomes.get("scored", 0) if llm else 0


def cost(part: UsageReport) -> str:
    """Dollars to the microdollar; says what was estimated and what is not known."""
    if part.usd is None:
        return "unknown"
    return f"{part.usd:.6f} USD{' (estimated)' if part.usd_source == 'estimated' else ''}"


def cost_lines(llm: LlmReport) -> list[str]:
    """A line a model for the shell, those on what flipped, and one for what has no verdict."""
    lines = [
        f"{role}: {part.calls} requests, {part.cache_hits} from the store, cost {cost(part)}"
        for role, part in llm.by_role.items()
    ]
    lines += [line.removesuffix(".") for line in flip_lines(llm)]
    parts = [llm, llm.checks] if llm.checks else [llm]
    incomplete = any(part.outcomes.get("scored", 0) < part.items for part in parts)
    return [*lines, coverage(llm)] if incomplete else lines
