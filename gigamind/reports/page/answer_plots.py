"""The figures of an evaluation of answers, for report.html and as PNG or SVG files.

matplotlib is loaded when a figure is drawn, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gigamind.reports.answer_schema import AnswerRunRecord, AnswerSliceReport
from gigamind.reports.page.answer_metrics import MAIN, answer_figure, answer_slices, called
from gigamind.reports.page.charts import Row, Whisker, forest
from gigamind.reports.page.drawing import drawing
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.answers import AnswerSnapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SLICED = "correctness"


def answer_figures(
    record: AnswerRunRecord,
    baseline: AnswerSnapshot | None = None,
    *,
    lang: Language = "en",
    drawable: Callable[[str], bool] | None = None,
) -> dict[str, Figure]:
    """The figures that have something to show, by name: metrics, slices; see `plots.figures`."""
    told = words(lang)
    overall = record.summary.overall
    before = baseline.metrics if baseline else None
    main = [
        row
        for name in MAIN
        for row in _row(called(name, told), overall, before.overall if before else None, name)
    ]
    old = dict(answer_slices(before, told)) if before else {}
    parts = [
        row
        for label, part in answer_slices(record.summary, told)
        if drawable is None or drawable(label)
        for row in _row(label, part, old.get(label), _SLICED)
    ]
    legend = _legend(baseline, told)
    by_slice = told("answer.by_slice", metric=called(_SLICED, told))
    with drawing():
        drawn = {
            "metrics": forest(told("figure.metrics"), main, legend, "") if main else None,
            "slices": forest(by_slice, parts, legend, "") if parts else None,
        }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _row(
    label: str, part: AnswerSliceReport, before: AnswerSliceReport | None, name: str
) -> list[Row]:
    whisker = _whisker(part, name)
    return [Row(label, whisker, _whisker(before, name) if before else None)] if whisker else []


def _whisker(part: AnswerSliceReport, name: str) -> Whisker | None:
    figure = answer_figure(part, name)
    return Whisker(figure.value, figure.interval) if figure and figure.value is not None else None


def _legend(baseline: AnswerSnapshot | None, told: Words) -> list[tuple[str, str]]:
    if baseline is None:
        return []
    return [(told("figure.this_run"), "accent"), (told("figure.baseline"), "muted")]
