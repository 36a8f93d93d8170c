"""Charts as data, and how they are drawn: as SVG, 400 units wide.

A drawing has no id and no style attribute, which the policy of report.html forbids.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree as ET

from gigamind.formats import share
from gigamind.i18n import Text, Translator, _
from gigamind.text import columns

INK: dict[str, str] = {
    "ink": "#1c2024",
    "muted": "#5b6470",
    "grid": "#dce0e5",
    "paper": "#ffffff",
    "accent": "#0a5ea8",  # blue and orange: distinct for colour-blind readers
    "warn": "#b54708",
}
_WIDTH = 400
_MARGIN = 8  # left of titles and legends
FONTS = (
    'system-ui, "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR", "Noto Sans CJK KR", '
    "NanumGothic, sans-serif"
)
_VARIABLES = {name: f"var(--{name})" for name in INK}
_COLUMN = 6.3  # width of a half-width letter of size 11, on average
_LABEL_GAP = 12  # between a label and the lowest value, so that the dot does not cover it
_LEGEND_Y = 38
_COURSE = 58  # height of a metric's band
_LEAST_SPAN = 0.1  # of a band, so that noise does not look like a change
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")

# Control characters that browsers and terminals act on, without white space.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def visible(text: str) -> str:
    """Replace control characters and direction overrides by their code, as they could change the text around them."""
    return _CONTROLS.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)


# Styles of lines; dashes make them distinct without colour.
_Pen = Mapping[str, str | float]
_GRID: _Pen = {"stroke": "grid", "stroke_width": 0.8}
_COURSE_LINE: _Pen = {"stroke": "accent", "stroke_width": 1.4}
_BASELINE: _Pen = {"stroke": "warn", "stroke_width": 1.2, "stroke_dasharray": "5 2.5"}
_CHANGE: _Pen = {"stroke": "ink", "stroke_width": 1.2, "stroke_dasharray": "1.8 2.7"}


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps a value to a position on the sheet."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * part


class _Sheet:
    """An SVG element under construction; `height` is set at the end."""

    def __init__(self, inks: Mapping[str, str], label: str, say: Translator) -> None:
        self.root = ET.Element("svg", {"role": "img", "aria-label": _legible(label)})
        self.height = 0.0
        self._inks = inks
        self._say = say

    def add(self, tag: str, words: str = "", /, **attributes: str | float) -> None:
        element = ET.SubElement(self.root, tag)
        element.text = _legible(words) or None
        for name, value in attributes.items():
            text = value if isinstance(value, str) else f"{round(value, 2):zg}"
            inked = self._inks.get(text, text) if name in {"fill", "stroke"} else text
            element.set(name.replace("_", "-"), inked)

    def text(self, x: float, y: float, words: Text, size: float = 11, **more: str | float) -> None:
        if shown := self._say(words):
            self.add("text", shown, x=x, y=y, font_size=size, **{"fill": "ink", **more})

    def line(self, x: tuple[float, float], y: tuple[float, float], pen: _Pen = _GRID) -> None:
        self.add("line", x1=x[0], y1=y[0], x2=x[1], y2=y[1], **pen)

    def dot(self, x: float, y: float, *, hollow: bool) -> None:
        size, ink, fill = (2.1, "muted", "paper") if hollow else (3, "accent", "accent")
        self.add("circle", cx=x, cy=y, r=size, stroke=ink, fill=fill)

    def legend(self, entries: Iterable[tuple[Text, _Pen | bool]]) -> None:
        """Draw names, each behind its line, or behind its dot: hollow if True."""
        x = float(_MARGIN)
        for name, mark in entries:
            if isinstance(mark, bool):
                self.dot(x + 11, _LEGEND_Y, hollow=mark)
            else:
                self.line((x, x + 16), (_LEGEND_Y, _LEGEND_Y), mark)
            self.text(x + 21, _LEGEND_Y + 3.7, name, 10.5)
            x += 34 + _COLUMN * columns(self._say(name))


@dataclass(frozen=True, slots=True)
class Course:
    """One metric from run to run, None where missing; `before` is the baseline, `changes` indexes of runs from 0."""

    label: Text
    values: Sequence[float | None]
    before: float | None = None
    changes: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Trend:
    """Metrics over runs, one below the other, each on its own part of [0, 1]; the last run is the current one.

    Attributes:
        alike: by run, whether it was measured like the last one; the others are hollow.
        ends: times of the first and the last run.
    """

    title: Text
    courses: Sequence[Course]
    alike: Sequence[bool]
    ends: tuple[str, str]

    def inline_svg(self, label: str, say: Translator) -> str:
        """Return an SVG element for a page, as wide as its container; `label` is its text alternative."""
        sheet = self._drawn(_VARIABLES, label, say)
        # The page has its own margins: without that of the chart, its title aligns with the text.
        sheet.root.set("viewBox", f"{_MARGIN} 0 {_WIDTH - _MARGIN} {sheet.height:g}")
        return ET.tostring(sheet.root, encoding="unicode")

    def svg_file(self, say: Translator) -> str:
        """Return a self-contained SVG file in the colours of a white page."""
        sheet = self._drawn(INK, say(self.title), say)
        size = {"width": str(_WIDTH), "height": f"{sheet.height:g}"}
        sheet.root.attrib |= size | {"viewBox": f"0 0 {_WIDTH} {sheet.height:g}"}
        sheet.root.set("font-family", FONTS)
        sheet.root.set("xmlns", "http://www.w3.org/2000/svg")
        sheet.root.insert(0, ET.Element("rect", size | {"fill": INK["paper"]}))
        return ET.tostring(sheet.root, encoding="unicode") + "\n"

    def _drawn(self, inks: Mapping[str, str], label: str, say: Translator) -> _Sheet:
        sheet = _Sheet(inks, label, say)
        sheet.text(_MARGIN, 18, self.title, 12.5, font_weight="bold")
        x = _Scale(0, max(1, len(self.alike) - 1), 67, _WIDTH - 52)
        legend: list[tuple[Text, _Pen | bool]] = [(_("run"), False)]
        if not all(self.alike):
            legend.append((_("run with another dataset or judge"), True))
        if any(course.before is not None for course in self.courses):
            legend.append((_("baseline"), _BASELINE))
        if any(course.changes for course in self.courses):
            legend.append((_("change point"), _CHANGE))
        sheet.legend(legend)
        top = 58.0
        for course in self.courses:
            self._draw_course(sheet, course, x, top)
            top += _COURSE + 36
        for at, when, anchor in ((x.start, self.ends[0], "start"), (x.end, self.ends[1], "end")):
            sheet.text(at, top + 2, when, 10, fill="muted", text_anchor=anchor)
        sheet.height = top + 12
        return sheet

    def _draw_course(self, sheet: _Sheet, course: Course, x: _Scale, top: float) -> None:
        known = [value for value in (*course.values, course.before) if value is not None]
        middle = (max(known) + min(known)) / 2
        span = max(_LEAST_SPAN, 1.2 * (max(known) - min(known)))
        low = min(max(0.0, middle - span / 2), 1 - min(1.0, span))
        y = _Scale(min(1.0, low + span), low, top + 21, top + 21 + _COURSE)
        sheet.text(_MARGIN, top + 6, course.label, font_weight="bold")
        for tick in (y.low, y.high):
            sheet.line((x.start, x.end), (y(tick), y(tick)))
            at, number = x.start - _LABEL_GAP, f"{tick:.2f}"
            sheet.text(at, y(tick) + 3.5, number, 10, fill="muted", text_anchor="end")
        if course.before is not None:
            sheet.line((x.start, x.end), (y(course.before), y(course.before)), _BASELINE)
        for at in course.changes:
            sheet.line((x(at - 0.5), x(at - 0.5)), (y.start, y.end), _CHANGE)
        spots = [(x(at), y(value)) for at, value in enumerate(course.values) if value is not None]
        for (ax, ay), (bx, by) in pairwise(spots):
            sheet.line((ax, bx), (ay, by), _COURSE_LINE)
        for at, (value, alike) in enumerate(zip(course.values, self.alike, strict=True)):
            if value is not None:
                sheet.dot(x(at), y(value), hollow=not alike)
        if course.values[-1] is not None:
            sheet.text(x.end + 9, y(course.values[-1]) + 4, share(course.values[-1]))


def shortened(text: str, width: int) -> str:
    """Return a text of at most `width` columns, with an ellipsis if it was cut."""
    if columns(text) <= width:
        return text
    while columns(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def _legible(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", visible(text))
