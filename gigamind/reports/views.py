"""What each task defines to show a run, as parts of its document; its metrics with values and intervals."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel

from gigamind.i18n import Text, Translator, _
from gigamind.metrics.links import CEILING
from gigamind.metrics.table import in_order, label_text
from gigamind.records.judged import LlmReport
from gigamind.records.schema import IntervalReport, Record
from gigamind.release.comparison import Comparison
from gigamind.release.model import EvalSnapshot
from gigamind.reports import document as doc


class _Part(Protocol):
    """Some items of a summary; the field with the name of a block has its values."""

    @property
    def intervals(self) -> Mapping[str, IntervalReport]: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of a slice in [0, 1] (None if not measured), and its interval; `block` as in metrics/spec.py."""

    block: str
    name: str
    value: float | None
    interval: IntervalReport
    ceiling: float | None = None  # highest value that the dataset allows; None if 1 or unknown

    @property
    def key(self) -> str:
        """Return its name in `SliceReport.intervals`: "search.mrr"."""
        return f"{self.block}.{self.name}"


def figure_of(part: _Part, key: str) -> Figure | None:
    """Return the metric "search.mrr" of a slice; None if the slice lacks it."""
    block, _dot, name = key.partition(".")
    interval = part.intervals.get(key)
    values: Mapping[str, float | None] = getattr(part, block)
    highest = values.get(name + CEILING)
    ceiling = highest if highest is not None and highest < 1 else None
    return Figure(block, name, values.get(name), interval, ceiling) if interval else None


def _figures_of(part: _Part, keys: Iterable[str]) -> list[Figure]:
    """Return the metrics of these names that the slice has, measured or not."""
    return [figure for key in keys if (figure := figure_of(part, key))]


def measured(figures: Iterable[Figure]) -> list[Figure]:
    """Return the metrics with a value."""
    return [figure for figure in figures if figure.value is not None]


_Counts = Mapping[Text, Callable[[Any], int]]  # heading -> number of items of a slice


def slice_table(
    parts: Iterable[tuple[Text, _Part]], counts: _Counts, keys: Sequence[str], caption: Text = ""
) -> doc.Table:
    """Return the named slices with these counts and metrics."""
    rows = (
        (
            name,
            *(doc.Count(count(part)) for count in counts.values()),
            *(
                figure and doc.Proportion(figure.value, ceiling=figure.ceiling)
                for figure in (figure_of(part, key) for key in keys)
            ),
        )
        for name, part in parts
    )
    return doc.Table.of((_("slice"), *counts, *map(label_text, keys)), rows, caption)


_Summary = TypeVar("_Summary", bound=BaseModel)
_Line = TypeVar("_Line", bound=BaseModel)
_Baseline = TypeVar("_Baseline", bound=EvalSnapshot[Any, Any])


class View(ABC, Generic[_Summary, _Line, _Baseline]):
    """One task."""

    def figures(self, summary: _Summary) -> list[Figure]:
        """Return all metrics of a run, measured or not, in the order of the metric table."""
        part: Any = summary
        keys = [key for key in part.overall.intervals if not key.endswith(CEILING)]
        return _figures_of(part.overall, in_order(keys))

    @abstractmethod
    def result(self, record: Record[_Summary, _Line]) -> Text:
        """Return the result of a run in one sentence, the most important figure first."""

    @abstractmethod
    def examples(self, record: Record[_Summary, _Line]) -> doc.Examples:
        """Return the worst items of a run without a baseline."""

    @abstractmethod
    def warnings(self, record: Record[_Summary, _Line]) -> Iterator[Text]:
        """Yield what a reader must know before trusting the figures, the most important first; run.json has others."""

    @abstractmethod
    def steps(self, record: Record[_Summary, _Line], bad: str = "") -> Iterator[doc.Step]:
        """Yield what improves a run, the most useful first; `bad` is a metric that is bad although the run passed."""

    @abstractmethod
    def sections(self, record: Record[_Summary, _Line], say: Translator) -> Iterator[doc.Section]:
        """Yield the sections that only this task has; `say` gives the texts inside charts."""

    list_title: ClassVar[Text]
    list_script: ClassVar[str]  # shows one item of the list
    # Static: a record, translator, comparison and baseline -> the items as JSON, safe inside a script element.
    list_data: ClassVar[Callable[..., str]]

    def listing(
        self,
        record: Record[_Summary, _Line],
        say: Translator,
        comparison: Comparison | None,
        baseline: _Baseline | None,
    ) -> doc.Section | None:
        """Return the section with all items, which only HTML shows; None without items."""
        if not record.items:
            return None
        data = self.list_data(record, say, comparison, baseline)
        blocks = (doc.Listing(self.list_script, data),)
        return doc.Section("list", self.list_title, blocks)

    @abstractmethod
    def not_run(self, summary: _Summary) -> int:
        """Return the number of items that an interrupted run did not evaluate."""

    def llm(self, summary: _Summary) -> LlmReport | None:
        """Return the report on model calls; None if no model was called."""
        return getattr(summary, "llm", None)
