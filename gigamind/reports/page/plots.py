"""The figures of a run, for report.html and as PNG or SVG files.

matplotlib is loaded when a figure is drawn, never before.
"""

# matplotlib's own types leave every **kwargs unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from gigamind.reports.page.charts import Line, Mark, Row, Whisker, curves, forest, histogram
from gigamind.reports.page.drawing import drawing, write_svg
from gigamind.reports.page.judging import Judging, judging
from gigamind.reports.page.slices import Figure as Metric
from gigamind.reports.page.slices import figure_of, main_metrics, same_slice, slices
from gigamind.reports.page.typeface import KOREAN_FAMILIES, can_draw, png_families
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.search import SearchSnapshot
from gigamind.reports.release.snapshot import take_snapshot
from gigamind.reports.schema import ItemReport, Record, RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Baseline = RunRecord | SearchSnapshot
_TAGS = 8
_BINS = 28
_CURVE_POINTS = 200
_PNG_DPI = 160  # 889 pixels wide: sharp on a wide page
_CLOCK_MS = 0.01  # no clock tells less, and a log scale has no 0
_PERCENTILES = ("p50", "p95", "p99")


def figures(
    record: RunRecord,
    baseline: Baseline | None = None,
    *,
    lang: Language = "en",
    drawable: Callable[[str], bool] | None = None,
) -> dict[str, Figure]:
    """Figures by name, of those that have something to show: metrics, threshold, scores, latency, slices.

    Args:
        record: the run.
        baseline: shown beside it, in grey.
        lang: of their words.
        drawable: whether a text can be drawn; slices with a name that cannot be are left out, and the figure says so.
    """
    told = words(lang)
    before = as_snapshot(baseline)
    with drawing():
        drawn = {
            "metrics": _metrics(record, before, told),
            **_judged(record, told),
            "latency": _latency(record, before, told),
            "slices": _slices(record, before, told, drawable or (lambda _: True)),
        }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def as_snapshot(baseline: Baseline | None) -> SearchSnapshot | None:
    """A baseline in the one form that holds all a report needs of it."""
    return take_snapshot(baseline) if isinstance(baseline, Record) else baseline


def save_figures(
    record: RunRecord,
    folder: Path,
    *,
    format: Literal["svg", "png"],  # noqa: A002  the option's name
    lang: Language = "en",
    baseline: Baseline | None = None,
) -> list[Path]:
    """Write each figure to `folder`/<name>.<format>; equal runs give equal SVG files.

    A PNG needs the fonts of this machine (`typeface`): without a Korean one its words are English.
    """
    return save_drawn(
        lambda known, drawable: figures(record, baseline, lang=known, drawable=drawable),
        folder,
        format=format,
        lang=lang,
    )


def save_drawn(
    draw: Callable[[Language, Callable[[str], bool] | None], dict[str, Figure]],
    folder: Path,
    *,
    format: Literal["svg", "png"],  # noqa: A002  the option's name
    lang: Language = "en",
) -> list[Path]:
    """Write what `draw` makes in a language, of texts that can be drawn; see `save_figures`."""
    png = format == "png"
    known = lang if not png or can_draw(words(lang)("figure.share")) else "en"
    folder.mkdir(parents=True, exist_ok=True)
    # A text keeps the fonts it was made with: for SVG the same everywhere, so that equal runs give equal files.
    with drawing(png_families() if png else None):
        drawn = draw(known, can_draw if png else None)
    with drawing(png_families() if png else ("DejaVu Sans", *KOREAN_FAMILIES, "sans-serif")):
        paths = [folder / f"{name}.{format}" for name in drawn]
        for path, figure in zip(paths, drawn.values(), strict=True):
            if png:
                figure.savefig(path, format="png", dpi=_PNG_DPI)
            else:
                write_svg(figure, path)
    return paths


def _metrics(record: RunRecord, baseline: SearchSnapshot | None, told: Words) -> Figure | None:
    before = baseline.metrics.overall if baseline else None
    rows: list[Row] = []
    for metric in main_metrics(record.summary.overall):
        name = told.metric(metric.name)
        apart = metric.block == "unanswerable"
        label = told("figure.unanswerable_metric", metric=name) if apart else name
        rows += _row(label, metric, figure_of(before, metric.key) if before else None)
    if not rows:
        return None
    return forest(told("figure.metrics"), rows, _legend(baseline, told), "")


def _slices(
    record: RunRecord,
    baseline: SearchSnapshot | None,
    told: Words,
    drawable: Callable[[str], bool],
) -> Figure | None:
    rows: list[Row] = []
    left_out = 0
    for part in slices(record.summary, _TAGS):
        metric = figure_of(part.part, "search.mrr")
        old = same_slice(baseline.metrics, part.kind, part.key) if baseline else None
        label = told(f"page.kind_{part.kind}", key=part.key)
        if drawable(label):
            rows += _row(label, metric, figure_of(old, "search.mrr") if old else None)
        else:
            left_out += 1
    if not rows:
        return None
    note = told("figure.left_out", count=left_out) if left_out else ""
    return forest(told("figure.slices"), rows, _legend(baseline, told), note)


def _row(label: str, now: Metric | None, before: Metric | None) -> list[Row]:
    whisker = _whisker(now)
    return [Row(label, whisker, _whisker(before))] if whisker else []


def _whisker(metric: Metric | None) -> Whisker | None:
    if metric is None or metric.value is None:
        return None
    return Whisker(metric.value, metric.interval)


def _legend(baseline: SearchSnapshot | None, told: Words) -> list[tuple[str, str]]:
    if baseline is None:
        return []
    return [(told("figure.this_run"), "accent"), (told("figure.baseline"), "muted")]


def _judged(record: RunRecord, told: Words) -> dict[str, Figure]:
    found = judging(record)
    if not found.both_kinds or found.setting is None:
        return {}
    marks = [Mark(found.setting, told("figure.now", value=f"{found.setting:.3f}"))]
    settings = list(marks)
    if found.best:
        best = found.best.min_score
        settings.append(Mark(best, told("figure.best", value=f"{best:.3f}"), "muted", "--"))
    return {
        "threshold": _threshold(record, found, settings, told),
        "scores": _scores(record, found.kind, marks, told),
    }


def _threshold(record: RunRecord, found: Judging, marks: Sequence[Mark], told: Words) -> Figure:
    low, high = _score_range(record.items, [mark.at for mark in marks])
    settings = np.linspace(low, high, _CURVE_POINTS)
    counts = [found.at(float(setting)).counts for setting in settings]
    lines = [
        Line(told.metric("f1"), np.array([c.f1 for c in counts], float), "ink", width=2.2),
        Line(told.metric("precision"), np.array([c.precision for c in counts], float), "accent"),
        Line(told.metric("recall"), np.array([c.recall for c in counts], float), "accent", "--"),
        Line(told.metric("far"), np.array([c.far for c in counts], float), "warn", ":", 1.8),
    ]
    return curves(
        told("figure.threshold"), told(f"figure.setting_{found.kind}"), settings, lines, marks
    )


def _scores(record: RunRecord, kind: str, marks: Sequence[Mark], told: Words) -> Figure:
    edges = np.linspace(*_score_range(record.items, [mark.at for mark in marks]), _BINS + 1)
    lines: list[Line] = []
    for name, answerable, ink in (("answerable", True, "accent"), ("unanswerable", False, "warn")):
        scores = [i.answerable_score or 0.0 for i in record.items if i.answerable is answerable]
        counts = 100 * np.histogram(scores, edges)[0] / len(scores)
        lines.append(Line(told(f"figure.{name}"), counts, ink, "-" if answerable else "--"))
    labels = (told(f"figure.score_{kind}"), told("figure.share"))
    return histogram(told("figure.scores"), labels, edges, lines, marks, y_format="{x:g} %")


def _score_range(items: Sequence[ItemReport], settings: Sequence[float]) -> tuple[float, float]:
    """What holds every score and setting, with some air, within [0, 1]."""
    shown = [item.answerable_score or 0.0 for item in items] + list(settings)
    air = max(0.02, 0.04 * (max(shown) - min(shown)))
    return max(0.0, min(shown) - air), min(1.0, max(shown) + air)


def _latency(record: RunRecord, baseline: SearchSnapshot | None, told: Words) -> Figure | None:
    times = [item.latency_ms for item in record.items]
    if not times:
        return None
    marks = [
        Mark(max(_CLOCK_MS, ms), f"{name} {ms:.1f}")
        for name in _PERCENTILES
        if (ms := record.summary.overall.search.get(f"latency_{name}_ms")) is not None
    ]
    if baseline and baseline.hardware.hash == record.run.hardware.hash:
        old = baseline.metrics.overall.search.get("latency_p95_ms")
        if old is not None:
            label = told("figure.baseline_p95", value=f"{old:.1f}")
            marks.append(Mark(max(_CLOCK_MS, old), label, "muted", "--"))
    shown = [max(_CLOCK_MS, time) for time in times] + [mark.at for mark in marks]
    edges = np.geomspace(min(shown) * 0.9, max(shown) * 1.1, _BINS + 1)
    lines = [Line("", np.histogram(np.maximum(times, edges[0]), edges)[0] * 1.0, "accent")]
    labels = (told("figure.ms"), told("figure.queries"))
    return histogram(told("figure.latency"), labels, edges, lines, marks, log=True)
