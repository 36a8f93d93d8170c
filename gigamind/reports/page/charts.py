"""What each chart of report.html shows; `svg` draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.reports.figures import Figure
from gigamind.wording import Words

Ink = Literal["ink", "muted", "grid", "paper", "accent", "warn"]
_DASHES = {"dashed": "5 2.5", "dotted": "1.8 2.7"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a forest.

    Attributes:
        before: the figure in the baseline; None where there is none.
    """

    label: str
    now: Figure
    before: Figure | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """Figures with their intervals on [0, 1]; `compared` names the run and its baseline, where there is one."""

    title: str
    rows: Sequence[Row]
    compared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pen:
    """How a line is drawn; its style tells it apart where colours cannot."""

    ink: Ink
    style: Literal["solid", "dashed", "dotted"] = "solid"
    width: float = 1.4

    def attributes(self) -> dict[str, str | float]:
        """Of an SVG element."""
        dashes = {} if self.style == "solid" else {"stroke_dasharray": _DASHES[self.style]}
        return {"stroke": self.ink, "stroke_width": self.width, **dashes}


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, which breaks where a value is None, or the outline of a histogram; "" where no legend is to name it."""

    label: str
    values: Sequence[float | None]
    pen: Pen


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line with its words."""

    at: float
    label: str
    pen: Pen = Pen("ink", width=1.1)


@dataclass(frozen=True, slots=True)
class Steps:
    """Curves on [0, 1], or a histogram: each value holds between two of the ascending edges.

    Attributes:
        counted: what the y axis of a histogram counts; "" for curves.
        unit: behind each number of that axis.
        log: whether the x axis is logarithmic.
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
    """Points (x, y, number) in the unit square, larger where they stand for more, against the line of equals."""

    title: str
    x_label: str
    y_label: str
    points: Sequence[tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class Course:
    """How one figure went from run to run, oldest first; None where a run lacks it.

    Attributes:
        before: its value in the baseline.
        changes: runs, from 0, at which it took another level.
    """

    label: str
    values: Sequence[float | None]
    before: float | None = None
    changes: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Trend:
    """Figures over runs, one below the other, each on the part of [0, 1] where it moves; the last run is the one told.

    Attributes:
        alike: by run, whether it was measured as the last one was; the others are hollow.
        ends: when the first and the last run were made.
        legend: what a dot, a hollow one and the line of the baseline are.
        change: what the line of a change is; none is drawn without.
    """

    title: str
    courses: Sequence[Course]
    alike: Sequence[bool]
    ends: tuple[str, str]
    legend: tuple[str, str, str]
    change: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a figure moved, with its interval; `better` says whether that is surely for the better or the worse."""

    label: str
    value: float
    interval: tuple[float, float] | None
    better: bool | None


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences on either side of none, on the stretch where they lie."""

    title: str
    rows: Sequence[Difference]


@dataclass(frozen=True, slots=True)
class Spot:
    """A value at a place of the x axis, with its interval."""

    at: float
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A value over x; `apart` stand beside the line that joins the others."""

    label: str
    spots: Sequence[Spot]
    apart: Sequence[Spot]
    pen: Pen


@dataclass(frozen=True, slots=True)
class Surface:
    """Curves over [0, 1] and places beyond it that have names, on the stretch of y where they lie.

    Attributes:
        places: what stands at each x above 1; `places_label` is what they are.
        level: a line across, and what it is.
    """

    title: str
    x_label: str
    curves: Sequence[Curve]
    places: Mapping[float, str]
    places_label: str
    level: tuple[float, str]


Chart = Forest | Steps | Scatter | Trend | Differences | Surface


Shown = Mapping[str, Figure | None]
"""Figures by the labels of their rows; None for one that was not measured."""


def drawn(**figures: Chart | None) -> dict[str, Chart]:
    """The charts that have something to show, by name."""
    return {name: chart for name, chart in figures.items() if chart}


def forest(title: str, say: Words, now: Shown, before: Shown | None) -> Forest | None:
    """What was measured, by its label; None where that is nothing."""
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
