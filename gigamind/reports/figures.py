"""The metrics of a report over some items, with values and intervals."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gigamind.metrics.links import CEILING
from gigamind.metrics.spec import OWN
from gigamind.metrics.table import metric_of
from gigamind.records.schema import IntervalReport


class Part(Protocol):
    """Some items of a summary; the field with the name of a block has its values."""

    @property
    def intervals(self) -> Mapping[str, IntervalReport]: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of a slice in [0, 1] (None if not measured), and its interval; `block` as in metrics/spec.py.

    `ceiling` is the highest value that the dataset allows; None if that is 1 or unknown.
    """

    block: str
    name: str
    value: float | None
    interval: IntervalReport
    ceiling: float | None = None

    @property
    def key(self) -> str:
        """Return its name in `SliceReport.intervals`: "search.mrr"."""
        return f"{self.block}.{self.name}"


def figure_of(part: Part, key: str) -> Figure | None:
    """Return the metric "search.mrr" of a slice; None if the slice lacks it."""
    block, _dot, name = key.partition(".")
    interval = part.intervals.get(key)
    values: Mapping[str, float | None] = getattr(part, block)
    highest = values.get(name + CEILING)
    ceiling = highest if highest is not None and highest < 1 else None
    return Figure(block, name, values.get(name), interval, ceiling) if interval else None


def figures_of(part: Part, keys: Iterable[str]) -> list[Figure]:
    """Return the metrics of these names that the slice has, measured or not."""
    return [figure for key in keys if (figure := figure_of(part, key))]


def distinct(values: Mapping[str, Hashable]) -> list[str]:
    """Return the metrics without those whose values equal an earlier one's, as hit@1 and recall@1 may; all own ones."""
    seen: dict[tuple[str, str, Hashable], str] = {}
    for key, value in values.items():
        metric = metric_of(key)
        own = key if metric is None or metric.key in OWN else ""
        seen.setdefault((own, key.partition(".")[0], value), key)
    return list(seen.values())


def measured(figures: Iterable[Figure]) -> list[Figure]:
    """Return the metrics with a value."""
    return [figure for figure in figures if figure.value is not None]
