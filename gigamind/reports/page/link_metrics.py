"""Which figures of a link run report.html shows, and what it calls them."""

import re
from collections.abc import Iterator

from gigamind.reports.link_schema import LinkSliceReport, LinkSummaryReport
from gigamind.reports.page.slices import Figure
from gigamind.reports.page.wording import Words

_NAME = re.compile(r"(\w+?)_(at|over)_(\d+)(?:_(\w+))?")
_CEILING = "_ceiling"


def link_figure(part: LinkSliceReport, name: str) -> Figure | None:
    """The figure of that name; None where nothing was measured."""
    if part.links.get(name) is None:
        return None
    return Figure("links", name, part.links[name], part.intervals[f"links.{name}"])


def main_links(part: LinkSliceReport, topk: int) -> list[Figure]:
    """The figures that tell the whole story, at rank `topk`."""
    names = (
        f"precision_at_{topk}",
        f"recall_at_{topk}",
        f"recall_at_{topk}_excluding_linked",
        f"precision_over_{topk}",
        f"novelty_at_{topk}",
        f"span_accuracy_at_{topk}",
        "acceptance_proxy",
    )
    found = (link_figure(part, name) for name in names)
    return [figure for figure in found if figure]


def all_links(part: LinkSliceReport) -> list[Figure]:
    """Every figure but the ceilings, in the order of the summary."""
    names = (name for name in part.links if not name.endswith(_CEILING))
    found = (link_figure(part, name) for name in names)
    return [figure for figure in found if figure]


def ceiling_of(part: LinkSliceReport, name: str) -> float | None:
    """What the dataset lets a figure reach; None where that is all, or unknown."""
    ceiling = part.links.get(name + _CEILING)
    return ceiling if ceiling is not None and ceiling < 1 else None


def called(name: str, told: Words) -> str:
    """A figure's name for people: `recall_at_5_excluding_linked` is "recall@5, new targets"."""
    found = _NAME.fullmatch(name)
    if not found:
        return told(f"link.{name}")
    base, kind, k, more = found.groups()
    key = f"metric.{base}" if told.knows(f"metric.{base}") else f"link.{base}"
    label = f"{told(key)}@{k}" if kind == "at" else told("link.over", metric=told(key), k=k)
    return f"{label}, {told(f'link.{more}')}" if more else label


def bounded(name: str, part: LinkSliceReport, told: Words) -> str:
    """The same with its ceiling, where it has one."""
    ceiling, label = ceiling_of(part, name), called(name, told)
    return label if ceiling is None else f"{label} (≤ {ceiling:.3f})"


def about(name: str, told: Words) -> str:
    """What a figure is, in a few words."""
    found = _NAME.fullmatch(name)
    base, more = (found[1], found[4]) if found else (name, None)
    if found and found[2] == "over":
        return told(f"link.about_{base}_over")
    return told(f"link.about_{base}_{more}" if more else f"link.about_{base}")


def link_slices(summary: LinkSummaryReport, told: Words) -> Iterator[tuple[str, LinkSliceReport]]:
    """All notes, then each language, with their names."""
    yield told("link.all_notes"), summary.overall
    for language, part in summary.by_language.items():
        yield told("page.kind_language", key=language), part
