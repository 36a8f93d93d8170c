"""How many answers pass the checklist quality gate, as summary.json says it."""

from collections.abc import Sequence

from gigamind.evals.answer_checklist import ChecklistGate
from gigamind.judges.checklist_file import ChecklistItem
from gigamind.reports.answer_schema import AnswerItemReport
from gigamind.reports.quality_schema import (
    QualityItemRate,
    QualityItemReport,
    QualityReport,
    QualitySliceReport,
    QualitySummaryReport,
)
from gigamind.stats.proportion import wilson


def quality_summary(
    gate: ChecklistGate | None, items: Sequence[AnswerItemReport]
) -> QualitySummaryReport | None:
    """The block of a run; None without a gate."""
    if gate is None:
        return None
    languages = sorted({item.language for item in items})
    return QualitySummaryReport(
        judge=gate.report,
        feature=gate.feature,
        min_pass_ratio=gate.checklist.min_pass_ratio,
        unchecked=sum(bool(item.quality_code) for item in items),
        not_run=sum(item.quality is None and not item.quality_code for item in items),
        overall=_slice(gate, items),
        by_language={
            language: _slice(gate, [item for item in items if item.language == language])
            for language in languages
        },
    )


def _slice(gate: ChecklistGate, items: Sequence[AnswerItemReport]) -> QualitySliceReport:
    checked = [item.quality for item in items if item.quality]
    passed = sum(one.passed for one in checked)
    rate, low, high = _rate(passed, len(checked))
    return QualitySliceReport(
        checked=len(checked),
        passed=passed,
        pass_rate=rate,
        low=low,
        high=high,
        items=tuple(_item_rate(asked, checked) for asked in gate.checklist.items),
    )


def _item_rate(asked: ChecklistItem, checked: Sequence[QualityReport]) -> QualityItemRate:
    found: list[QualityItemReport] = [
        item for one in checked for item in one.items if item.id == asked.id
    ]
    yes = sum(item.yes for item in found)
    rate, low, high = _rate(yes, len(found))
    return QualityItemRate(
        id=asked.id,
        ko=asked.ko,
        en=asked.en,
        yes=yes,
        rate=rate,
        low=low,
        high=high,
        unproven=sum(item.told is True and not item.trusted for item in found),
    )


def _rate(count: int, n: int) -> tuple[float | None, float | None, float | None]:
    """Share and its 95 % interval; None for each where nothing was counted."""
    if not n:
        return None, None, None
    interval = wilson(count, n)
    return count / n, interval.low, interval.high
