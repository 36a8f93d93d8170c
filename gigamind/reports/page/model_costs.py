"""The block of a page about the model that judged: what share it judged, what it cost, how far it can be believed."""

from collections.abc import Iterator

from gigamind.metrics.table import label
from gigamind.records.judged import CoverageReport, FlipReport, LlmReport, PanelReport, UsageReport
from gigamind.reports.text import counted, render
from gigamind.stats.krippendorff import reading
from gigamind.wording import Words, share

_FEW = 0.8  # of the items, as --min-coverage has it


def model_block(llm: LlmReport | None, say: Words) -> dict[str, object] | None:
    """What the template `model.html.jinja` shows; None where no model was asked."""
    if llm is None:
        return None
    names = list(next(iter(llm.rates.values()))) if llm.rates else []
    return {
        "parts": list(_parts(llm, say)),
        "usage": [
            (role_text(name, say), *_cells(part))
            for name, part in (*llm.by_role.items(), *_sum(llm, say))
        ],
        "rates": [
            (say(f"model.rule_{rule}"), [share(rates[name]) for name in rates])
            for rule, rates in llm.rates.items()
        ],
        "rate_names": [label(f"unanswerable.{name}", say.language) for name in names],
        "flips": " ".join(_flips(llm, say)),
        "panel": _panel(llm.panel, say) if llm.panel else "",
        "flagged": say(_("In {items} items a note contains possible prompt injection or hidden characters: " "check these yourself. Quotes of such text that prove nothing: {quotes}.", items=llm.flagged, quotes=llm.flagged_quotes))
        if llm.flagged
        else "",
        "unread": _unread(llm, say),
        "conflicts": " ".join(
            say(f"model.conflict_{name}", items=count) for name, count in llm.conflicts.items()
        ),
    }


def model_section(llm: LlmReport, say: Words) -> str:
    """The same for summary.md, without a line break at its end."""
    return render("model.md.jinja", say=say, model=model_block(llm, say)).strip()


def cost_lines(llm: LlmReport, say: Words) -> list[str]:
    """A line a model for the shell, those on what flipped, and, unless they came first, for what has no verdict."""
    lines = [
        say(_("{role}: {calls} requests, {hits} cached, cost {cost}", role=role_text(role, say), calls=part.calls, hits=part.cache_hits, cost=_told(part, say)))
        for role, part in llm.by_role.items()
    ]
    lines += filter(None, [*_flips(llm, say), _unread(llm, say)])
    parts = list(_parts(llm, say))
    if any(part["incomplete"] for part in parts):
        lines += [str(part["coverage"]) for part in parts if not part["few"]]
    return lines


def role_text(name: str, say: Words) -> str:
    """What a model was asked for, and its name, of "judge: MODEL"."""
    role, mark, model = name.partition(": ")
    key = f"model.role_{role}"
    return f"{say(key)}{mark}{model}" if mark and say.knows(key) else name


def few_judged(llm: LlmReport | None, say: Words) -> list[str]:
    """What stands before all figures where so few verdicts say little: how many there are, and why no more."""
    parts = _parts(llm, say) if llm else ()
    return [f"{part['coverage']} {part['lost']}." for part in parts if part["few"]]


def _told(part: UsageReport, say: Words) -> str:
    """Dollars to the microdollar; says what was estimated and what is not known."""
    if part.usd is None:
        return say(_("unknown"))
    key = "model.estimated" if part.usd_source == "estimated" else "model.priced"
    return say(key, usd=f"{part.usd:.6f}")


def _unread(llm: LlmReport, say: Words) -> str:
    """What was dropped of replies; empty where all could be read."""
    unread = llm.all_unread
    return say(_("Unreadable auxiliary fields in replies: {fields} ({names}). No verdict was lost.", fields=unread.total(), names=counted(unread))) if unread else ""


def _parts(llm: LlmReport, say: Words) -> Iterator[dict[str, object]]:
    """How many have a verdict; evaluations and checks apart where there are both."""
    if llm.checks is None:
        yield _part(llm, "model.coverage", say)
    else:
        yield _part(llm, "model.evaluations", say)
        yield _part(llm.checks, "model.checks", say)


def _part(part: LlmReport | CoverageReport, key: str, say: Words) -> dict[str, object]:
    judged = part.outcomes.get("scored", 0)
    return {
        "coverage": say(key, judged=judged, items=part.items, share=share(part.coverage)),
        "incomplete": judged < part.items,
        "few": judged < _FEW * part.items,
        "lost": ", ".join(
            f"{say(f'model.{name}')}: {count}"
            for name, count in part.outcomes.items()
            if name != "scored"
        ),
        "outcomes": [(say(f"model.{name}"), count) for name, count in part.outcomes.items()],
    }


def _flips(llm: LlmReport, say: Words) -> Iterator[str]:
    """What changed on a second judging, and what that means for a comparison."""
    checked = llm.checks.flips if llm.checks else None
    if llm.flips:
        key = "model.flips" if llm.checks is None else "model.evaluation_flips"
        yield _flipped(llm.flips, key, say)
    if checked:
        yield _flipped(checked, "model.check_flips", say)
    if llm.flips or checked:
        yield say(_("A difference between two runs that is not larger than this rate is not evidence of a " "change."))


def _flipped(flips: FlipReport, key: str, say: Words) -> str:
    return say(
        key,
        flipped=flips.flipped,
        n=flips.judged_again,
        rate=share(flips.rate),
        low=share(flips.low),
        high=share(flips.high),
    )


def _panel(panel: PanelReport, say: Words) -> str:
    """How far its seats agree, and what it left without a verdict."""
    if not panel.items:
        parts = [say(_("No item was judged by two or more panel members."))]
    else:
        counts = {"seats": panel.seats, "items": panel.items, "split": panel.split}
        ends = {"low": share(panel.low), "high": share(panel.high)}
        parts = [say(_("Panel disagreement: {split} of {items} items ({rate}; 95% CI {low} – {high}), among " "items that at least two of {seats} models judged.", **counts, rate=share(panel.rate), **ends)), _alpha(panel, say)]
    if panel.alone:
        parts.insert(0, say(n_("The first panel member was confident about {n} item and judged it alone.", "The first panel member was confident about {n:,} items and judged them alone.", n=panel.alone)))
    lost = {"short": panel.short, "incomplete": panel.incomplete, "tied": panel.tied}
    parts.extend(say(f"model.panel_{name}", items=count) for name, count in lost.items() if count)
    return " ".join(parts)


def _alpha(panel: PanelReport, say: Words) -> str:
    if panel.alone:
        return say(_("Only doubtful items are compared, so agreement on other items is unknown."))
    if panel.alpha is None:
        return say(_("All votes are the same, so chance-corrected agreement is undefined."))
    values = (panel.alpha, panel.alpha_low, panel.alpha_high)
    alpha, low, high = (share(value).replace("-", "−") for value in values)
    what = say(f"model.panel_{reading(panel.alpha)}")
    return say(_("Krippendorff's alpha: {alpha} (95% CI {low} – {high}; 1 is full agreement, 0 is " "chance). {reading}.", alpha=alpha, low=low, high=high, reading=what))


def _sum(llm: LlmReport, say: Words) -> Iterator[tuple[str, UsageReport]]:
    """A line for the sum, where there is more than one to add up."""
    if len(llm.by_role) > 1:
        yield say(_("total")), llm


def _cells(part: UsageReport) -> tuple[str, ...]:
    counts = (part.calls, part.cache_hits, part.prompt_tokens, part.completion_tokens)
    return (*(f"{count:,}" for count in counts), cost(part))


def cost(part: UsageReport) -> str:
    """Dollars to the microdollar; a tilde before what was estimated, a dash for what is unknown."""
    if part.usd is None:
        return "–"
    return f"{'~' if part.usd_source == 'estimated' else ''}{part.usd:.6f}"
