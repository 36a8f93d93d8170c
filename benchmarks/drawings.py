"""Draw the figures of RESULTS.md: ratios to opponents, and growth with the chunks; both logarithmic."""

from collections.abc import Mapping, Sequence
from math import log, log10
from xml.etree import ElementTree as ET

from gigamind.reports.charts import FONTS, INK

_WIDTH, _ROW, _TOP = 900, 17, 44
_LABELS = 600  # width of the labels of duels
_PLOT, _BOTTOM = (70, 820), 300


def duels(rows: Sequence[tuple[str, float]]) -> str:
    """Draw one bar per comparison, left of the middle line if gigamind takes less.

    Args:
        rows: what was measured, beside whom, and the ratio of ours to theirs.
    """
    height = _TOP + _ROW * len(rows) + 12
    root = _sheet(height, "gigamind's part of what an opponent takes; left of the line: less")
    middle = _LABELS + (_WIDTH - _LABELS) / 2
    unit = (_WIDTH - middle - 44) / max(abs(log(ratio)) for _, ratio in rows)
    _line(root, (middle, _TOP - 6), (middle, height - 8), "ink")
    for row, (label, ratio) in enumerate(rows):
        y = _TOP + _ROW * row
        width = abs(log(ratio)) * unit
        left = middle if ratio > 1 else middle - width
        place = {"x": f"{left:.1f}", "y": f"{y}", "width": f"{width:.1f}", "height": f"{_ROW - 5}"}
        ET.SubElement(root, "rect", place | {"fill": INK["warn" if ratio > 1 else "accent"]})
        _text(root, _LABELS - 8, y + 10, label, "end")
        beyond, anchor = (left + width + 4, "start") if ratio > 1 else (left - 4, "end")
        _text(root, beyond, y + 10, f"{ratio:.2f}", anchor)
    return _as_svg(root)


def growth(sizes: Sequence[int], courses: Mapping[str, Sequence[float]]) -> str:
    """Draw one line per figure over the number of chunks.

    Args:
        courses: what is measured, with its unit -> its value at each size, above 0.
    """
    root = _sheet(_BOTTOM + 44, "By the number of chunks, both axes logarithmic")
    values = [value for course in courses.values() for value in course]
    low, high = log10(min(values)), log10(max(values))
    first, last = log10(sizes[0]), log10(sizes[-1])

    def x(size: float) -> float:
        return _PLOT[0] + (log10(size) - first) / (last - first) * (_PLOT[1] - _PLOT[0])

    def y(value: float) -> float:
        return _BOTTOM - (log10(value) - low) / (high - low) * (_BOTTOM - _TOP - 10)

    for power in range(int(low), int(high) + 1):
        across = y(10.0**power)
        _line(root, (_PLOT[0] - 6, across), (_PLOT[1] + 6, across), "grid")
        _text(root, _PLOT[0] - 12, across + 4, f"{10.0**power:g}", "end")
    for size in sizes:
        _text(root, x(size), _BOTTOM + 24, f"{size:,}", "middle")
    for label, course in courses.items():
        points = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in zip(sizes, course, strict=True))
        drawn = {"points": points, "fill": "none", "stroke": INK["accent"], "stroke-width": "1.6"}
        ET.SubElement(root, "polyline", drawn)
        for size, value in zip(sizes, course, strict=True):
            dot = {"cx": f"{x(size):.1f}", "cy": f"{y(value):.1f}", "r": "2.6"}
            ET.SubElement(root, "circle", dot | {"fill": INK["accent"]})
        middle = len(sizes) // 2  # where the lines lie apart
        _text(root, x(sizes[middle]) - 6, y(course[middle]) - 8, label, "end")
    return _as_svg(root)


def _sheet(height: float, title: str) -> ET.Element:
    size = {"width": f"{_WIDTH}", "height": f"{height:g}"}
    root = ET.Element(
        "svg",
        size
        | {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH} {height:g}",
            "font-family": FONTS,
            "font-size": "12",
            "role": "img",
        },
    )
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "rect", size | {"fill": INK["paper"]})
    _text(root, 8, 20, title, "start")
    return root


def _text(root: ET.Element, x: float, y: float, text: str, anchor: str) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "fill": INK["ink"]}
    ET.SubElement(root, "text", place).text = text


def _line(root: ET.Element, start: tuple[float, float], end: tuple[float, float], ink: str) -> None:
    (x1, y1), (x2, y2) = start, end
    ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    ET.SubElement(root, "line", ends | {"stroke": INK[ink]})


def _as_svg(root: ET.Element) -> str:
    return ET.tostring(root, encoding="unicode") + "\n"
