"""Words of a report that all tasks share, and texts of others inside our Markdown, shown as they are.

Such a text breaks no line, table, list or fence.
"""

import functools
import re
from collections import Counter
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gigamind.records.judged import CoverageReport, FlipReport, LlmReport, PanelReport, UsageReport
from gigamind.stats.krippendorff import Reading, reading
from gigamind.wording import between, share

_MEANING = re.compile(r"([\\`*_\[\]<>|#~&$])")
_BLOCK_MARK = re.compile(r"^(\d*)([.)]|[-+=]+)(?=\s|$)")  # 1. or - or --- in front

# Browsers and terminals obey them; white space is none of them.
_OBEYED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def inline(text: object) -> str:
    """On one line, every character that means something to Markdown or HTML escaped."""
    line = _MEANING.sub(r"\\\1", _one_line(text))
    return _BLOCK_MARK.sub(r"\1\\\2", line)


def code(text: object) -> str:
    """As a code span, on one line; backticks inside are kept by a longer fence.  Not for table cells."""
    line = _one_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: object) -> str:
    """Line by line inside a fence of three backticks, which it must not close."""
    return _named(str(text).replace("```", "'''"))


def upright(value: object) -> object:
    """What a page shows of a value: see `_named`; markup and numbers as they are."""
    return _named(value) if type(value) is str else value


def _one_line(text: object) -> str:
    return _named(" ".join(str(text).split()))


def _named(text: str) -> str:
    """Control characters and direction overrides named, for they would turn round what stands beside them."""
    return _OBEYED.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def render(template: str, **values: object) -> str:
    """A template of this package with these values; one that is missing is an error, not an empty text."""
    return _templates().get_template(template).render(**values)


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("gigamind.reports"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  Markdown, not HTML; the filters escape what comes from outside
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "inline": inline,
        "code": code,
        "fenced": fenced,
        "figure": share,
        "between": between,
    }
    templates.filters.update(filters)
    return templates


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

_CONFLICTS = {
    "unproven": "the model says that the notes answer, and no quote proves it",
    "quoted": "the model says that the notes do not answer, and quotes words of them",
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
        unread=unread_line(llm),
        conflicts=[(count, _CONFLICTS[name]) for name, count in llm.conflicts.items()],
        rates=[(_RULES[rule], rates) for rule, rates in llm.rates.items()],
    ).strip()


def unread_line(llm: LlmReport) -> str:
    """What was dropped of replies; empty where all could be read."""
    unread = llm.all_unread
    fields = f"{unread.total()} auxiliary fields of replies could not be read"
    return f"{fields}, which cost no verdict ({counted(unread)})" if unread else ""


def counted(names: Counter[str]) -> str:
    """Names with how often each came, the commonest first."""
    return ", ".join(f"{name}: {count}" for name, count in names.most_common())


def panel_line(panel: PanelReport) -> str:
    """How far the seats of a panel agree, and what they left without a verdict."""
    told = (
        f"Votes of the panel's {panel.seats} seats differ on {panel.split} of {panel.items} items"
        f" ({share(panel.rate)}, 95 % interval {share(panel.low)} – {share(panel.high)}); {_alpha(panel)}."
    )
    if panel.alone:
        told = (
            f"The panel's first seat was sure of {panel.alone} items, and judged them alone. {told}"
        )
    if panel.short:
        told = (
            f"{told} {panel.short} verdicts are those of a smaller panel, for a seat gave no vote."
        )
    lost = {"for want of a vote": panel.incomplete, "split in halves": panel.tied}
    why = ", ".join(f"{count} {reason}" for reason, count in lost.items() if count)
    return f"{told} Without a verdict: {why}." if why else told


def _alpha(panel: PanelReport) -> str:
    if panel.alone:
        return "these are the doubtful ones, so they do not tell how far the seats agree elsewhere"
    if panel.alpha is None:
        return "Krippendorff's alpha is not defined, for no two votes differ"
    interval = f"{share(panel.alpha_low)} – {share(panel.alpha_high)}"
    return f"Krippendorff's alpha is {share(panel.alpha)} ({interval}): {_READINGS[reading(panel.alpha)]}"


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
    interval = f"{share(flips.low)} – {share(flips.high)}"
    rate = f"({share(flips.rate)}, 95 % interval {interval})"
    return f"{again}: {flips.flipped} of {flips.judged_again} {what} {rate}."


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
    lines += filter(None, [unread_line(llm)])
    parts = [llm, llm.checks] if llm.checks else [llm]
    incomplete = any(part.outcomes.get("scored", 0) < part.items for part in parts)
    return [*lines, coverage(llm)] if incomplete else lines
