"""How each task's run is shown: summary.md, report.html, its figures, and its main metrics in a table."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gigamind.records.judged import LlmReport
from gigamind.records.schema import Record
from gigamind.release.model import EvalSnapshot
from gigamind.release.policy import GateResult
from gigamind.reports.figures import MetricRow
from gigamind.wording import Language, Words

if TYPE_CHECKING:
    from gigamind.reports.page.charts import Chart

Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)
Baseline = TypeVar("Baseline", bound=EvalSnapshot[Any, Any])


Pages = tuple[Callable[..., str], Callable[..., Mapping[str, "Chart"]]]


class View(ABC, Generic[Summary, Line, Baseline]):
    """One task."""

    @abstractmethod
    def markdown(self, record: Record[Summary, Line], lang: Language = "en") -> str:
        """summary.md."""

    @property
    @abstractmethod
    def pages(self) -> Pages:
        """What makes report.html and its charts, which a run without a page need not load."""

    def page(
        self,
        record: Record[Summary, Line],
        *,
        lang: Language,
        baseline: Baseline | None,
        gate: GateResult | None,
    ) -> str:
        """report.html."""
        return self.pages[0](record, lang=lang, baseline=baseline, gate=gate)

    def charts(self, record: Record[Summary, Line]) -> "Mapping[str, Chart]":
        """The figures of report.html, by name."""
        return self.pages[1](record)

    def files(self, record: Record[Summary, Line]) -> dict[str, str]:
        """What else the out folder holds of it, name -> text."""
        del record
        return {}

    @abstractmethod
    def rows(self, summary: Summary, say: Words) -> Iterator[MetricRow]:
        """The metrics, the main ones first."""

    @abstractmethod
    def missing(self, summary: Summary) -> list[tuple[int, str, str]]:
        """What the figures lack and errors.jsonl explains: how many, and the phrases for one and many."""

    @abstractmethod
    def not_run(self, summary: Summary) -> int:
        """Items that an interrupted run did not come to."""

    def times(self, summary: Summary, say: Words) -> str:
        """How long an item took, in a line; "" where that is not measured."""
        del summary, say
        return ""

    def caution(self, summary: Summary, say: Words) -> str:
        """What makes the figures look better than they are, in a line; "" where nothing does."""
        del summary, say
        return ""

    def finding(self, summary: Summary, say: Words) -> str:
        """What the run found beside its figures, in a sentence; "" where there is nothing to say."""
        del summary, say
        return ""

    def llm(self, summary: Summary) -> LlmReport | None:
        """What asking a model cost; None where none was asked."""
        del summary
        return None
