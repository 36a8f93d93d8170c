"""Figures as SVG inside a page: no style attribute (the page's policy forbids them), and the page's own colours."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from gigamind.reports.page.charts import INK, MARGIN
from gigamind.reports.page.drawing import drawing, write_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_VARIABLES = {value: f"var(--{name})" for name, value in INK.items()}
_UNWANTED = {f"{_SVG}metadata", f"{_SVG}style"}
_FROM_PAGE = {"font-family"}  # the page knows the reader's fonts


def inline_svg(figure: Figure, name: str, label: str) -> str:
    """The figure as an `<svg>` element that fills its place; `label` says what it shows to those who cannot see it.

    `name` keeps its ids apart from those of other figures.
    """
    root = ET.fromstring(_drawn(figure))  # noqa: S314  what matplotlib wrote a moment ago
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _UNWANTED:
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        _restyle(element, name)
    width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
    root.attrib.clear()
    # The page has margins of its own: the title is to begin where its text begins.
    root.attrib.update(viewBox=f"{MARGIN} 0 {width - MARGIN:g} {height:g}", role="img")
    root.set("aria-label", label)
    return ET.tostring(root, encoding="unicode")


def _drawn(figure: Figure) -> str:
    page = io.StringIO()
    with drawing():
        write_svg(figure, page, facecolor="none")
    return page.getvalue()


def _restyle(element: ET.Element, name: str) -> None:
    """Style declarations as attributes, colours as the page's variables, ids and links with the figure's name."""
    for declaration in filter(str.strip, element.attrib.pop("style", "").split(";")):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key not in _FROM_PAGE:
            element.set(key, _VARIABLES.get(value, value))
    target = element.attrib.pop(_XLINK, None)
    if target:
        element.set("href", target.replace("#", f"#{name}-"))
    if clip := element.get("clip-path"):
        element.set("clip-path", clip.replace("#", f"#{name}-"))
    if id_ := element.attrib.pop("id", None):
        element.set("id", f"{name}-{id_}")
