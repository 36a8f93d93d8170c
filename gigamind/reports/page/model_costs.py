"""The block of a page about the model that judged: what share it judged, what it cost, how far it can be believed."""

from collections.abc import Iterator

from gigamind.reports.judged import CoverageReport, FlipReport, LlmReport, PanelReport, UsageReport
from gigamind.reports.page.headline import share
from gigamind.reports.page.wording import Words
from gigamind.stats.krippendorff import reading


def model_block(llm: LlmReport | None, told: Words) -> dict[str, object] | None:
    """What the template `model.html.jinja` shows; None where no model was asked."""
    if llm is None:
        return None
    names = list(next(iter(llm.rates.values()))) if llm.rates else []
    return {
        "parts": list(_parts(llm, told)),
        "usage": [(name, *_cells(part)) for name, part in (*llm.by_role.items(), *_sum(llm, told))],
        "rates": [
            (told(f"model.rule_{rule}"), [share(rates[name]) for name in rates])
            for rule, rates in llm.rates.items()
        ],
        "rate_names": [told.metric(name) for name in names],
        "flips": " ".join(_flips(llm, told)),
        "panel": _panel(llm.panel, told) if llm.panel else "",
        "flagged": told("model.flagged", items=llm.flagged, quotes=llm.flagged_quotes)
        if llm.flagged
        else "",
    }


def _parts(llm: LlmReport, told: Words) -> Iterator[dict[str, object]]:
    """How many have a verdict; evaluations and checks apart where there are both."""
    if llm.checks is None:
        yield _part(llm, "model.coverage", told)
    else:
        yield _part(llm, "model.evaluations", told)
        yield _part(llm.checks, "model.checks", told)


def _part(part: LlmReport | CoverageReport, key: str, told: Words) -> dict[str, object]:
    judged = part.outcomes.get("scored", 0)
    return {
        "coverage": told(key, judged=judged, items=part.items, share=share(part.coverage)),
        "incomplete": judged < part.items,
        "outcomes": [(told(f"model.{name}"), count) for name, count in part.outcomes.items()],
    }


def _flips(llm: LlmReport, told: Words) -> Iterator[str]:
    """What changed on a second judging, and what that means for a comparison."""
    checked = llm.checks.flips if llm.checks else None
    if llm.flips:
        key = "model.flips" if llm.checks is None else "model.evaluation_flips"
        yield _flipped(llm.flips, key, told)
    if checked:
        yield _flipped(checked, "model.check_flips", told)
    if llm.flips or checked:
        yield told("model.flips_mean")


def _flipped(flips: FlipReport, key: str, told: Words) -> str:
    return told(
        key,
        flipped=flips.flipped,
        n=flips.judged_again,
        rate=share(flips.rate),
        low=share(flips.low),
        high=share(flips.high),
    )


def _panel(panel: PanelReport, told: Words) -> str:
    """How far its seats agree, and what it left without a verdict."""
    if not panel.items:
        parts = [told("model.panel_unpaired")]
    else:
        counts = {"seats": panel.seats, "items": panel.items, "split": panel.split}
        ends = {"low": share(panel.low), "high": share(panel.high)}
        parts = [told("model.panel", **counts, rate=share(panel.rate), **ends), _alpha(panel, told)]
    lost = {"incomplete": panel.incomplete, "tied": panel.tied}
    parts.extend(told(f"model.panel_{name}", items=count) for name, count in lost.items() if count)
    return " ".join(parts)


def _alpha(panel: PanelReport, told: Words) -> str:
    if panel.alpha is None:
        return told("model.panel_no_alpha")
    values = (panel.alpha, panel.alpha_low, panel.alpha_high)
    alpha, low, high = (share(value).replace("-", "−") for value in values)
    what = told(f"model.panel_{reading(panel.alpha)}")
    return told("model.panel_alpha", alpha=alpha, low=low, high=high, reading=what)


def _sum(llm: LlmReport, told: Words) -> Iterator[tuple[str, UsageReport]]:
    """A line for the sum, where there is more than one to add up."""
    if len(llm.by_role) > 1:
        yield told("model.all"), llm


def _cells(part: UsageReport) -> tuple[str, ...]:
    counts = (part.calls, part.cache_hits, part.prompt_tokens, part.completion_tokens)
    return (*(f"{count:,}" for count in counts), cost(part))


def cost(part: UsageReport) -> str:
    """Dollars to the microdollar; a tilde before what was estimated, a dash for what is unknown."""
    if part.usd is None:
        return "–"
    return f"{'~' if part.usd_source == 'estimated' else ''}{part.usd:.6f}"
