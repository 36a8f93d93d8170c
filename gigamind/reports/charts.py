"""Charts as data, and how they are drawn: as SVG, 400 units wide.

A drawing has no id and no style attribute, which the policy of report.html forbids.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal
from xml.etree import ElementTree as ET

from gigamind.formats import share
from gigamind.i18n import Translator, _
from gigamind.reports.figures import Figure
from gigamind.reports.text import upright
from gigamind.text import columns

Ink = Literal["ink", "muted", "grid", "paper", "accent", "warn"]
INK: dict[str, str] = {
    "ink": "#1c2024",
    "muted": "#5b6470",
    "grid": "#dce0e5",
    "paper": "#ffffff",
    "accent": "#0a5ea8",  # blue and orange: distinct for colour-blind readers
    "warn": "#b54708",
}
WIDTH = 400
MARGIN = 8  # left of titles and legends
FONTS = (
    'system-ui, "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR", "Noto Sans CJK KR", '
    "NanumGothic, sans-serif"
)
_DASHES = {"dashed": "5 2.5", "dotted": "1.8 2.7"}
_QUARTERS = {0.0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1.0: "1"}
_VARIABLES = {name: f"var(--{name})" for name in INK}
_COLUMN = 6.3  # width of a half-width letter of size 11, on average
_LABEL_COLUMNS = 24
_LABEL_GAP = 12  # between a label and the lowest value, so that the dot does not cover it
_ROW = 21
_LEGEND_Y = 38
_MARK_ROW = 14
_RIGHT = WIDTH - 14
_MOST_X_TICKS = 9
_MOST_Y_TICKS = 6
_COURSE = 58  # height of a metric's band
_LEAST_SPAN = 0.1  # of a band, so that noise does not look like a change
_LEAST_MARGIN = 0.02  # around values, so that a tiny difference does not look large
_ASIDE = 1.6  # of curves, so that whiskers at one place do not hide each other
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Pen:
    """The style of a line; dashes make it distinct without colour."""

    ink: Ink
    style: Literal["solid", "dashed", "dotted"] = "solid"
    width: float = 1.4

    def attributes(self) -> dict[str, str | float]:
        """Return the attributes of an SVG element."""
        dashes = {} if self.style == "solid" else {"stroke_dasharray": _DASHES[self.style]}
        return {"stroke": self.ink, "stroke_width": self.width, **dashes}


_GRID = Pen("grid", width=0.8)
_LEVEL = Pen("muted", "dashed", 1.2)
_BASELINE = Pen("warn", "dashed", 1.2)
_CHANGE = Pen("ink", "dotted", 1.2)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps a value to a position on the sheet."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return self.start + (self.end - self.start) * (at - low) / (high - low)


class Sheet:
    """An SVG element under construction; `height` is set at the end."""

    def __init__(self, inks: Mapping[str, str], label: str) -> None:
        self.root = ET.Element("svg", {"role": "img", "aria-label": _legible(label)})
        self.height = 0.0
        self._inks = inks

    def add(self, tag: str, words: str = "", /, **attributes: str | float) -> None:
        element = ET.SubElement(self.root, tag)
        element.text = _legible(words) or None
        for name, value in attributes.items():
            text = value if isinstance(value, str) else _short(value)
            inked = self._inks.get(text, text) if name in {"fill", "stroke"} else text
            element.set(name.replace("_", "-"), inked)

    def text(self, x: float, y: float, words: str, size: float = 11, **more: str | float) -> None:
        if words:
            self.add("text", words, x=x, y=y, font_size=size, **{"fill": "ink", **more})

    def line(self, x: tuple[float, float], y: tuple[float, float], pen: Pen = _GRID) -> None:
        self.add("line", x1=x[0], y1=y[0], x2=x[1], y2=y[1], **pen.attributes())

    def dot(self, x: float, y: float, *, hollow: bool) -> None:
        size, ink, fill = (2.1, "muted", "paper") if hollow else (3, "accent", "accent")
        self.add("circle", cx=x, cy=y, r=size, stroke=ink, fill=fill)

    def legend(self, entries: Iterable[tuple[str, Pen | bool]]) -> None:
        """Draw names, each behind its line, or behind its dot: hollow if True."""
        x = float(MARGIN)
        for name, mark in entries:
            if isinstance(mark, Pen):
                self.line((x, x + 16), (_LEGEND_Y, _LEGEND_Y), mark)
            else:
                self.dot(x + 11, _LEGEND_Y, hollow=mark)
            self.text(x + 21, _LEGEND_Y + 3.7, name, 10.5)
            x += 34 + _COLUMN * columns(name)

    def x_axis(self, x: Scale, ticks: Iterable[float], top: float, bottom: float) -> None:
        for tick in ticks:
            at = x(tick)
            self.line((at, at), (top, bottom + 3.5))
            self.middle(at, bottom + 15, f"{tick:,g}", 10)
        self.line((x.start, x.end), (bottom, bottom))

    def y_axis(self, x: Scale, y: Scale, ticks: Mapping[float, str], gap: float = 7) -> None:
        for tick, number in ticks.items():
            self.line((x.start, x.end), (y(tick), y(tick)))
            at = x.start - gap
            self.text(at, y(tick) + 3.5, number, 10, fill="muted", text_anchor="end")

    def middle(self, x: float, y: float, words: str, size: float = 10.5, **more: str) -> None:
        self.text(x, y, words, size, fill="muted", text_anchor="middle", **more)

    def axes(self, x: Scale, y: Scale, y_ticks: Mapping[float, str], *labels: str) -> None:
        self.y_axis(x, y, y_ticks)
        x_ticks = log_ticks(x.low, x.high) if x.log else linear_ticks(x.low, x.high, _MOST_X_TICKS)
        self.x_axis(x, x_ticks, y.end, y.end)
        self.middle((x.start + x.end) / 2, y.end + 31, labels[0])
        at, half = MARGIN + 11, (y.start + y.end) / 2  # Hangul rises higher than Latin letters
        self.middle(at, half, labels[1], transform=f"rotate(-90 {at} {_short(half)})")
        self.height = y.end + 40


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a forest plot; `before` is the metric in the baseline, None if there is none."""

    label: str
    now: Figure
    before: Figure | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """Metrics with their intervals on [0, 1]; `compared` names the run and its baseline, if there is one."""

    title: str
    rows: Sequence[Row]
    compared: tuple[str, ...] = ()

    def draw(self, sheet: Sheet) -> None:
        labels = [shortened(_legible(row.label), _LABEL_COLUMNS) for row in self.rows]
        top = 56 if self.compared else 32
        bottom = top + _ROW * len(labels)
        x = Scale(0, 1, MARGIN + _LABEL_GAP + _COLUMN * max(map(columns, labels)), WIDTH - 50)
        sheet.legend(zip(self.compared, (False, True), strict=False))
        sheet.x_axis(x, _QUARTERS, top, bottom)
        for place, (row, label) in enumerate(zip(self.rows, labels, strict=True)):
            y = top + _ROW * (place + 0.5)
            sheet.text(x.start - _LABEL_GAP, y + 4, label, text_anchor="end")
            sheet.text(x.end + 10, y + 4, share(row.now.value))
            for figure, hollow in ((row.before, True), (row.now, False)):
                if figure is None or figure.value is None:
                    continue
                at = y + 5 if hollow else y - (2 if row.before else 0)
                low, high = figure.interval.low, figure.interval.high
                if low is not None and high is not None:
                    pen = Pen("muted" if hollow else "accent", width=1.3)
                    sheet.line((x(low), x(high)), (at, at), pen)
                sheet.dot(x(figure.value), at, hollow=hollow)
        sheet.height = bottom + 24


@dataclass(frozen=True, slots=True)
class Line:
    """A curve with gaps at None, or the outline of a histogram; the label "" keeps it out of the legend."""

    label: str
    values: Sequence[float | None]
    pen: Pen


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line with its label."""

    at: float
    label: str
    pen: Pen = Pen("ink", width=1.1)


@dataclass(frozen=True, slots=True)
class Steps:
    """Curves on [0, 1], or a histogram: each value applies between two of the ascending edges.

    `counted` is the unit of a histogram's y axis ("" for curves), `unit` the suffix of its numbers, `log` its x axis.
    """

    title: str
    x_label: str
    edges: Sequence[float]
    lines: Sequence[Line]
    marks: Sequence[Mark]
    counted: str = ""
    unit: str = ""
    log: bool = False

    def draw(self, sheet: Sheet) -> None:
        edges = self.edges
        x = Scale(edges[0], edges[-1], 56 if self.counted else 38, _RIGHT, self.log)
        named = [(line.label, line.pen) for line in self.lines if line.label]
        sheet.legend(named)
        top = (54 if named else 32) + _MARK_ROW * len(self.marks)
        y, numbers = Scale(1.02, 0, top, top + 136), _QUARTERS
        if self.counted:
            most = max(value or 0.0 for line in self.lines for value in line.values)
            y = Scale(1.05 * most or 1.0, 0, top, top + 116)
            numbers = {n: f"{n:,g}{self.unit}" for n in linear_ticks(0, y.low, _MOST_Y_TICKS, 1)}
        sheet.axes(x, y, numbers, self.x_label, self.counted)
        for line in self.lines:
            path, fill = _path(x, y, edges, line.values), {"fill": "none"}
            if self.counted:
                path = _path(x, y, (edges[0], *edges, edges[-1]), (0, *line.values, 0))
                fill = {"fill": line.pen.ink, "fill_opacity": "0.13"}
            sheet.add("path", d=path, **fill, **line.pen.attributes())
        self._draw_marks(sheet, x, y)

    def _draw_marks(self, sheet: Sheet, x: Scale, y: Scale) -> None:
        """Draw lines with labels above, on the side with room; the nearer to an edge, the higher."""
        middle = (x.start + x.end) / 2
        for row, mark in enumerate(sorted(self.marks, key=lambda m: -abs(x(m.at) - middle))):
            at, foot = x(mark.at), y.start - 5 - _MARK_ROW * (len(self.marks) - 1 - row)
            sheet.line((at, at), (y.end, foot - 8), mark.pen)
            # The line of another mark may cross the label: the label covers it.
            cut = {"stroke": "paper", "stroke_width": "3", "paint_order": "stroke"}
            aside, anchor = (-4, "end") if at > middle else (4, "start")
            ink = mark.pen.ink
            sheet.text(at + aside, foot, mark.label, 10, fill=ink, text_anchor=anchor, **cut)


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points (x, y, number) in the unit square, with an area by number, and the diagonal."""

    title: str
    x_label: str
    y_label: str
    points: Sequence[tuple[float, float, int]]

    def draw(self, sheet: Sheet) -> None:
        x, y = Scale(0, 1, 56, _RIGHT), Scale(1.02, 0, 34, 212)
        sheet.axes(x, y, _QUARTERS, self.x_label, self.y_label)
        sheet.line((x(0), x(1)), (y(0), y(1)), Pen("muted", "dashed", 1))
        most = max(number for _x, _y, number in self.points)
        for at, value, number in self.points:
            radius = 2 + 5 * (number / most) ** 0.5
            sheet.add("circle", cx=x(at), cy=y(value), r=radius, fill="accent")


@dataclass(frozen=True, slots=True)
class Course:
    """One metric from run to run, None where missing; `before` is the baseline, `changes` indexes of runs from 0."""

    label: str
    values: Sequence[float | None]
    before: float | None = None
    changes: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Trend:
    """Metrics over runs, one below the other, each on its own part of [0, 1]; the last run is the current one.

    Attributes:
        alike: by run, whether it was measured like the last one; the others are hollow.
        legend: labels of a dot, a hollow dot and the line of the baseline.
        title: "" also leaves out the legend, which the chart beside it has.
        change: label of the lines at change points; "" draws none.
    """

    title: str
    courses: Sequence[Course]
    alike: Sequence[bool]
    ends: tuple[str, str]
    legend: tuple[str, str, str]
    change: str = ""

    def draw(self, sheet: Sheet) -> None:
        x = Scale(0, max(1, len(self.alike) - 1), 67, WIDTH - 52)
        used = (
            True,
            not all(self.alike),
            any(course.before is not None for course in self.courses),
            bool(self.change) and any(course.changes for course in self.courses),
        )
        names = (*self.legend, self.change)
        entries = zip(names, (False, True, _BASELINE, _CHANGE), strict=True)
        if self.title:
            sheet.legend(entry for entry, is_used in zip(entries, used, strict=True) if is_used)
        top = 58.0
        for course in self.courses:
            self._draw_course(sheet, course, x, top)
            top += _COURSE + 36
        for at, when, anchor in ((x.start, self.ends[0], "start"), (x.end, self.ends[1], "end")):
            sheet.text(at, top + 2, when, 10, fill="muted", text_anchor=anchor)
        sheet.height = top + 12

    def _draw_course(self, sheet: Sheet, course: Course, x: Scale, top: float) -> None:
        known = [value for value in (*course.values, course.before) if value is not None]
        middle = (max(known) + min(known)) / 2
        span = max(_LEAST_SPAN, 1.2 * (max(known) - min(known)))
        low = min(max(0.0, middle - span / 2), 1 - min(1.0, span))
        y = Scale(min(1.0, low + span), low, top + 21, top + 21 + _COURSE)
        sheet.text(MARGIN, top + 6, course.label, font_weight="bold")
        sheet.y_axis(x, y, {tick: f"{tick:.2f}" for tick in (y.low, y.high)}, _LABEL_GAP)
        if course.before is not None:
            sheet.line((x.start, x.end), (y(course.before), y(course.before)), _BASELINE)
        for at in course.changes:
            sheet.line((x(at - 0.5), x(at - 0.5)), (y.start, y.end), _CHANGE)
        spots = [(x(at), y(value)) for at, value in enumerate(course.values) if value is not None]
        for (ax, ay), (bx, by) in pairwise(spots):
            sheet.line((ax, bx), (ay, by), Pen("accent", width=1.4))
        for at, (value, alike) in enumerate(zip(course.values, self.alike, strict=True)):
            if value is not None:
                sheet.dot(x(at), y(value), hollow=not alike)
        if course.values[-1] is not None:
            sheet.text(x.end + 9, y(course.values[-1]) + 4, share(course.values[-1]))


@dataclass(frozen=True, slots=True)
class Spot:
    """A value at a position of the x axis, with its interval."""

    at: float
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A value over x; `apart` are points that the line does not join."""

    label: str
    spots: Sequence[Spot]
    apart: Sequence[Spot]
    pen: Pen


@dataclass(frozen=True, slots=True)
class Surface:
    """Curves over [0, 1], and `places` above 1 (axis `places_label`); `level` is a labelled horizontal line."""

    title: str
    x_label: str
    curves: Sequence[Curve]
    places: Mapping[float, str]
    places_label: str
    level: tuple[float, str]

    def draw(self, sheet: Sheet) -> None:
        level, level_label = self.level
        sheet.legend([*((c.label, c.pen) for c in self.curves), (level_label, _LEVEL)])
        spots = [spot for curve in self.curves for spot in (*curve.spots, *curve.apart)]
        ends = [end for spot in spots for end in (spot.value, *spot.interval)] + [level]
        margin = max(_LEAST_MARGIN, 0.06 * (max(ends) - min(ends)))
        y = Scale(max(ends) + margin, min(ends) - margin, 56, 226)
        x = Scale(-0.04, max([1.0, *self.places]) + 0.06, 46, _RIGHT)
        ticks = linear_ticks(y.high, y.low, _MOST_Y_TICKS - 1)
        sheet.y_axis(x, y, {tick: f"{tick:z.2f}" for tick in ticks})
        sheet.x_axis(x, [tenths / 5 for tenths in range(6)], y.start, y.end)
        for at, name in self.places.items():
            if self.places_label:
                sheet.middle(x(at), y.end + 15, name, 10)
            else:  # a name is too long for a tick
                sheet.text(x.end, y.end - 5, name, 10, fill="muted", text_anchor="end")
        sheet.middle(x(0.5), y.end + 31, self.x_label)
        if self.places:
            half = (min(self.places) + max(self.places)) / 2
            sheet.middle(x(half), y.end + 31, self.places_label)
        sheet.line((x.start, x.end), (y(level), y(level)), _LEVEL)
        for number, curve in enumerate(self.curves):
            aside = _ASIDE * (2 * number - len(self.curves) + 1)
            for before, after in pairwise(curve.spots):
                xs = x(before.at) + aside, x(after.at) + aside
                sheet.line(xs, (y(before.value), y(after.value)), curve.pen)
            for spot in (*curve.spots, *curve.apart):
                at, (low, high), ink = x(spot.at) + aside, spot.interval, curve.pen.ink
                sheet.line((at, at), (y(low), y(high)), Pen(ink, width=1))
                fill = ink if curve.pen.style == "solid" else "paper"
                sheet.add("circle", cx=at, cy=y(spot.value), r=2.8, stroke=ink, fill=fill)
        sheet.height = y.end + 40


Chart = Forest | Steps | Scatter | Trend | Surface
Shown = Mapping[str, Figure | None]
"""Metrics by row label; None for one that was not measured."""


def drawn(**figures: Chart | None) -> dict[str, Chart]:
    """Return the charts with data, by name."""
    return {name: chart for name, chart in figures.items() if chart}


def forest(title: str, say: Translator, now: Shown, before: Shown | None) -> Forest | None:
    """Return the measured metrics as a forest plot; None if there are none."""
    rows = [
        Row(label, figure, (before or {}).get(label))
        for label, figure in now.items()
        if figure and figure.value is not None
    ]
    compared = () if before is None else (say(_("this run")), say(_("baseline")))
    return Forest(title, rows, compared) if rows else None


def inline_svg(chart: Chart, label: str) -> str:
    """Return an SVG element for a page, as wide as its container; `label` is its text alternative."""
    sheet = _drawn(chart, _VARIABLES, label)
    # The page has its own margins: without that of the chart, its title aligns with the text.
    sheet.root.set("viewBox", f"{MARGIN} 0 {WIDTH - MARGIN} {sheet.height:g}")
    return ET.tostring(sheet.root, encoding="unicode")


def svg_file(chart: Chart) -> str:
    """Return a self-contained SVG file in the colours of a white page."""
    sheet = _drawn(chart, INK, chart.title)
    size = {"width": str(WIDTH), "height": f"{sheet.height:g}"}
    sheet.root.attrib |= size | {"viewBox": f"0 0 {WIDTH} {sheet.height:g}", "font-family": FONTS}
    sheet.root.set("xmlns", "http://www.w3.org/2000/svg")
    sheet.root.insert(0, ET.Element("rect", size | {"fill": INK["paper"]}))
    return ET.tostring(sheet.root, encoding="unicode") + "\n"


def _drawn(chart: Chart, inks: Mapping[str, str], label: str) -> Sheet:
    sheet = Sheet(inks, label)
    sheet.text(MARGIN, 18, chart.title, 12.5, font_weight="bold")
    chart.draw(sheet)
    return sheet


def shortened(text: str, width: int) -> str:
    """Return a text of at most `width` columns, with an ellipsis if it was cut."""
    if columns(text) <= width:
        return text
    while columns(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def linear_ticks(low: float, high: float, most: int, least: float = 0.0) -> list[float]:
    """Return about `most` multiples of a step; a step is 1, 2 or 5 times a power of ten, or `least`."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = max(least, next(times * power for times in (1, 2, 5, 10) if times * power >= rough))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks 1, 2, 5, 10 and so on; only powers of ten on a long axis, even steps on a short one."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [times * 10.0**power for power in powers for times in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    if len(shown) > _MOST_X_TICKS:
        shown = [tick for tick in ticks[::3] if low <= tick <= high]
    return shown if len(shown) > 1 else linear_ticks(low, high, _MOST_X_TICKS)


def _path(x: Scale, y: Scale, edges: Sequence[float], values: Sequence[float | None]) -> str:
    path, broken = "", True
    for (start, end), value in zip(pairwise(edges), values, strict=True):
        if value is not None:
            way = f"M{_short(x(start))} " if broken else "V"
            path += f"{way}{_short(y(value))}H{_short(x(end))}"
        broken = value is None
    return path


def _short(number: float) -> str:
    return f"{round(number, 2):zg}"


def _legible(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", str(upright(text)))
