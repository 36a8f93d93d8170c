"""What each task defines to show a run: summary.md, report.html, its charts, and its main metrics in a table."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gigamind.i18n import Language, Message, Translator
from gigamind.records.judged import LlmReport
from gigamind.records.schema import Record
from gigamind.release.model import EvalSnapshot
from gigamind.release.policy import GateResult
from gigamind.reports.figures import MetricRow

if TYPE_CHECKING:
    from gigamind.reports.charts import Chart

Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)
Baseline = TypeVar("Baseline", bound=EvalSnapshot[Any, Any])


Pages = tuple[Callable[..., str], Callable[..., Mapping[str, "Chart"]]]


class View(ABC, Generic[Summary, Line, Baseline]):
    """One task."""

    @abstractmethod
    def markdown(self, record: Record[Summary, Line], lang: Language = "en") -> str:
        """Return summary.md."""

    @property
    @abstractmethod
    def pages(self) -> Pages:
        """Return the functions that make report.html and its charts; they are loaded only for a page."""

    def page(
        self,
        record: Record[Summary, Line],
        *,
        lang: Language,
        baseline: Baseline | None,
        gate: GateResult | None,
    ) -> str:
        """Return report.html."""
        return self.pages[0](record, lang=lang, baseline=baseline, gate=gate)

    def charts(self, record: Record[Summary, Line]) -> "Mapping[str, Chart]":
        """Return the charts of report.html, by name."""
        return self.pages[1](record)

    def files(self, record: Record[Summary, Line]) -> dict[str, str]:
        """Return further files for the out folder: texts by name."""
        del record
        return {}

    @abstractmethod
    def rows(self, summary: Summary, say: Translator) -> Iterator[MetricRow]:
        """Yield the metrics, the main ones first."""

    @abstractmethod
    def missing(self, summary: Summary) -> list[Message]:
        """Return the counts of what the metrics leave out; errors.jsonl has the reasons."""

    @abstractmethod
    def not_run(self, summary: Summary) -> int:
        """Return the number of items that an interrupted run did not evaluate."""

    def times(self, summary: Summary, say: Translator) -> str:
        """Return the latency of an item, in a line; "" if not measured."""
        del summary, say
        return ""

    def caution(self, summary: Summary, say: Translator) -> str:
        """Return why the metrics are too optimistic, in a line; "" if they are not."""
        del summary, say
        return ""

    def finding(self, summary: Summary, say: Translator) -> str:
        """Return a finding other than the metrics, in a sentence; "" if there is none."""
        del summary, say
        return ""

    def llm(self, summary: Summary) -> LlmReport | None:
        """Return the report on model calls; None if no model was called."""
        del summary
        return None
