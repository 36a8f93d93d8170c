"""The search task: how well retrieval over a vault answers a dataset of queries."""

from typing import Any

from gigamind.assurance.judged_runs import JudgedKind
from gigamind.datasets.labels import AnswerabilityLabel
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.tasks.search.compare import SearchComparison
from gigamind.tasks.search.judged import search_items
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.schema import ItemReport, SummaryReport
from gigamind.tasks.search.view import SearchView


class SearchTask(Task[SearchEvalOptions, SummaryReport, ItemReport]):
    """See the module."""

    name = "search"
    options = SearchEvalOptions
    compared = SearchComparison()
    view = SearchView()
    judged = JudgedKind({"unanswerable": "binary"}, AnswerabilityLabel, search_items)

    def open(
        self, options: SearchEvalOptions, progress: Progress
    ) -> Evaluation[SummaryReport, ItemReport, Any]:
        from gigamind.tasks.search.score import open_search

        return open_search(options, progress)

    def forewarn(self, options: SearchEvalOptions) -> tuple[str, ...]:
        from gigamind.tasks.search.prepare import idle_options

        return idle_options(options)

    def check(self, options: SearchEvalOptions) -> Checked:
        from gigamind.tasks.search.estimate import estimate
        from gigamind.tasks.search.prepare import prepare

        prepared = prepare(options)
        queries, notes = len(prepared.queries), len(prepared.vault.notes)
        answerable = sum(query.item.answerable for query in prepared.queries)
        return Checked(
            f"{queries} queries ready over {notes} notes",
            f"{queries} queries ready ({answerable} answerable, {queries - answerable} unanswerable)"
            f" over {notes} notes",
            prepared.errors,
            prepared.warnings,
            prepared.dataset_hash,
            prepared.notes_hash,
            lambda: estimate(prepared),
        )
