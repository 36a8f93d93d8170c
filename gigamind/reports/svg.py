"""The charts of report.html as SVG, 400 units wide; no id and no style attribute, which the page's policy forbids."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree as ET

from gigamind.formats import share
from gigamind.reports.charts import (
    Chart,
    Course,
    Forest,
    Ink,
    Mark,
    Pen,
    Scatter,
    Steps,
    Surface,
    Trend,
)
from gigamind.reports.figures import Figure
from gigamind.reports.text import upright
from gigamind.text import columns

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
_GRID = Pen("grid", width=0.8)
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


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


@dataclass(frozen=True, slots=True)
class _Scale:
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


class _Sheet:
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

    def dot(self, x: float, y: float, *, hollow: bool, ink: Ink = "accent") -> None:
        size, ink, fill = (2.1, "muted", "paper") if hollow else (3, ink, ink)
        self.add("circle", cx=x, cy=y, r=size, stroke=ink, fill=fill)

    def legend(self, names: Iterable[str]) -> Iterator[float]:
        x = float(MARGIN)
        for name in names:
            self.text(x + 21, _LEGEND_Y + 3.7, name, 10.5)
            yield x
            x += 34 + _COLUMN * columns(name)

    def x_axis(self, x: _Scale, ticks: Iterable[float], top: float, bottom: float) -> None:
        for tick in ticks:
            at = x(tick)
            self.line((at, at), (top, bottom + 3.5))
            self.text(at, bottom + 15, f"{tick:,g}", 10, fill="muted", text_anchor="middle")
        self.line((x.start, x.end), (bottom, bottom))


def _forest(sheet: _Sheet, chart: Forest) -> None:
    labels = [shortened(_legible(row.label), _LABEL_COLUMNS) for row in chart.rows]
    top = 56 if chart.compared else 32
    bottom = top + _ROW * len(labels)
    x = _Scale(0, 1, MARGIN + _LABEL_GAP + _COLUMN * max(map(columns, labels)), WIDTH - 50)
    for at, hollow in zip(sheet.legend(chart.compared), (False, True), strict=False):
        sheet.dot(at + 11, _LEGEND_Y, hollow=hollow)
    sheet.x_axis(x, _QUARTERS, top, bottom)
    for place, (row, label) in enumerate(zip(chart.rows, labels, strict=True)):
        y = top + _ROW * (place + 0.5)
        sheet.text(x.start - _LABEL_GAP, y + 4, label, text_anchor="end")
        sheet.text(x.end + 10, y + 4, share(row.now.value))
        if row.before:
            _whisker(sheet, x, y + 5, row.before, hollow=True)
        _whisker(sheet, x, y - (2 if row.before else 0), row.now, hollow=False)
    sheet.height = bottom + 24


def _whisker(sheet: _Sheet, x: _Scale, y: float, figure: Figure, *, hollow: bool) -> None:
    low, high = figure.interval.low, figure.interval.high
    if low is not None and high is not None:
        sheet.line((x(low), x(high)), (y, y), Pen("muted" if hollow else "accent", width=1.3))
    if figure.value is not None:
        sheet.dot(x(figure.value), y, hollow=hollow)


def _steps(sheet: _Sheet, chart: Steps) -> None:
    edges = chart.edges
    x = _Scale(edges[0], edges[-1], 56 if chart.counted else 38, _RIGHT, chart.log)
    named = [line for line in chart.lines if line.label]
    for at, line in zip(sheet.legend([line.label for line in named]), named, strict=True):
        sheet.line((at, at + 16), (_LEGEND_Y, _LEGEND_Y), line.pen)
    top = (54 if named else 32) + _MARK_ROW * len(chart.marks)
    y, numbers = _Scale(1.02, 0, top, top + 136), _QUARTERS
    if chart.counted:
        most = max(value or 0.0 for line in chart.lines for value in line.values)
        y = _Scale(1.05 * most or 1.0, 0, top, top + 116)
        numbers = {n: f"{n:,g}{chart.unit}" for n in linear_ticks(0, y.low, _MOST_Y_TICKS, 1)}
    _axes(sheet, x, y, numbers, (chart.x_label, chart.counted))
    for line in chart.lines:
        path, fill = _path(x, y, edges, line.values), {"fill": "none"}
        if chart.counted:
            path = _path(x, y, (edges[0], *edges, edges[-1]), (0, *line.values, 0))
            fill = {"fill": line.pen.ink, "fill_opacity": "0.13"}
        sheet.add("path", d=path, **fill, **line.pen.attributes())
    _marks(sheet, x, y, chart.marks)


def _scatter(sheet: _Sheet, chart: Scatter) -> None:
    x, y = _Scale(0, 1, 56, _RIGHT), _Scale(1.02, 0, 34, 212)
    _axes(sheet, x, y, _QUARTERS, (chart.x_label, chart.y_label))
    sheet.line((x(0), x(1)), (y(0), y(1)), Pen("muted", "dashed", 1))
    most = max(number for _, _, number in chart.points)
    for at, value, number in chart.points:
        radius = 2 + 5 * (number / most) ** 0.5
        sheet.add("circle", cx=x(at), cy=y(value), r=radius, fill="accent")


_COURSE = 58  # height of a figure's band
_LEAST_SPAN = 0.1  # of a band, so that noise does not look like a change


def _trend(sheet: _Sheet, chart: Trend) -> None:
    x = _Scale(0, max(1, len(chart.alike) - 1), 67, WIDTH - 52)
    top = 58.0
    compared = any(course.before is not None for course in chart.courses)
    changed = bool(chart.change) and any(course.changes for course in chart.courses)
    names, there = (*chart.legend, chart.change), (True, not all(chart.alike), compared, changed)
    kinds = [kind for kind in range(4) if there[kind]]
    for at, kind in zip(sheet.legend([names[kind] for kind in kinds]), kinds, strict=True):
        if kind > 1:
            pen = _BASELINE if kind == 2 else _CHANGE  # noqa: PLR2004
            sheet.line((at, at + 16), (_LEGEND_Y, _LEGEND_Y), pen)
        else:
            sheet.dot(at + 11, _LEGEND_Y, hollow=kind == 1)
    for course in chart.courses:
        _course(sheet, chart, course, x, top)
        top += _COURSE + 36
    for at, when, anchor in ((x.start, chart.ends[0], "start"), (x.end, chart.ends[1], "end")):
        sheet.text(at, top + 2, when, 10, fill="muted", text_anchor=anchor)
    sheet.height = top + 12


_BASELINE = Pen("warn", "dashed", 1.2)
_CHANGE = Pen("ink", "dotted", 1.2)


def _course(sheet: _Sheet, chart: Trend, course: Course, x: _Scale, top: float) -> None:
    known = [value for value in (*course.values, course.before) if value is not None]
    middle, span = (max(known) + min(known)) / 2, max(_LEAST_SPAN, 1.2 * (max(known) - min(known)))
    low = min(max(0.0, middle - span / 2), 1 - min(1.0, span))
    y = _Scale(min(1.0, low + span), low, top + 21, top + 21 + _COURSE)
    sheet.text(MARGIN, top + 6, course.label, font_weight="bold")
    for tick in (y.low, y.high):
        sheet.line((x.start, x.end), (y(tick), y(tick)))
        sheet.text(
            x.start - _LABEL_GAP, y(tick) + 3.5, f"{tick:.2f}", 10, fill="muted", text_anchor="end"
        )
    if course.before is not None:
        sheet.line((x.start, x.end), (y(course.before), y(course.before)), _BASELINE)
    for at in course.changes:
        sheet.line((x(at - 0.5), x(at - 0.5)), (y.start, y.end), _CHANGE)
    spots = [(x(at), y(value)) for at, value in enumerate(course.values) if value is not None]
    for (ax, ay), (bx, by) in pairwise(spots):
        sheet.line((ax, bx), (ay, by), Pen("accent", width=1.4))
    for at, (value, alike) in enumerate(zip(course.values, chart.alike, strict=True)):
        if value is not None:
            sheet.dot(x(at), y(value), hollow=not alike)
    if course.values[-1] is not None:
        sheet.text(x.end + 9, y(course.values[-1]) + 4, share(course.values[-1]))


_LEAST_REACH = 0.02  # of a difference, so that a tiny one does not look large
_LEVEL = Pen("muted", "dashed", 1.2)
_ASIDE = 1.6  # of curves, so that whiskers at one place do not hide each other
_SURFACE_TICKS = 5


def _surface(sheet: _Sheet, chart: Surface) -> None:
    pens = [(curve.label, curve.pen) for curve in chart.curves] + [(chart.level[1], _LEVEL)]
    for at, (_name, pen) in zip(sheet.legend([name for name, _pen in pens]), pens, strict=True):
        sheet.line((at, at + 16), (_LEGEND_Y, _LEGEND_Y), pen)
    spots = [spot for curve in chart.curves for spot in (*curve.spots, *curve.apart)]
    ends = [end for spot in spots for end in (spot.value, *spot.interval)] + [chart.level[0]]
    margin = max(_LEAST_REACH, 0.06 * (max(ends) - min(ends)))
    y = _Scale(max(ends) + margin, min(ends) - margin, 56, 226)
    x = _Scale(-0.04, max([1.0, *chart.places]) + 0.06, 46, _RIGHT)
    numbers = {tick: f"{tick:z.2f}" for tick in linear_ticks(y.high, y.low, _SURFACE_TICKS)}
    for tick, number in numbers.items():
        sheet.line((x.start, x.end), (y(tick), y(tick)))
        sheet.text(x.start - 7, y(tick) + 3.5, number, 10, fill="muted", text_anchor="end")
    sheet.x_axis(x, [tenths / 5 for tenths in range(6)], y.start, y.end)
    named: dict[str, str | float] = {"fill": "muted", "text_anchor": "middle"}
    for at, name in chart.places.items():
        sheet.text(x(at), y.end + 15, name, 10, **named)
    sheet.text((x(0) + x(1)) / 2, y.end + 31, chart.x_label, 10.5, **named)
    if chart.places:
        middle = (min(chart.places) + max(chart.places)) / 2
        sheet.text(x(middle), y.end + 31, chart.places_label, 10.5, **named)
    sheet.line((x.start, x.end), (y(chart.level[0]), y(chart.level[0])), _LEVEL)
    for number, curve in enumerate(chart.curves):
        aside = _ASIDE * (2 * number - len(chart.curves) + 1)
        for before, after in pairwise(curve.spots):
            xs = x(before.at) + aside, x(after.at) + aside
            sheet.line(xs, (y(before.value), y(after.value)), curve.pen)
        for spot in (*curve.spots, *curve.apart):
            at, (low, high) = x(spot.at) + aside, spot.interval
            sheet.line((at, at), (y(low), y(high)), Pen(curve.pen.ink, width=1))
            fill = curve.pen.ink if curve.pen.style == "solid" else "paper"
            sheet.add("circle", cx=at, cy=y(spot.value), r=2.8, stroke=curve.pen.ink, fill=fill)
    sheet.height = y.end + 40


def _drawn(chart: Chart, inks: Mapping[str, str], label: str) -> _Sheet:
    sheet = _Sheet(inks, label)
    sheet.text(MARGIN, 18, chart.title, 12.5, font_weight="bold")
    match chart:
        case Forest():
            _forest(sheet, chart)
        case Steps():
            _steps(sheet, chart)
        case Scatter():
            _scatter(sheet, chart)
        case Trend():
            _trend(sheet, chart)
        case Surface():
            _surface(sheet, chart)
    return sheet


def _axes(
    sheet: _Sheet, x: _Scale, y: _Scale, y_ticks: Mapping[float, str], labels: tuple[str, str]
) -> None:
    for tick, number in y_ticks.items():
        sheet.line((x.start, x.end), (y(tick), y(tick)))
        sheet.text(x.start - 7, y(tick) + 3.5, number, 10, fill="muted", text_anchor="end")
    x_ticks = log_ticks(x.low, x.high) if x.log else linear_ticks(x.low, x.high, _MOST_X_TICKS)
    sheet.x_axis(x, x_ticks, y.end, y.end)
    named: dict[str, str | float] = {"fill": "muted", "text_anchor": "middle"}
    sheet.text((x.start + x.end) / 2, y.end + 31, labels[0], 10.5, **named)
    at, middle = MARGIN + 11, (y.start + y.end) / 2  # glyphs of Hangul rise higher than Latin ones
    turned = f"rotate(-90 {at} {_short(middle)})"
    sheet.text(at, middle, labels[1], 10.5, transform=turned, **named)
    sheet.height = y.end + 40


def _marks(sheet: _Sheet, x: _Scale, y: _Scale, marks: Sequence[Mark]) -> None:
    """Draw lines with labels above, on the side with room; the nearer to an edge, the higher."""
    middle = (x.start + x.end) / 2
    for row, mark in enumerate(sorted(marks, key=lambda mark: -abs(x(mark.at) - middle))):
        at, foot = x(mark.at), y.start - 5 - _MARK_ROW * (len(marks) - 1 - row)
        sheet.line((at, at), (y.end, foot - 8), mark.pen)
        # The line of another mark may cross the label: the label covers it.
        cut: dict[str, str | float] = {
            "stroke": "paper",
            "stroke_width": 3,
            "paint_order": "stroke",
        }
        aside, anchor = (-4, "end") if at > middle else (4, "start")
        sheet.text(at + aside, foot, mark.label, 10, fill=mark.pen.ink, text_anchor=anchor, **cut)


def _path(x: _Scale, y: _Scale, edges: Sequence[float], values: Sequence[float | None]) -> str:
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
