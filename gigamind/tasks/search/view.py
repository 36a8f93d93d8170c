"""Shows search runs; see `View`."""

from collections.abc import Iterator

from gigamind.i18n import Language, Message, Translator
from gigamind.metrics.table import in_order
from gigamind.records.judged import LlmReport
from gigamind.records.schema import Record
from gigamind.reports.figures import MetricRow, metric_rows, plain_label
from gigamind.reports.views import Pages, View
from gigamind.tasks.search import markdown
from gigamind.tasks.search.compare import SearchSnapshot
from gigamind.tasks.search.schema import ItemReport, SummaryReport
from gigamind.tasks.search.unjudged import unjudged_files


class SearchView(View[SummaryReport, ItemReport, SearchSnapshot]):
    """Shows search runs as Markdown, HTML and in the terminal."""

    def markdown(self, record: Record[SummaryReport, ItemReport], lang: Language = "en") -> str:
        return markdown.render_summary(record, lang)

    @property
    def pages(self) -> Pages:
        from gigamind.tasks.search.figures import search_figures
        from gigamind.tasks.search.page import render_html

        return render_html, search_figures

    def files(self, record: Record[SummaryReport, ItemReport]) -> dict[str, str]:
        return unjudged_files(record.summary, record.items)

    def rows(self, summary: SummaryReport, say: Translator) -> Iterator[MetricRow]:
        for block in ("search", "unanswerable"):
            if block == "search" or summary.counts.queries_unanswerable:
                keys = in_order(list(summary.overall.intervals))
                yield from metric_rows(summary.overall, block, say, keys)

    def missing(self, summary: SummaryReport) -> list[Message]:
        return markdown.lacking(summary)

    def not_run(self, summary: SummaryReport) -> int:
        return summary.counts.queries_not_run

    def caution(self, summary: SummaryReport, say: Translator) -> str:
        return say(markdown.generated_line(summary))

    def llm(self, summary: SummaryReport) -> LlmReport | None:
        return summary.llm

    def times(self, summary: SummaryReport, say: Translator) -> str:
        p50, p95 = (summary.overall.search.get(f"latency_{p}_ms") for p in ("p50", "p95"))
        if p50 is None or p95 is None:
            return ""
        return f"{plain_label('search.latency_p50_ms', say)} {p50:.1f} ms, p95 {p95:.1f} ms"
