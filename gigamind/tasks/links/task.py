"""The link task: precision and recall of suggestions against removed links."""

from typing import Any

from gigamind.assurance.label_items import LabelSource, LabelTask, LabelUnit
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.i18n import Text, _
from gigamind.tasks.links.schema import (
    LinkComparison,
    LinkItemReport,
    LinkRunRecord,
    LinkSummaryReport,
)
from gigamind.tasks.links.view import LinkView
from gigamind.tasks.options import LinkEvalOptions


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

    def units(self, item: LinkItemReport) -> list[LabelUnit]:
        """Return the suggested links of a note with a place in it; their confidence is the judged value."""
        source = (LabelSource(item.note, item.note, item.text),)
        units: list[LabelUnit] = []
        for suggestion in item.suggestions:
            anchor, confidence = suggestion.anchor, suggestion.confidence
            if anchor is None or confidence is None:
                continue
            name = f"{item.note}#{anchor.utf16_start}>{suggestion.target}"
            accepted = "accept" if confidence >= 1 / 2 else "reject"
            doubt, start, end = 1 - abs(2 * confidence - 1), anchor.utf16_start, anchor.utf16_end
            about = item.language, suggestion.target, suggestion.context
            task = LabelTask(
                name, "link", anchor.text, source, accepted, doubt, start=start, end=end
            )
            units.append(LabelUnit(name, *about, (task,), confidence, int(confidence >= 1 / 2)))
        return units

    def shortfall(self, record: LinkRunRecord) -> Text | None:
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
        from gigamind.tasks.links.score import prepare_links

        prepared = prepare_links(options)
        ready = _(
            "{links:,} expected links ready to evaluate, in {notes:,} notes",
            links=sum(map(len, prepared.rows.values())),
            notes=len(prepared.rows),
        )
        hashes = prepared.dataset_hash, prepared.notes_hash
        return Checked(ready, ready, prepared.errors, prepared.checked.warnings, *hashes)
