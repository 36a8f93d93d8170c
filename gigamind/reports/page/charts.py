"""How each figure is drawn: points on matplotlib axes, without any choice of what is shown.

Every chart is 400 points wide, so that its letters stay readable on a phone.  Lengths are points, 72 to the inch.
Colours come from `INK` alone: the page replaces each by a variable of its own, and so follows light or dark.
"""

# matplotlib's own types leave every **kwargs unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from gigamind.reports.page.typeface import columns, shortened
from gigamind.reports.schema import IntervalReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = {
    "ink": "#1c2024",
    "muted": "#5b6470",
    "grid": "#dce0e5",
    "paper": "#ffffff",
    "accent": "#0a5ea8",  # blue and orange: told apart by the colour-blind, and by line style beside
    "warn": "#b54708",
}
WIDTH = 400
MARGIN = 8  # left of titles and legends
_POINT = 72
_COLUMN = 6.3  # points that a half-width letter of 11 points takes, on average
_LABEL_COLUMNS = 24
_MARKED_TOP = 56  # title and legend
_MARK_ROW = 13
_RIGHT_HALF = 0.5
Style = Literal["-", "--", ":"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Whisker:
    """A figure with its interval."""

    value: float
    interval: IntervalReport


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a forest chart."""

    label: str
    now: Whisker
    before: Whisker | None


@dataclass(frozen=True, slots=True)
class Line:
    """A curve or a histogram outline.

    Attributes:
        style: as matplotlib writes it.
    """

    label: str
    values: Floats
    ink: str
    style: Style = "-"
    width: float = 1.4


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line at a value, with words."""

    at: float
    label: str
    ink: str = "ink"
    style: Style = "-"


def forest(title: str, rows: Sequence[Row], legend: Sequence[tuple[str, str]], note: str) -> Figure:
    """Values with intervals, one row each, on [0, 1]; what was before stands hollow below its row's middle."""
    labels = [shortened(row.label, _LABEL_COLUMNS) for row in rows]
    left = 14 + _COLUMN * max((columns(label) for label in labels), default=0)
    top = 58 if legend else 34
    height = top + 21 * len(rows) + (44 if note else 28)
    figure, axes = _canvas(title, height, left=left, right=50, top=top, bottom=44 if note else 28)
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), labels)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.grid(axis="x")
    for at, row in enumerate(rows):
        if row.before:
            _whisker(axes, row.before, at + 0.24, "muted", hollow=True)
        _whisker(axes, row.now, at - (0.1 if row.before else 0), "accent", hollow=False)
        axes.text(
            1.03, at, f"{row.now.value:.3f}", va="center", transform=axes.get_yaxis_transform()
        )
    x = float(MARGIN)
    for label, ink in legend:
        x = _legend_entry(figure, x, Line(label, np.empty(0), ink), marker=True)
    if note:
        figure.text(MARGIN / WIDTH, 8 / height, note, color=INK["muted"], size=9.5)
    return figure


def curves(
    title: str, x_label: str, x: Floats, lines: Sequence[Line], marks: Sequence[Mark]
) -> Figure:
    """Step curves on [0, 1]: a value holds from the x before it, excluded, to its own."""
    top = _MARKED_TOP + _MARK_ROW * len(marks)
    figure, axes = _canvas(title, 176 + top, left=38, right=14, top=top, bottom=40)
    at = float(MARGIN)
    for line in lines:
        axes.plot(
            x,
            line.values,
            color=INK[line.ink],
            linestyle=line.style,
            linewidth=line.width,
            drawstyle="steps-pre",
        )
        at = _legend_entry(figure, at, line)
    axes.set(xlim=(x[0], x[-1]), ylim=(0, 1.02), xlabel=x_label)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.tick_params(axis="y", labelsize=10, labelcolor=INK["muted"])
    axes.grid(axis="y")
    _marks(axes, marks)
    return figure


def histogram(
    title: str,
    labels: tuple[str, str],
    edges: Floats,
    lines: Sequence[Line],
    marks: Sequence[Mark],
    *,
    y_format: str = "{x:g}",
    log: bool = False,
) -> Figure:
    """Outlines over the bins between `edges`; `labels` name the x and the y axis."""
    top = _MARKED_TOP + _MARK_ROW * len(marks)
    figure, axes = _canvas(title, 156 + top, left=52, right=14, top=top, bottom=40)
    axes.yaxis.set_major_formatter(y_format)
    at = float(MARGIN)
    if log:
        axes.set_xscale("log")
        _plain_log_ticks(axes)
    for line in lines:
        color = INK[line.ink]
        axes.stairs(line.values, edges, color=color, linewidth=line.width, linestyle=line.style)
        axes.stairs(line.values, edges, color=color, fill=True, alpha=0.13, linewidth=0)
        if line.label:
            at = _legend_entry(figure, at, line)
    axes.set(xlim=(edges[0], edges[-1]), xlabel=labels[0], ylabel=labels[1])
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="y", labelsize=10, labelcolor=INK["muted"])
    axes.grid(axis="y")
    _marks(axes, marks)
    return figure


def scatter(
    title: str, labels: tuple[str, str], points: Sequence[tuple[float, float, int]]
) -> Figure:
    """Points (x, y, number) in the unit square, larger where they stand for more, against the line of equals."""
    figure, axes = _canvas(title, 252, left=52, right=14, top=34, bottom=40)
    axes.plot([0, 1], [0, 1], color=INK["muted"], linewidth=1, linestyle="--")
    most = max(number for _, _, number in points)
    for x, y, number in points:
        size = 4 + 10 * (number / most) ** 0.5
        axes.plot([x], [y], color=INK["accent"], marker="o", markersize=size, clip_on=False)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=labels[0], ylabel=labels[1])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.tick_params(axis="y", labelsize=10, labelcolor=INK["muted"])
    axes.grid(axis="both")
    return figure


def _canvas(
    title: str, height: float, *, left: float, right: float, top: float, bottom: float
) -> tuple[Figure, Axes]:
    """A figure with one axes inside fixed margins: measured layouts would mistake the width of Korean text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / _POINT, height / _POINT), dpi=_POINT)
    axes = figure.add_axes(
        (left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (top + bottom) / height)
    )
    axes.set_axisbelow(True)
    figure.text(MARGIN / WIDTH, 1 - 18 / height, title, weight="bold", size=12.5)
    return figure, axes


def _whisker(axes: Axes, drawn: Whisker, y: float, ink: str, *, hollow: bool) -> None:
    low, high = drawn.interval.low, drawn.interval.high
    color = INK[ink]
    if low is not None and high is not None:
        axes.plot([low, high], [y, y], color=color, linewidth=1.3, solid_capstyle="round")
    axes.plot(
        [drawn.value],
        [y],
        color=color,
        marker="o",
        markersize=4.2 if hollow else 6,
        markerfacecolor=INK["paper"] if hollow else color,
        markeredgecolor=color,
        clip_on=False,
    )


def _legend_entry(figure: Figure, x: float, line: Line, *, marker: bool = False) -> float:
    """Draw one entry below the title, `x` points from the left; where the next one starts."""
    from matplotlib.lines import Line2D

    height = figure.get_figheight() * _POINT
    y = 1 - 38 / height
    hollow = line.ink == "muted"
    figure.add_artist(
        Line2D(
            [x / WIDTH, (x + 16) / WIDTH] if not marker else [(x + 8) / WIDTH],
            [y, y] if not marker else [y],
            color=INK[line.ink],
            linewidth=line.width,
            linestyle=line.style,
            marker="o" if marker else "",
            markersize=5,
            markerfacecolor=INK["paper"] if hollow else INK[line.ink],
        )
    )
    figure.text((x + 21) / WIDTH, y, line.label, va="center_baseline", size=10.5)
    return x + 34 + _COLUMN * columns(line.label)


def _marks(axes: Axes, marks: Sequence[Mark]) -> None:
    """Vertical lines with their words above, each a row lower than the one before, on the side that has room."""
    low, high = axes.transData.transform([(x, 0) for x in axes.get_xlim()])[:, 0]
    for at, mark in enumerate(sorted(marks, key=lambda mark: mark.at)):
        axes.axvline(mark.at, color=INK[mark.ink], linewidth=1.1, linestyle=mark.style)
        place = (axes.transData.transform((mark.at, 0))[0] - low) / (high - low)
        to_left = place > _RIGHT_HALF
        axes.annotate(
            mark.label,
            (mark.at, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(4 if to_left else -4, 5 + _MARK_ROW * (len(marks) - 1 - at)),
            textcoords="offset points",
            ha="right" if to_left else "left",
            color=INK[mark.ink],
            size=10,
        )


def _plain_log_ticks(axes: Axes) -> None:
    """1, 2, 5, 10 as plain numbers; matplotlib's own labels are formulas."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
