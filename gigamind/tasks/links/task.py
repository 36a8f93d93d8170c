"""The link task: precision and recall of suggestions against removed links."""

from collections.abc import Iterator
from typing import Any

from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.i18n import Language, Message, Text, Translator, _, n_, translator
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in
from gigamind.records.schema import Record, by_item
from gigamind.reports.figures import MetricRow, metric_rows, plain_label, values_of
from gigamind.reports.text import render
from gigamind.reports.views import Pages, View
from gigamind.tasks.links.compare import LinkComparison, LinkSnapshot
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.links.schema import LinkItemReport, LinkSummaryReport
from gigamind.tasks.links.texts import default_view, miss_causes, subject_values

_MISSES_SHOWN = 10


class LinkView(View[LinkSummaryReport, LinkItemReport, LinkSnapshot]):
    """Shows link runs as Markdown, HTML and in the terminal."""

    def markdown(
        self, record: Record[LinkSummaryReport, LinkItemReport], lang: Language = "en"
    ) -> str:
        """Return the summary as Markdown; text of notes is escaped, so that it cannot break a table or a list."""
        summary, topk = record.summary, int(str(record.run.options["topk"]))
        say = translator(lang)
        columns = keys_in("summary", blocks_of("links"), topk)
        return render(
            "links.md.jinja",
            say=say,
            run=record.run,
            warnings=list(map(say, record.run.warnings)),
            errors=by_item(record.errors),
            summary=summary,
            counts=summary.counts,
            rows=metric_rows(summary.overall, "links", say),
            columns=[plain_label(key, say) for key in columns],
            languages=[
                (name, part.notes, values_of(part, columns))
                for name, part in summary.by_language.items()
            ],
            misses=[
                (item.note, row, miss) for item in record.items for row, miss in item.explained
            ],
            causes=miss_causes(record, say),
            subject=subject_values(record),
            shown=say(default_view(summary)),
            misses_shown=_MISSES_SHOWN,
        )

    @property
    def pages(self) -> Pages:
        from gigamind.tasks.links.page import link_figures, render_link_html

        return render_link_html, link_figures

    def rows(self, summary: LinkSummaryReport, say: Translator) -> Iterator[MetricRow]:
        yield from metric_rows(summary.overall, "links", say)

    def finding(self, summary: LinkSummaryReport, say: Translator) -> str:
        return say(default_view(summary))

    def missing(self, summary: LinkSummaryReport) -> list[Message]:
        rejected = summary.counts.rows_rejected
        return [n_("{n} rejected row", "{n:,} rejected rows", n=rejected)] if rejected else []

    def not_run(self, summary: LinkSummaryReport) -> int:
        return summary.counts.notes_not_run


class LinkTask(Task[LinkEvalOptions, LinkSummaryReport, LinkItemReport]):
    """Evaluates link suggestions."""

    name = "links"
    options = LinkEvalOptions
    compared = LinkComparison()
    view = LinkView()

    def open(
        self, options: LinkEvalOptions, progress: Progress
    ) -> Evaluation[LinkSummaryReport, LinkItemReport, Any]:
        from gigamind.tasks.links.score import open_links

        return open_links(options, progress)

    def shortfall(self, record: Record[LinkSummaryReport, LinkItemReport]) -> Text | None:
        health = record.summary.system
        if health is None or not health.is_unreliable:
            return None
        return _(
            "the run file has no line for {count:,} notes ({share:.0%}). For notes without suggestions, add a line"
            " with an empty list.",
            count=health.failed,
            share=health.share,
        )

    def check(self, options: LinkEvalOptions) -> Checked:
        from gigamind.tasks.links.prepare import prepare_links

        prepared = prepare_links(options)
        ready = _(
            "{links:,} expected links ready to evaluate, in {notes:,} notes",
            links=sum(map(len, prepared.rows.values())),
            notes=len(prepared.rows),
        )
        return Checked(
            ready,
            ready,
            prepared.errors,
            prepared.checked.warnings,
            prepared.dataset_hash,
            prepared.notes_hash,
        )
