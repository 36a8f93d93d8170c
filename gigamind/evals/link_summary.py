"""From measured notes to the reports of a link evaluation."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from gigamind.datasets.check_links import CheckedLink
from gigamind.evals.link_prepare import PreparedLinks
from gigamind.evals.summary import RUN_ID_FORMAT
from gigamind.linking.suggest import LinkSuggestion
from gigamind.metrics.linking import (
    LinkedNote,
    acceptance,
    calibration_error,
    cutoffs,
    is_hit,
    note_values,
    reliability,
    summarise_links,
    sweep_links,
    terms,
)
from gigamind.reports.environment import describe_environment, describe_hardware
from gigamind.reports.link_schema import (
    ExpectedLinkReport,
    LinkCounts,
    LinkItemReport,
    LinkPerformance,
    LinkRunRecord,
    LinkSliceReport,
    LinkSummaryReport,
    ReliabilityBinReport,
    SuggestionReport,
    SweepPointReport,
)
from gigamind.reports.schema import IntervalReport, PassageReport, RunReport
from gigamind.spans import Span, Utf16
from gigamind.vault.notes import Note


@dataclass(frozen=True, slots=True)
class EvaluatedNote:
    """One note: its line of per_item.jsonl, and the same as the metrics see it."""

    item: LinkItemReport
    measured: LinkedNote


@dataclass(frozen=True, slots=True)
class LinkRun:
    """What a run gave.

    Attributes:
        results: in the vault's order.
        runtime_ms: wall time of all suggestions.
        interrupted: Ctrl-C stopped it; notes without a result were not run.
    """

    results: Sequence[EvaluatedNote]
    runtime_ms: float
    interrupted: bool = False


def record_links(
    prepared: PreparedLinks, indexing_ms: float, outcome: LinkRun, started: datetime
) -> LinkRunRecord:
    """All that the out folder of a run is to hold."""
    options = prepared.options
    summary = summarise_run(prepared, indexing_ms, outcome)
    run = RunReport(
        run_id=started.astimezone().strftime(RUN_ID_FORMAT),
        created_at=started.isoformat(timespec="seconds"),
        task="links",
        status=summary.status,
        dataset=str(options.dataset),
        dataset_hash=prepared.checked.dataset.sha256,
        notes=str(options.notes),
        notes_hash=prepared.notes_hash,
        notes_hash_mode=options.notes_hash_mode,
        options=options.for_report(),
        environment=describe_environment(None, "none"),
        hardware=describe_hardware(),
        warnings=(*prepared.vault.warnings, *prepared.checked.warnings),
    )
    return LinkRunRecord(run, summary, [one.item for one in outcome.results], prepared.errors)


def summarise_run(
    prepared: PreparedLinks, indexing_ms: float, outcome: LinkRun
) -> LinkSummaryReport:
    """The figures of a run; equal runs give equal summaries, times apart."""
    notes = [one.measured for one in outcome.results]
    topk, seed = prepared.options.topk, prepared.options.seed
    languages = sorted({note.language for note in notes})
    bins = reliability(notes)
    return LinkSummaryReport(
        status="interrupted" if outcome.interrupted else "complete",
        counts=_counts(prepared, outcome),
        overall=_slice(notes, topk, seed),
        by_language={
            language: _slice([note for note in notes if note.language == language], topk, seed)
            for language in languages
        },
        sweep=tuple(SweepPointReport(**asdict(point)) for point in sweep_links(notes, topk)),
        reliability=tuple(ReliabilityBinReport(**asdict(one)) for one in bins),
        calibration_error=calibration_error(bins),
        performance=LinkPerformance(indexing_ms=indexing_ms, eval_runtime_ms=outcome.runtime_ms),
    )


def _counts(prepared: PreparedLinks, outcome: LinkRun) -> LinkCounts:
    return LinkCounts(
        links_total=sum(len(one.item.expected) for one in outcome.results),
        source_notes=len(outcome.results),
        rows_rejected=len({error.line for error in prepared.checked.errors}),
        notes_not_sampled=prepared.not_sampled,
        notes_not_run=len(prepared.rows) - len(outcome.results),
        ranges_misfit=prepared.checked.misfits,
        notes=len(prepared.vault.notes),
    )


def link_item(
    note: Note,
    rows: Sequence[CheckedLink],
    suggestions: Sequence[LinkSuggestion],
    measured: LinkedNote,
    topk: int,
) -> LinkItemReport:
    """The line of per_item.jsonl for one note."""
    units = Utf16(note.text)
    return LinkItemReport(
        note=note.path,
        language=measured.language,
        text=note.text,
        expected=tuple(
            ExpectedLinkReport(
                id=row.item.id,
                anchor=row.item.anchor,
                targets=tuple(sorted(row.targets)),
                passage=None if row.span is None else _passage(note, units, row.span),
                label=row.item.label,
            )
            for row in rows
        ),
        suggestions=tuple(
            SuggestionReport(
                anchor=_passage(note, units, one.span),
                target=one.target,
                confidence=one.confidence,
                reason=one.reason,
                context=one.context,
                features=asdict(one.features),
                hit=is_hit(seen, measured),
                span_exact=seen.is_exact,
                novel=seen.is_novel,
            )
            for one, seen in zip(suggestions, measured.suggestions, strict=True)
        ),
        terms={
            **{name: term for k in cutoffs(topk) for name, term in terms(measured, k).items()},
            **acceptance(measured),
        },
        metrics=note_values(measured, topk),
    )


def _slice(notes: Sequence[LinkedNote], topk: int, seed: int) -> LinkSliceReport:
    figures = summarise_links(notes, topk, seed)
    return LinkSliceReport(
        notes=len(notes),
        links={name: found.value for name, found in figures.items()},
        intervals={
            f"links.{name}": IntervalReport(low=found.low, high=found.high, n=found.n)
            for name, found in figures.items()
        },
    )


def _passage(note: Note, units: Utf16, span: Span) -> PassageReport:
    start, end = units.span_from_code_points(span)
    return PassageReport(
        note=note.path, utf16_start=start, utf16_end=end, text=span.slice(note.text)
    )
