"""From the lines of a run to its summary, its out folder and its exit."""

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from gigamind.evals.finish import Evaluated, check_outputs, finish
from gigamind.evals.measure import measured
from gigamind.evals.model_judging import judge_with_model
from gigamind.evals.model_run import drop_if_final
from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.progress import Progress
from gigamind.evals.search import Run, SearchEvaluation, open_search, run_queries
from gigamind.metrics import latency
from gigamind.metrics.aggregate import Estimate, SliceSummary
from gigamind.metrics.aggregate import summarise as aggregate
from gigamind.reports.environment import describe_environment, describe_hardware
from gigamind.reports.schema import (
    ErrorReport,
    IntervalReport,
    ItemReport,
    Performance,
    RunCounts,
    RunRecord,
    RunReport,
    SliceCounts,
    SliceReport,
    SummaryReport,
)
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION

RUN_ID_FORMAT = "%Y%m%d-%H%M%S"


def evaluate(
    options: SearchEvalOptions, progress: Progress | None = None
) -> Evaluated[SummaryReport]:
    """Run a whole search evaluation.

    Raises:
        GigamindError: see `open_search` and `finish`; its class tells the exit code.
    """
    started = datetime.now(UTC)
    out = options.written_to(options.out) or default_out(started)
    reference = check_outputs(options, out)
    with open_search(options, progress) as evaluation:
        outcome = judge_with_model(evaluation, run_queries(evaluation, progress), out, progress)
        record = record_run(evaluation, outcome, started)
    finished = finish(record, options, out, reference)
    if outcome.asked:
        drop_if_final(out, outcome.asked)
    return finished


def default_out(started: datetime) -> Path:
    """`eval/out/YYYYMMDD-HHMMSS`, local time, as the seed has it; with "-2" and so on where that is taken."""
    first = Path("eval") / "out" / started.astimezone().strftime(RUN_ID_FORMAT)
    names = itertools.chain([first.name], (f"{first.name}-{n}" for n in itertools.count(2)))
    return next(out for name in names if not (out := first.with_name(name)).exists())


def summarise(evaluation: SearchEvaluation, outcome: Run) -> SummaryReport:
    """The figures of a run; equal runs give equal summaries, times apart."""
    prepared = evaluation.prepared
    items = [result for result in outcome.results if isinstance(result, ItemReport)]
    figures = aggregate([measured(item) for item in items], prepared.options.seed)
    return SummaryReport(
        status="interrupted" if outcome.interrupted else "complete",
        counts=RunCounts(
            queries_total=len(items),
            queries_answerable=figures.overall.n_answerable,
            queries_unanswerable=figures.overall.n_unanswerable,
            rows_rejected=len({error.line for error in prepared.errors}),
            rows_not_sampled=prepared.not_sampled,
            queries_failed=len(outcome.results) - len(items),
            queries_not_run=len(prepared.queries) - len(outcome.results),
            notes=len(prepared.vault.notes),
        ),
        overall=_slice(figures.overall),
        by_language=_slices(figures.by_language),
        cross_lingual=_slice(figures.cross_lingual) if figures.cross_lingual else None,
        by_tag=_slices(figures.by_tag),
        by_difficulty=_slices(figures.by_difficulty),
        performance=Performance(
            cold_start_ms=evaluation.indexing_ms if prepared.options.cold_start else None,
            indexing_ms=evaluation.indexing_ms,
            eval_runtime_ms=outcome.runtime_ms,
            latency_method=_latency_method(prepared.options),
        ),
        llm=outcome.llm,
    )


def record_run(evaluation: SearchEvaluation, outcome: Run, started: datetime) -> RunRecord:
    """All that the out folder of a run is to hold."""
    prepared = evaluation.prepared
    options = prepared.options
    summary = summarise(evaluation, outcome)
    run = RunReport(
        run_id=started.astimezone().strftime(RUN_ID_FORMAT),
        created_at=started.isoformat(timespec="seconds"),
        status=summary.status,
        dataset=str(options.dataset),
        dataset_hash=prepared.dataset_hash,
        notes=str(options.notes),
        notes_hash=prepared.notes_hash,
        notes_hash_mode=options.notes_hash_mode,
        options=options.for_report(),
        judge=prepared.judge.report,
        environment=describe_environment(evaluation.embedding_model, RAG_SCHEMA_VERSION),
        hardware=describe_hardware(),
        warnings=prepared.warnings,
    )
    items = [result for result in outcome.results if isinstance(result, ItemReport)]
    failures = [result for result in outcome.results if isinstance(result, ErrorReport)]
    return RunRecord(
        run,
        summary,
        items,
        [*prepared.errors, *failures, *outcome.unscored],
        outcome.asked.attempts if outcome.asked else None,
        outcome.llm,
    )


def _slices(parts: Mapping[str, SliceSummary]) -> dict[str, SliceReport]:
    return {key: _slice(part) for key, part in parts.items()}


def _slice(part: SliceSummary) -> SliceReport:
    times = part.latency
    percentiles = {
        "latency_p50_ms": times.p50_ms if times else None,
        "latency_p95_ms": times.p95_ms if times else None,
        "latency_p99_ms": times.p99_ms if times else None,
    }
    return SliceReport(
        counts=SliceCounts(
            queries=part.n, answerable=part.n_answerable, unanswerable=part.n_unanswerable
        ),
        search={**{name: found.value for name, found in part.search.items()}, **percentiles},
        unanswerable={name: found.value for name, found in part.unanswerable.items()},
        intervals={
            **_intervals("search", part.search),
            **_intervals("unanswerable", part.unanswerable),
        },
    )


def _intervals(block: str, figures: Mapping[str, Estimate]) -> dict[str, IntervalReport]:
    return {
        f"{block}.{name}": IntervalReport(low=found.low, high=found.high, n=found.n)
        for name, found in figures.items()
    }


def _latency_method(options: SearchEvalOptions) -> str:
    return (
        "Latency: wall time of the retrieval of one query (embedding it included, indexing not),"
        f" {options.max_concurrency} at a time, after {options.warmup} warm-up queries;"
        f" percentiles: {latency.METHOD}."
    )
