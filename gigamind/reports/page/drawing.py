"""The look of every figure, and how one is written as SVG.  matplotlib is loaded when one is drawn, never before."""

# matplotlib's own types leave every **kwargs unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gigamind.reports.page.charts import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType


_OURS = "gigamind"


def write_svg(figure: Figure, target: Path | IO[str], facecolor: str = INK["paper"]) -> None:
    """Write a figure as SVG with its text as text, the same bytes each time; call it in `drawing`."""
    with warnings.catch_warnings():
        # Which letters the measuring font has does not matter: the reader's browser has others.
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing from font", category=UserWarning
        )
        figure.savefig(target, format="svg", metadata={"Date": None}, facecolor=facecolor)


@contextmanager
def drawing(families: Sequence[str] | None = None) -> Generator[None]:
    """Our style, for making and for writing figures; it is the process's, so not for two threads at a time.

    Args:
        families: fonts; None for those of the `drawing` that this one stands in, else what matplotlib brings.
    """
    import matplotlib as mpl

    inside = mpl.rcParams["svg.hashsalt"] == _OURS
    known: Sequence[str] = mpl.rcParams["font.family"] if inside else ("DejaVu Sans",)
    with mpl.rc_context(_style(families or known)):
        yield


def _style(families: Sequence[str]) -> dict[RcKeyType, Any]:
    ink, muted, grid, paper = (INK[name] for name in ("ink", "muted", "grid", "paper"))
    style: dict[RcKeyType, Any] = {
        "font.family": list(families),
        "font.size": 11,
        "text.color": ink,
        "text.parse_math": False,  # a tag may hold dollar signs
        "axes.facecolor": "none",
        "axes.edgecolor": grid,
        "axes.labelcolor": muted,
        "axes.labelsize": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.linewidth": 0.8,
        "figure.facecolor": paper,
        "grid.color": grid,
        "grid.linewidth": 0.8,
        "xtick.color": grid,
        "xtick.labelcolor": muted,
        "xtick.labelsize": 10,
        "ytick.left": False,
        "ytick.labelcolor": ink,
        "ytick.labelsize": 11,
        "svg.fonttype": "none",
        "svg.hashsalt": _OURS,
    }
    return style
