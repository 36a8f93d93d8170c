"""The search evaluation: how well retrieval over a vault answers a dataset of queries.

Its steps are plain functions over one open `SearchEvaluation`: `open_search`, `retrieve`, `judge_and_measure` (no model
is asked, so both are one pass) and `record_run`.  `evaluate` is all of them in a row; a flow runs the same
steps as tasks, a batch of queries at a time.
"""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import TracebackType

from gigamind.datasets.check import CheckedQuery
from gigamind.errors import EvaluationError, QueryTimeoutError
from gigamind.evals.chosen_judge import choose_judge
from gigamind.evals.measure import ItemResult, item_failure, item_report
from gigamind.evals.model_run import ModelRun
from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.prepare import Prepared, prepare
from gigamind.evals.progress import Progress, Quiet
from gigamind.evals.runner import Interrupted, Outcome, run
from gigamind.outcome import Failure, Success
from gigamind.reports.judged import LlmReport
from gigamind.reports.schema import ErrorReport
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.recording import recording
from gigamind.retrieval.retriever import Retriever


@dataclass(frozen=True)
class SearchEvaluation(AbstractContextManager["SearchEvaluation"]):
    """Checked input and a retriever that is ready; close it, or use `with`.

    Attributes:
        recalled: the same retriever, for a second look at queries that it searched: it does not embed them again.
        indexing_ms: from the first read of the dataset and the vault to here.
    """

    prepared: Prepared
    retriever: Retriever
    recalled: Retriever
    indexing_ms: float

    @property
    def embedding_model(self) -> str | None:
        """The embedder's full name; None in keyword mode."""
        leg = self.retriever.semantic
        return leg.embedder.name if leg else None

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.retriever.close()


def open_search(options: SearchEvalOptions, progress: Progress | None = None) -> SearchEvaluation:
    """Check the input and make the vault searchable.

    Raises:
        InputError, DatasetError: options or dataset cannot be used (exit code 1).
        NotesError, IndexingError: the vault cannot be read or indexed (exit code 2).
        EmbeddingError: the embedding model failed (exit code 3).
    """
    told = progress or Quiet()
    start = time.perf_counter()
    prepared = prepare(options)
    retriever = open_retriever(
        prepared.vault,
        prepared.identities,
        options.retrieval,
        lambda done, total: told.stage("Indexing", done, total),
    )
    retriever, recalled = recording(retriever)
    ready = _judged_with(prepared, retriever)
    return SearchEvaluation(ready, retriever, recalled, 1000 * (time.perf_counter() - start))


def _judged_with(prepared: Prepared, retriever: Retriever) -> Prepared:
    """With the judge for the embedder that has turned out."""
    embedder = retriever.semantic.embedder.name if retriever.semantic else None
    judge = choose_judge(prepared.options, embedder)
    return replace(prepared, judge=judge, warnings=(*judge.warnings, *prepared.warnings))


def warm_up(evaluation: SearchEvaluation) -> None:
    """Run the first `--warmup` queries unmeasured, so that no query pays for cold memory.

    Raises:
        EvaluationError: all of them failed, as every query would; better said once.
    """
    outcomes = retrieve(
        evaluation, evaluation.prepared.queries[: evaluation.prepared.options.warmup]
    )
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    # One that came too late is no bad sign: the first queries are the slow ones.
    fatal = [failure for failure in failures if failure.error != QueryTimeoutError.__name__]
    if fatal and len(fatal) == len(outcomes):
        raise EvaluationError(
            f"every warm-up query failed, so none was measured: {fatal[0].message}"
        )


def retrieve(
    evaluation: SearchEvaluation, queries: Sequence[CheckedQuery], progress: Progress | None = None
) -> list[Outcome[list[Hit]]]:
    """Rank the notes for each query; outcomes are in the order of `queries`.

    Raises:
        Interrupted: Ctrl-C; carries the outcomes so far.
    """
    told, options = progress or Quiet(), evaluation.prepared.options
    done = 0

    def on_end() -> None:
        nonlocal done
        done += 1
        told.stage("Queries", done, len(queries))

    search = evaluation.retriever.search
    return run(
        {q.item.id: lambda text=q.item.query: search(text) for q in queries},
        max_concurrency=options.max_concurrency,
        timeout_ms=options.timeout_ms,
        on_end=on_end,
    )


def judge_and_measure(
    evaluation: SearchEvaluation, outcomes: Sequence[Outcome[list[Hit]]]
) -> list[ItemResult]:
    """Judge each ranking by threshold and measure it against its labels; failures pass through."""
    by_id = {query.item.id: query for query in evaluation.prepared.queries}
    return [
        item_report(evaluation.prepared, evaluation.recalled, by_id[outcome.item_id], outcome)
        if isinstance(outcome, Success)
        else item_failure(outcome)
        for outcome in outcomes
    ]


@dataclass(frozen=True, slots=True)
class Run:
    """What a run gave.

    Attributes:
        results: in the dataset's order.
        runtime_ms: wall time of all queries, warm-up apart.
        interrupted: Ctrl-C stopped it; queries without a result were not run.
        unscored: verdicts that a model was asked for and that could not be had.
        asked: what asking a model gave; None where none was asked.
        llm: what that cost.
    """

    results: list[ItemResult]
    runtime_ms: float
    interrupted: bool = False
    unscored: Sequence[ErrorReport] = ()
    asked: ModelRun | None = None
    llm: LlmReport | None = None


def run_queries(evaluation: SearchEvaluation, progress: Progress | None = None) -> Run:
    """Warm up, then retrieve, judge and measure every query."""
    warm_up(evaluation)
    start = time.perf_counter()
    interrupted = False
    try:
        outcomes = retrieve(evaluation, evaluation.prepared.queries, progress)
    except Interrupted as stop:
        outcomes, interrupted = list(stop.outcomes), True
    runtime_ms = 1000 * (time.perf_counter() - start)
    return Run(judge_and_measure(evaluation, outcomes), runtime_ms, interrupted)
