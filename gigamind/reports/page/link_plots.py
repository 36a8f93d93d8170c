"""The figures of a link run, for report.html and as PNG or SVG files.

matplotlib is loaded when a figure is drawn, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gigamind.reports.link_schema import LinkRunRecord, LinkSliceReport
from gigamind.reports.page.charts import Line, Mark, Row, Whisker, curves, forest, scatter
from gigamind.reports.page.drawing import drawing
from gigamind.reports.page.link_metrics import called, link_figure, link_slices, main_links
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.links import LinkSnapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def link_figures(
    record: LinkRunRecord,
    baseline: LinkSnapshot | None = None,
    *,
    lang: Language = "en",
    drawable: Callable[[str], bool] | None = None,
) -> dict[str, Figure]:
    """The figures that have something to show, by name: metrics, sweep, reliability, slices; see `plots.figures`."""
    del drawable  # no text of others stands in them
    told = words(lang)
    if not record.items:
        return {}
    with drawing():
        drawn = {
            "metrics": _metrics(record, baseline, told),
            "sweep": _sweep(record, told),
            "reliability": _reliability(record, told),
            "slices": _slices(record, baseline, told),
        }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _metrics(record: LinkRunRecord, baseline: LinkSnapshot | None, told: Words) -> Figure | None:
    topk = _topk(record)
    before = baseline.metrics.overall if baseline else None
    rows = [
        row
        for figure in main_links(record.summary.overall, topk)
        for row in _row(called(figure.name, told), record.summary.overall, before, figure.name)
    ]
    return forest(told("figure.metrics"), rows, _legend(baseline, told), "") if rows else None


def _slices(record: LinkRunRecord, baseline: LinkSnapshot | None, told: Words) -> Figure | None:
    name = f"recall_at_{_topk(record)}"
    old = dict(link_slices(baseline.metrics, told)) if baseline else {}
    rows = [
        row
        for label, part in link_slices(record.summary, told)
        for row in _row(label, part, old.get(label), name)
    ]
    title = told("link.by_slice", metric=called(name, told))
    return forest(title, rows, _legend(baseline, told), "") if rows else None


def _row(label: str, part: LinkSliceReport, before: LinkSliceReport | None, name: str) -> list[Row]:
    whisker = _whisker(part, name)
    return [Row(label, whisker, _whisker(before, name) if before else None)] if whisker else []


def _whisker(part: LinkSliceReport, name: str) -> Whisker | None:
    figure = link_figure(part, name)
    return Whisker(figure.value, figure.interval) if figure and figure.value is not None else None


def _legend(baseline: LinkSnapshot | None, told: Words) -> list[tuple[str, str]]:
    if baseline is None:
        return []
    return [(told("figure.this_run"), "accent"), (told("figure.baseline"), "muted")]


def _sweep(record: LinkRunRecord, told: Words) -> Figure | None:
    points = record.summary.sweep
    if not any(point.suggested for point in points):
        return None
    lines = [
        Line(told.metric("precision"), np.array([p.precision for p in points], float), "accent"),
        Line(told.metric("recall"), np.array([p.recall for p in points], float), "warn", "--"),
    ]
    now = float(str(record.run.options["min_confidence"]))
    marks = [Mark(now, told("figure.now", value=f"{now:.2f}"))]
    floors = np.array([point.min_confidence for point in points], float)
    return curves(told("link.sweep"), "min_confidence", floors, lines, marks)


def _reliability(record: LinkRunRecord, told: Words) -> Figure | None:
    bins = record.summary.reliability
    if not bins:
        return None
    points = [(one.mean_confidence, one.precision, one.n) for one in bins]
    labels = (told("link.mean_confidence"), told.metric("precision"))
    return scatter(told("link.reliability"), labels, points)


def _topk(record: LinkRunRecord) -> int:
    return int(str(record.run.options["topk"]))
