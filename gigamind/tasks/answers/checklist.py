"""Checks answers with the quality gate's checklist, independently of their evaluation (spec 004, "2-1")."""

from collections.abc import Sequence
from typing import Any

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.judges.protocol import AnswerCase, Asking, chosen
from gigamind.judges.quality_gate import ChecklistItem, QualityGate, load_quality_gate
from gigamind.judges.spec import Chosen
from gigamind.records.judged import QualityReport
from gigamind.runs.store import unless_final
from gigamind.stats.intervals import Clusters, Estimate, clusters_of, sliced
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    QualityItemRate,
    QualitySliceReport,
    QualitySummaryReport,
)
from gigamind.tasks.options import AnswerEvalOptions

GATE_ROLE = "quality_gate"
Gate = Chosen[QualityGate]


def choose_gate(options: AnswerEvalOptions) -> Gate | None:
    """Return the quality gate of the options, or raise InputError; None without `--checklist`."""
    if not options.checklist:
        if idle := options.flags(["checklist_judge"]) or options.flags(["feature"]):
            raise InputError(
                "{option}: requires --checklist. Add --checklist or remove it.", option=idle
            )
        return None
    path = options.checklist_judge or asset("judges") / "quality_gate.toml"
    return chosen(load_quality_gate(path, options.feature, options.judge_lang), path, options)


async def check_answer(
    gate: QualityGate, case: AnswerCase, asking: Asking, *, twice: bool
) -> dict[str, Any]:
    """Check one answer, and return the JSON values of a `QualityReport`; a blank one needs no model.

    If the second check of `twice` fails permanently, the first one counts and `flipped` is null. Raises LlmError as
    `QualityGate.judge` does; for the second check, only transient ones.
    """
    report = (await gate.judge(case, asking)).detail
    again = None
    if twice and case.answer.strip():
        again = await unless_final(gate.judge(case, asking.afresh()))
    if again:
        pairs = zip(report.items, again.detail.items, strict=True)
        items = (own.model_copy(update={"flipped": own.yes != x.yes}) for own, x in pairs)
        flipped = report.passed != again.detail.passed
        report = report.model_copy(update={"items": tuple(items), "flipped": flipped})
    return report.model_dump(mode="json")


def quality_summary(
    gate: Gate | None, items: Sequence[AnswerItemReport]
) -> QualitySummaryReport | None:
    """Return the `quality` block of a run; None without a quality gate."""
    if gate is None:
        return None
    return QualitySummaryReport(
        judge=gate.report,
        feature=gate.judge.feature,
        min_pass_ratio=gate.judge.checklist.min_pass_ratio,
        unchecked=sum(bool(item.quality_code) for item in items),
        not_run=sum(item.quality is None and not item.quality_code for item in items),
        overall=_slice(gate, items),
        by_language={
            language: _slice(gate, own)
            for language, own in sliced(items, lambda item: [item.language]).items()
        },
    )


def _slice(gate: Gate, items: Sequence[AnswerItemReport]) -> QualitySliceReport:
    checked = [item.quality for item in items if item.quality]
    questions = clusters_of(item.question_id for item in items if item.quality)
    passed = sum(report.passed for report in checked)
    rate = Estimate.share(passed, len(checked), questions)
    items_met = (_item_rate(item, checked, questions) for item in gate.judge.checklist.items)
    return QualitySliceReport.like(
        rate, checked=len(checked), passed=passed, pass_rate=rate.value, items=tuple(items_met)
    )


def _item_rate(
    item: ChecklistItem, checked: Sequence[QualityReport], questions: Clusters
) -> QualityItemRate:
    results = [result for report in checked for result in report.items if result.id == item.id]
    yes = sum(result.yes for result in results)
    unproven = sum(result.reported_yes is True and not result.trusted for result in results)
    rate = Estimate.share(yes, len(results), questions)
    measured = {"rate": rate.value, "low": rate.low, "high": rate.high}
    return QualityItemRate.like(item, yes=yes, unproven=unproven, **measured)
