"""The Markdown templates of the reports and the filters they share."""

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gigamind.reports.escape import code, fenced, inline


def figure(value: float | None) -> str:
    """A share with three decimals; a dash where it was not measured."""
    return "–" if value is None else f"{value:z.3f}"


def render(template: str, **values: object) -> str:
    """A template of this package with these values; one that is missing is an error, not an empty text."""
    return _templates().get_template(template).render(**values)


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("gigamind.reports"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  Markdown, not HTML; the filters escape what comes from outside
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"inline": inline, "code": code, "fenced": fenced, "figure": figure}
    templates.filters.update(filters)
    return templates
