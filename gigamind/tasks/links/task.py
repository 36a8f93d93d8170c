"""The link task: how many removed links are suggested again, and how much else is."""

from typing import Any

from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.records.schema import Record
from gigamind.tasks.links.compare import LinkComparison
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.links.schema import LinkItemReport, LinkSummaryReport
from gigamind.tasks.links.view import LinkView


class LinkTask(Task[LinkEvalOptions, LinkSummaryReport, LinkItemReport]):
    """See the module."""

    name = "links"
    options = LinkEvalOptions
    compared = LinkComparison()
    view = LinkView()

    def open(
        self, options: LinkEvalOptions, progress: Progress
    ) -> Evaluation[LinkSummaryReport, LinkItemReport, Any]:
        from gigamind.tasks.links.score import open_links

        return open_links(options, progress)

    def shortfall(self, record: Record[LinkSummaryReport, LinkItemReport]) -> str | None:
        found = record.summary.system
        why = "the run has no line of them; write one with an empty list where nothing is suggested"
        return found.shortfall("suggestions for {} notes", why) if found else None

    def check(self, options: LinkEvalOptions) -> Checked:
        from gigamind.tasks.links.prepare import prepare_links

        prepared = prepare_links(options)
        ready = (
            f"{sum(map(len, prepared.rows.values()))} links ready, in {len(prepared.rows)} notes"
        )
        return Checked(
            ready,
            ready,
            prepared.errors,
            prepared.checked.warnings,
            prepared.dataset_hash,
            prepared.notes_hash,
        )
