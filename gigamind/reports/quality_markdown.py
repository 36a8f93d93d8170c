"""What summary.md tells of the checklist quality gate."""

from typing import Any

from gigamind.reports.quality_schema import (
    QualityItemRate,
    QualitySliceReport,
    QualitySummaryReport,
)
from gigamind.reports.templating import figure


def quality_section(quality: QualitySummaryReport) -> dict[str, Any]:
    """What the template shows: a sentence, and rows by slice and by item."""
    parts = quality.by_language
    return {
        "sentence": _sentence(quality),
        "slices": [
            (name, part, quality_interval(part))
            for name, part in {"all answers": quality.overall, **parts}.items()
        ],
        "languages": list(parts),
        "rows": [
            (item, quality_interval(item), [part.items[place].rate for part in parts.values()])
            for place, item in enumerate(quality.overall.items)
        ],
    }


def _sentence(quality: QualitySummaryReport) -> str:
    overall = quality.overall
    told = (
        f"{overall.passed} of {overall.checked} answers pass the checklist of {quality.feature}:"
        f" at least {quality.min_pass_ratio:.0%} of its items."
    )
    if quality.unchecked:
        told += f" {quality.unchecked} could not be checked: see errors.jsonl."
    if quality.not_run:
        told += f" {quality.not_run} were not checked, for the run was interrupted."
    return told


def quality_interval(found: QualitySliceReport | QualityItemRate) -> str:
    """The 95 % interval of a rate; a dash where nothing was counted."""
    return "–" if found.low is None else f"{figure(found.low)} – {figure(found.high)}"
