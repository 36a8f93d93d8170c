"""What report.html shows of the checklist quality gate: its pass rate, and a table of its items, by language."""

from typing import Any

from gigamind.reports.page.headline import change_interval, share, signed, sure
from gigamind.reports.page.slices import Figure
from gigamind.reports.page.wording import Words
from gigamind.reports.quality_schema import (
    QualityItemRate,
    QualitySliceReport,
    QualitySummaryReport,
)
from gigamind.reports.release.checks import BLOCK, PASS_RATE
from gigamind.reports.release.compare import Comparison
from gigamind.reports.schema import IntervalReport


def pass_rate(quality: QualitySummaryReport | None) -> list[Figure]:
    """The share of answers that pass; none where no answer was checked."""
    if quality is None or not quality.overall.checked:
        return []
    found = quality.overall
    interval = IntervalReport(low=found.low, high=found.high, n=found.checked)
    return [Figure(BLOCK, PASS_RATE.partition(".")[2], found.pass_rate, interval)]


def quality_block(
    quality: QualitySummaryReport | None, told: Words, comparison: Comparison | None = None
) -> dict[str, Any] | None:
    """The block of the template; None without a gate."""
    if quality is None:
        return None
    compared = comparison if comparison and comparison.metric(PASS_RATE) else None
    overall = quality.overall
    slices = {told("answer.all_answers"): overall}
    slices |= {
        told("page.kind_language", key=key): part for key, part in quality.by_language.items()
    }
    parts = list(slices.values())
    passing: dict[str, Any] = {
        "name": told("answer.passing"),
        "rates": [share(part.pass_rate) for part in parts],
        "interval": _interval(overall),
        "unproven": "",
        "change": _change(PASS_RATE, compared),
    }
    rows = [
        {
            "name": item.ko if told.language == "ko" else item.en,
            "rates": [share(part.items[place].rate) for part in parts],
            "interval": _interval(item),
            "unproven": item.unproven,
            "change": _change(f"{BLOCK}.{item.id}", compared),
        }
        for place, item in enumerate(overall.items)
    ]
    return {
        "lead": _lead(quality, told),
        "slices": [(name, part.checked) for name, part in slices.items()],
        "rows": [passing, *rows],
        "compared": compared is not None,
    }


def _change(metric: str, comparison: Comparison | None) -> dict[str, object] | None:
    """Against the baseline, over the answers that both runs checked."""
    change = comparison.metric(metric) if comparison else None
    if change is None:
        return None
    return {
        "before": share(change.baseline),
        "difference": signed(change.difference),
        "interval": change_interval(change) or "–",
        "better": sure(change),
    }


def _lead(quality: QualitySummaryReport, told: Words) -> str:
    overall = quality.overall
    lead = told(
        "answer.checklist_lead",
        feature=quality.feature,
        passed=overall.passed,
        checked=overall.checked,
        ratio=f"{100 * quality.min_pass_ratio:g}\u00a0%",
    )
    counts = {"answer.unchecked": quality.unchecked, "answer.unchecked_yet": quality.not_run}
    return " ".join([lead, *(told(key, count=count) for key, count in counts.items() if count)])


def _interval(found: QualitySliceReport | QualityItemRate) -> str:
    return "–" if found.low is None else f"{share(found.low)} – {share(found.high)}"
