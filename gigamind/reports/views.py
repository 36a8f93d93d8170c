"""What each task defines to show a run, as parts of its document."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from gigamind.i18n import Text, Translator
from gigamind.metrics.links import CEILING
from gigamind.metrics.table import in_order
from gigamind.records.judged import LlmReport
from gigamind.records.schema import Record
from gigamind.release.comparison import Comparison
from gigamind.release.model import EvalSnapshot
from gigamind.reports.document import Examples, Section, Step
from gigamind.reports.figures import Figure, figures_of

Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)
Baseline = TypeVar("Baseline", bound=EvalSnapshot[Any, Any])


class View(ABC, Generic[Summary, Line, Baseline]):
    """One task."""

    def files(self, record: Record[Summary, Line]) -> dict[str, str]:
        """Return further files for the out folder: texts by name."""
        del record
        return {}

    def figures(self, summary: Summary) -> list[Figure]:
        """Return all metrics of a run, measured or not, in the order of the metric table."""
        part: Any = summary
        keys = [key for key in part.overall.intervals if not key.endswith(CEILING)]
        return figures_of(part.overall, in_order(keys))

    @abstractmethod
    def result(self, record: Record[Summary, Line]) -> Text:
        """Return the result of a run in one sentence, the most important figure first."""

    def examples(self, record: Record[Summary, Line]) -> Examples | None:
        """Return the worst items of a run without a baseline."""
        del record
        return None

    def warnings(self, record: Record[Summary, Line]) -> Iterator[Text]:
        """Yield what a reader must know before trusting the figures, the most important first; run.json has others."""
        del record
        return iter(())

    def steps(self, record: Record[Summary, Line], bad: str = "") -> Iterator[Step]:
        """Yield what improves a run, the most useful first; `bad` is a metric that is bad although the run passed."""
        del record, bad
        return iter(())

    def sections(self, record: Record[Summary, Line], say: Translator) -> Iterator[Section]:
        """Yield the sections that only this task has; `say` gives the texts inside charts."""
        del record, say
        return iter(())

    def listing(
        self,
        record: Record[Summary, Line],
        say: Translator,
        comparison: Comparison | None,
        baseline: Baseline | None,
    ) -> Section | None:
        """Return the section with all items, which only HTML shows."""
        del record, say, comparison, baseline
        return None

    @abstractmethod
    def not_run(self, summary: Summary) -> int:
        """Return the number of items that an interrupted run did not evaluate."""

    def llm(self, summary: Summary) -> LlmReport | None:
        """Return the report on model calls; None if no model was called."""
        del summary
        return None
