"""How each task's run is shown: summary.md, report.html, its figures, and its main metrics in a table."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from gigamind.reports import answer_markdown, link_markdown, markdown
from gigamind.reports.answer_schema import AnswerItemReport, AnswerSummaryReport
from gigamind.reports.judged import LlmReport
from gigamind.reports.link_schema import LinkItemReport, LinkSummaryReport
from gigamind.reports.model_markdown import unjudged
from gigamind.reports.quality_markdown import quality_interval
from gigamind.reports.release.gates import GateResult
from gigamind.reports.release.model import EvalSnapshot
from gigamind.reports.schema import ItemReport, Record, SummaryReport
from gigamind.reports.templating import figure

Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)
Language = Literal["en", "ko"]
Snapshot = EvalSnapshot[Any, Any]


class MetricRow(NamedTuple):
    """One metric as text, with its 95 % interval and the number of items behind it."""

    block: str
    metric: str
    value: str
    interval: str
    n: int


class View(ABC, Generic[Summary, Line]):
    """One task.

    Attributes:
        key: in front of the names of its artifacts.
    """

    key: str

    @abstractmethod
    def markdown(self, record: Record[Summary, Line]) -> str:
        """summary.md."""

    @abstractmethod
    def page(
        self,
        record: Record[Summary, Line],
        *,
        lang: Language,
        baseline: Snapshot | None,
        gate: GateResult | None,
    ) -> str:
        """report.html, which loads matplotlib."""

    @abstractmethod
    def save_figures(
        self, record: Record[Summary, Line], folder: Path, output: Literal["svg", "png"]
    ) -> None:
        """The figures of report.html as files."""

    @abstractmethod
    def rows(self, summary: Summary) -> Iterator[MetricRow]:
        """The metrics, the main ones first."""

    @abstractmethod
    def missing(self, summary: Summary) -> list[tuple[int, str, str]]:
        """What the figures lack and errors.jsonl explains: how many, and what they are, one and many."""

    @abstractmethod
    def not_run(self, summary: Summary) -> int:
        """Items that an interrupted run did not come to."""

    def times(self, summary: Summary) -> str:
        """How long an item took, in a line; "" where that is not measured."""
        del summary
        return ""

    def llm(self, summary: Summary) -> LlmReport | None:
        """What asking a model cost; None where none was asked."""
        del summary
        return None


class SearchView(View[SummaryReport, ItemReport]):
    """See the module."""

    key = "search"

    def markdown(self, record: Record[SummaryReport, ItemReport]) -> str:
        return markdown.render_summary(record)

    def page(
        self,
        record: Record[SummaryReport, ItemReport],
        *,
        lang: Language,
        baseline: Snapshot | None,
        gate: GateResult | None,
    ) -> str:
        from gigamind.reports.page.html import render_html

        return render_html(record, lang=lang, baseline=baseline, gate=gate)

    def save_figures(
        self,
        record: Record[SummaryReport, ItemReport],
        folder: Path,
        output: Literal["svg", "png"],
    ) -> None:
        from gigamind.reports.page.plots import save_figures

        save_figures(record, folder, format=output)

    def rows(self, summary: SummaryReport) -> Iterator[MetricRow]:
        for block in ("search", "unanswerable"):
            if block == "search" or summary.counts.queries_unanswerable:
                for name, row in markdown.figure_rows(summary.overall, block):
                    yield MetricRow(
                        block, name, str(row["value"]), str(row["interval"]), int(row["n"])
                    )

    def missing(self, summary: SummaryReport) -> list[tuple[int, str, str]]:
        counts = summary.counts
        return [
            (counts.rows_rejected, "row rejected", "rows rejected"),
            (counts.queries_failed, "query failed", "queries failed"),
            (unjudged(summary.llm), "query without a verdict", "queries without a verdict"),
        ]

    def not_run(self, summary: SummaryReport) -> int:
        return summary.counts.queries_not_run

    def llm(self, summary: SummaryReport) -> LlmReport | None:
        return summary.llm

    def times(self, summary: SummaryReport) -> str:
        p50, p95 = (summary.overall.search.get(f"latency_{p}_ms") for p in ("p50", "p95"))
        return "" if p50 is None or p95 is None else f"latency p50 {p50:.1f} ms, p95 {p95:.1f} ms"


class LinkView(View[LinkSummaryReport, LinkItemReport]):
    """See the module."""

    key = "link"

    def markdown(self, record: Record[LinkSummaryReport, LinkItemReport]) -> str:
        return link_markdown.render_link_summary(record)

    def page(
        self,
        record: Record[LinkSummaryReport, LinkItemReport],
        *,
        lang: Language,
        baseline: Snapshot | None,
        gate: GateResult | None,
    ) -> str:
        from gigamind.reports.page.link_html import render_link_html

        return render_link_html(record, lang=lang, baseline=baseline, gate=gate)

    def save_figures(
        self,
        record: Record[LinkSummaryReport, LinkItemReport],
        folder: Path,
        output: Literal["svg", "png"],
    ) -> None:
        from gigamind.reports.page.link_plots import link_figures
        from gigamind.reports.page.plots import save_drawn

        save_drawn(
            lambda lang, drawable: link_figures(record, lang=lang, drawable=drawable),
            folder,
            format=output,
        )

    def rows(self, summary: LinkSummaryReport) -> Iterator[MetricRow]:
        for name, row in link_markdown.link_figure_rows(summary.overall):
            yield MetricRow("links", name, str(row["value"]), str(row["interval"]), int(row["n"]))

    def missing(self, summary: LinkSummaryReport) -> list[tuple[int, str, str]]:
        return [(summary.counts.rows_rejected, "row rejected", "rows rejected")]

    def not_run(self, summary: LinkSummaryReport) -> int:
        return summary.counts.notes_not_run


class AnswerView(View[AnswerSummaryReport, AnswerItemReport]):
    """See the module."""

    key = "answer"

    def markdown(self, record: Record[AnswerSummaryReport, AnswerItemReport]) -> str:
        return answer_markdown.render_answer_summary(record)

    def page(
        self,
        record: Record[AnswerSummaryReport, AnswerItemReport],
        *,
        lang: Language,
        baseline: Snapshot | None,
        gate: GateResult | None,
    ) -> str:
        from gigamind.reports.page.answer_html import render_answer_html

        return render_answer_html(record, lang=lang, baseline=baseline, gate=gate)

    def save_figures(
        self,
        record: Record[AnswerSummaryReport, AnswerItemReport],
        folder: Path,
        output: Literal["svg", "png"],
    ) -> None:
        from gigamind.reports.page.answer_plots import answer_figures
        from gigamind.reports.page.plots import save_drawn

        save_drawn(
            lambda lang, drawable: answer_figures(record, lang=lang, drawable=drawable),
            folder,
            format=output,
        )

    def rows(self, summary: AnswerSummaryReport) -> Iterator[MetricRow]:
        for name, row in answer_markdown.answer_figure_rows(summary.overall):
            yield MetricRow("answers", name, str(row["value"]), str(row["interval"]), int(row["n"]))
        if summary.quality:
            found = summary.quality.overall
            rate, between = figure(found.pass_rate), quality_interval(found)
            yield MetricRow("checklist", "passed", rate, between, found.checked)

    def missing(self, summary: AnswerSummaryReport) -> list[tuple[int, str, str]]:
        return [
            (summary.counts.rows_rejected, "row rejected", "rows rejected"),
            (
                summary.counts.unjudged,
                "answer without an evaluation",
                "answers without an evaluation",
            ),
            (
                summary.quality.unchecked if summary.quality else 0,
                "answer that could not be checked",
                "answers that could not be checked",
            ),
        ]

    def not_run(self, summary: AnswerSummaryReport) -> int:
        return summary.counts.not_run

    def llm(self, summary: AnswerSummaryReport) -> LlmReport | None:
        return summary.llm


VIEWS: dict[str, View[Any, Any]] = {
    "search": SearchView(),
    "links": LinkView(),
    "answers": AnswerView(),
}
