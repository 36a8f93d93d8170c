"""The search task: how well retrieval over a vault answers a dataset of queries."""

from typing import TYPE_CHECKING, Any

from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.records.schema import Record
from gigamind.tasks.search.compare import SearchComparison
from gigamind.tasks.search.foreign import name_mismatch, too_few_scores, without_score
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.schema import ItemReport, SummaryReport
from gigamind.tasks.search.view import SearchView

if TYPE_CHECKING:
    from gigamind.assurance.judged_runs import JudgedKind
    from gigamind.interop.ranking import RankedNote
    from gigamind.systems.protocol import Retriever


class SearchTask(Task[SearchEvalOptions, SummaryReport, ItemReport]):
    """Evaluates search.

    Args:
        retriever: The system of `--system`, if the caller has opened it.
    """

    name = "search"
    options = SearchEvalOptions
    compared = SearchComparison()
    view = SearchView()

    @property
    def judged(self) -> "JudgedKind":
        from gigamind.assurance.judged_runs import JudgedKind
        from gigamind.datasets.labels import AnswerabilityLabel
        from gigamind.tasks.search.judged import search_items

        return JudgedKind(
            {"unanswerable": "binary"}, AnswerabilityLabel, self.compared, search_items
        )

    def __init__(self, retriever: "Retriever[RankedNote] | None" = None) -> None:
        self._retriever = retriever

    def open(
        self, options: SearchEvalOptions, progress: Progress
    ) -> Evaluation[SummaryReport, ItemReport, Any]:
        from gigamind.tasks.search.score import open_search

        return open_search(options, progress, self._retriever)

    def forewarn(self, options: SearchEvalOptions) -> tuple[str, ...]:
        from gigamind.tasks.search.prepare import idle_options

        return idle_options(options)

    def shortfall(self, record: Record[SummaryReport, ItemReport]) -> str | None:
        lacks = "it lacks answerable queries of the dataset"
        first = next((error.message for error in record.errors if error.kind == "item"), lacks)
        health = record.summary.system
        if health is None:
            return None
        return health.shortfall("ranking for {} queries", first) or _unmeasurable(record)

    def check(self, options: SearchEvalOptions) -> Checked:
        from gigamind.tasks.search.estimate import estimate, least_calls
        from gigamind.tasks.search.prepare import prepare

        prepared = prepare(options)
        queries, notes = len(prepared.queries), len(prepared.vault.notes)
        over = f"over {notes} notes" if options.notes else "without a vault"
        answerable = sum(query.item.answerable for query in prepared.queries)
        return Checked(
            f"{queries} queries ready {over}",
            f"{queries} queries ready ({answerable} answerable, {queries - answerable} unanswerable)"
            f" {over}",
            prepared.errors,
            prepared.warnings,
            prepared.dataset_hash,
            prepared.notes_hash,
            lambda: estimate(prepared),
            lambda: least_calls(prepared),
        )


def _unmeasurable(record: Record[SummaryReport, ItemReport]) -> str | None:
    """Return why the rankings of a system give no figures or verdicts; None if they do."""
    items, judge = record.items, record.run.judge
    mismatch = name_mismatch(items, has_vault=record.summary.counts.notes is not None)
    if mismatch and mismatch.is_certain:
        return (
            f"no name in the rankings is one that labels know: the system says {mismatch.ranked},"
            f" labels say {mismatch.labelled}; call notes alike in both"
        )
    if judge and judge.kind == "threshold" and too_few_scores(items):
        return (
            f"no verdict for {len(without_score(items))} of {len(items)} queries: --min-score asks for the score of"
            " the first hit, and the system tells none; leave it out, or let the system tell it (of an endpoint,"
            " `score` of --system-config says where it stands)"
        )
    return None
