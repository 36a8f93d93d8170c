"""The data of the charts of report.html; `svg` draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.i18n import Translator, _
from gigamind.reports.figures import Figure

Ink = Literal["ink", "muted", "grid", "paper", "accent", "warn"]
_DASHES = {"dashed": "5 2.5", "dotted": "1.8 2.7"}


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


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points (x, y, number) in the unit square, with an area by number, and the diagonal."""

    title: str
    x_label: str
    y_label: str
    points: Sequence[tuple[float, float, int]]


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
        change: label of the lines at change points; "" draws none.
    """

    title: str
    courses: Sequence[Course]
    alike: Sequence[bool]
    ends: tuple[str, str]
    legend: tuple[str, str, str]
    change: str = ""


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


Chart = Forest | Steps | Scatter | Trend | Surface


Shown = Mapping[str, Figure | None]
"""Metrics by row label; None for one that was not measured."""


def drawn(**figures: Chart | None) -> dict[str, Chart]:
    """Return the charts with data, by name."""
    return {name: chart for name, chart in figures.items() if chart}


def forest(title: str, say: Translator, now: Shown, before: Shown | None) -> Forest | None:
    """Return the measured metrics as a forest plot; None if there are none."""
    known = {
        label: figure
        for label, figure in (before or {}).items()
        if figure and figure.value is not None
    }
    rows = [
        Row(label, figure, known.get(label))
        for label, figure in now.items()
        if figure and figure.value is not None
    ]
    compared = () if before is None else (say(_("this run")), say(_("baseline")))
    return Forest(title, rows, compared) if rows else None
