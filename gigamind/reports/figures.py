"""The figures of a report: a metric over some items, with its value and interval, and how it stands in a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in, label, metric_of
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import IntervalReport
from gigamind.wording import Language, Words, between, share


class Part(Protocol):
    """Some items of a summary; the values of a block are its field of that name."""

    @property
    def intervals(self) -> Mapping[str, IntervalReport]: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of a slice: its value in [0, 1] and interval, None where not measured.

    Attributes:
        block: as in metrics/spec.py.
    """

    block: str
    name: str
    value: float | None
    interval: IntervalReport

    @property
    def key(self) -> str:
        """As in `SliceReport.intervals`: "search.mrr"."""
        return f"{self.block}.{self.name}"

    def label(self, language: Language) -> str:
        """What a page calls it."""
        return label(self.key, language)


class MetricRow(NamedTuple):
    """One metric as text, with its 95 % interval and the number of items behind it."""

    block: str
    metric: str
    value: str
    interval: str
    n: int


def plain_label(key: str, say: Words) -> str:
    """What summary.md and the terminal call a metric."""
    return label(key, None if say.language == "en" else say.language)


def metric_name(key: str, say: Words) -> str:
    """What pages call a metric; of two with one name, that of unanswerable queries says so."""
    name = label(key, say.language)
    apart = key.startswith("unanswerable.") and metric_of(key) is not None
    return say(_("unanswerable: {metric}", metric=name)) if apart else name


def rule_name(metric: str, say: Words) -> str:
    """What people call a metric, or what a rule holds besides."""
    key = f"decision.rule_{metric}"
    return say(key) if say.knows(key) else metric_name(metric, say)


def figure_of(part: Part, key: str) -> Figure | None:
    """The metric "search.mrr" of a slice; None when the slice does not have it."""
    block, _, name = key.partition(".")
    interval = part.intervals.get(key)
    values: Mapping[str, float | None] = getattr(part, block)
    return Figure(block, name, values.get(name), interval) if interval else None


def figures_of(part: Part, keys: Iterable[str]) -> list[Figure]:
    """The metrics of these names that the slice has, measured or not."""
    return [figure for key in keys if (figure := figure_of(part, key))]


def measured(figures: Iterable[Figure]) -> list[Figure]:
    """Those that have a value."""
    return [figure for figure in figures if figure.value is not None]


def keys_of(judge: JudgeReport | None, place: Literal["main", "page", "summary"]) -> list[str]:
    """The figures of answers that stand in a place; those of a team's own judge are all that it has."""
    if judge and judge.metrics:
        return [f"answers.{metric.name}" for metric in judge.metrics]
    return keys_in(place, blocks_of("answers"), 0)


def values_of(part: Part, keys: Iterable[str]) -> list[str]:
    """Values as text, a dash for what the slice does not have."""
    figures = (figure_of(part, key) for key in keys)
    return [share(figure.value if figure else None) for figure in figures]


def metric_rows(
    part: Part, block: str, say: Words, keys: Iterable[str] | None = None
) -> list[MetricRow]:
    """The metrics of a block as summary.md and the terminal show them; all of them, or those of these names."""
    shown = part.intervals if keys is None else keys
    return [
        MetricRow(
            block,
            plain_label(figure.key, say),
            share(figure.value),
            between(figure.interval),
            figure.interval.n,
        )
        for figure in figures_of(part, (key for key in shown if key.startswith(f"{block}.")))
    ]
