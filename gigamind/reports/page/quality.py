"""What report.html shows of the checklist quality gate: a table of its items, by language."""

from typing import Any

from gigamind.reports.page.headline import share
from gigamind.reports.page.wording import Words
from gigamind.reports.quality_schema import (
    QualityItemRate,
    QualitySliceReport,
    QualitySummaryReport,
)


def quality_block(quality: QualitySummaryReport | None, told: Words) -> dict[str, Any] | None:
    """The block of the template; None without a gate."""
    if quality is None:
        return None
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
    }
    rows = [
        {
            "name": item.ko if told.language == "ko" else item.en,
            "rates": [share(part.items[place].rate) for part in parts],
            "interval": _interval(item),
            "unproven": item.unproven,
        }
        for place, item in enumerate(overall.items)
    ]
    return {
        "lead": _lead(quality, told),
        "slices": [(name, part.checked) for name, part in slices.items()],
        "rows": [passing, *rows],
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
    if not quality.unchecked:
        return lead
    return f"{lead} {told('answer.unchecked', count=quality.unchecked)}"


def _interval(found: QualitySliceReport | QualityItemRate) -> str:
    return "–" if found.low is None else f"{share(found.low)} – {share(found.high)}"
