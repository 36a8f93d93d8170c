"""From measured notes to the reports of a link evaluation."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from gigamind.datasets.check import CheckedLink
from gigamind.evaluation.task import Run, run_report
from gigamind.metrics.links import (
    LinkedNote,
    is_hit,
    note_values,
    reliability,
    summarise_links,
    sweep_links,
    terms,
)
from gigamind.records.environment import describe_environment
from gigamind.records.schema import PassageReport, Record, intervals
from gigamind.spans import Span, Utf16
from gigamind.stats.agreement import expected_calibration_error
from gigamind.systems.health import SystemHealth
from gigamind.tasks.links.misses import Miss, Ranked
from gigamind.tasks.links.prepare import PreparedLinks
from gigamind.tasks.links.schema import (
    ExpectedLinkReport,
    LinkCounts,
    LinkItemReport,
    LinkPerformance,
    LinkSliceReport,
    LinkSummaryReport,
    MissCause,
    MissReport,
    RankedReport,
    ReliabilityBinReport,
    SuggestionReport,
    SweepPointReport,
)
from gigamind.tasks.links.suggesters import Suggestion
from gigamind.vault.notes import Note
from gigamind.wording import warning


@dataclass(frozen=True, slots=True)
class EvaluatedNote:
    """One note: its line of per_item.jsonl, and the same as the metrics see it."""

    item: LinkItemReport
    measured: LinkedNote


def record_links(
    prepared: PreparedLinks,
    run: Run[EvaluatedNote],
    started: datetime,
    embedding_model: str | None,
) -> Record[LinkSummaryReport, LinkItemReport]:
    """All that the out folder of a run is to hold."""
    summary = summarise_run(prepared, run)
    if summary.system:
        prepared = replace(prepared, warnings=(*prepared.warnings, *_odd(prepared, summary.system)))
    report = run_report(
        prepared,
        started,
        summary.status,
        describe_environment(embedding_model, "none", prepared.system),
    )
    return Record(report, summary, [note.item for note in run.results], prepared.errors)


def summarise_run(prepared: PreparedLinks, run: Run[EvaluatedNote]) -> LinkSummaryReport:
    """The figures of a run; equal runs give equal summaries, times apart."""
    notes = [one.measured for one in run.results]
    topk, seed = prepared.options.topk, prepared.options.seed
    languages = sorted({note.language for note in notes})
    bins = reliability(notes)
    return LinkSummaryReport(
        status="interrupted" if run.interrupted else "complete",
        counts=_counts(prepared, run),
        overall=_slice(run.results, topk, seed),
        by_language={
            language: _slice(
                [note for note in run.results if note.measured.language == language], topk, seed
            )
            for language in languages
        },
        sweep=tuple(SweepPointReport.like(point) for point in sweep_links(notes, topk)),
        reliability=tuple(
            ReliabilityBinReport(
                low=one.low,
                high=one.high,
                n=one.outcome.n,
                mean_confidence=one.confidence or 0.0,
                precision=one.outcome.value or 0.0,
            )
            for one in bins
        ),
        calibration_error=expected_calibration_error(bins),
        performance=LinkPerformance(indexing_ms=run.opening_ms, eval_runtime_ms=run.scoring_ms),
        system=_health(run) if prepared.system else None,
    )


def _health(run: Run[EvaluatedNote]) -> SystemHealth:
    odd = [one.item.oddities for one in run.results]
    lacking = sum("not_in_run_file" in one for one in odd)
    return SystemHealth.of(lacking, len(odd), odd)


def _odd(prepared: PreparedLinks, system: SystemHealth) -> Iterator[str]:
    """What was odd about another tool's suggestions, a warning a kind."""
    notes = f"{len(prepared.rows):,}"
    for name, count in system.oddities.items():
        yield warning(f"link_{name}", count=f"{count:,}", notes=notes)


def _counts(prepared: PreparedLinks, run: Run[EvaluatedNote]) -> LinkCounts:
    return LinkCounts(
        links_total=sum(len(one.item.expected) for one in run.results),
        source_notes=len(run.results),
        rows_rejected=prepared.rows_rejected,
        notes_not_sampled=prepared.not_sampled,
        notes_not_run=len(prepared.rows) - len(run.results),
        ranges_misfit=prepared.checked.misfits,
        notes=len(prepared.vault.notes),
    )


def link_item(
    note: Note,
    rows: Sequence[CheckedLink],
    suggestions: Sequence[Suggestion],
    measured: LinkedNote,
    topk: int,
    *,
    misses: Sequence[Miss],
) -> LinkItemReport:
    """The line of per_item.jsonl for one note."""
    units = Utf16(note.text)
    return LinkItemReport.like(
        measured,
        text=note.text,
        expected=tuple(
            ExpectedLinkReport.like(
                row.item,
                targets=tuple(sorted(row.targets)),
                passage=None if row.span is None else _passage(note, units, row.span),
            )
            for row in rows
        ),
        suggestions=tuple(
            SuggestionReport.like(
                one,
                anchor=_passage(note, units, one.span) if one.span else None,
                hit=is_hit(seen, measured),
                span_exact=seen.is_exact,
                novel=seen.is_novel,
            )
            for one, seen in zip(suggestions, measured.suggestions, strict=True)
        ),
        misses=tuple(
            MissReport(
                id=miss.row.item.id,
                cause=miss.cause,
                own=_ranked(miss.own),
                instead=_ranked(miss.instead),
            )
            for miss in misses
        ),
        terms=terms(measured, topk),
        metrics=note_values(measured, topk),
    )


def _ranked(ranked: Ranked | None) -> RankedReport | None:
    if ranked is None:
        return None
    place, one = ranked
    return RankedReport.like(one, place=place)


def _slice(notes: Sequence[EvaluatedNote], topk: int, seed: int) -> LinkSliceReport:
    figures = summarise_links([note.measured for note in notes], topk, seed)
    causes = Counter(miss.cause for note in notes for miss in note.item.misses)
    return LinkSliceReport(
        notes=len(notes),
        misses={cause: causes[cause] for cause in get_args(MissCause)},
        links={name: found.value for name, found in figures.items()},
        intervals=intervals("links", figures),
    )


def _passage(note: Note, units: Utf16, span: Span) -> PassageReport:
    start, end = units.span_from_code_points(span)
    return PassageReport(
        note=note.path, utf16_start=start, utf16_end=end, text=span.slice(note.text)
    )
