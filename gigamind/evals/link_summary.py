"""From measured notes to the reports of a link evaluation."""

from collections.abc import Sequence
from dataclasses import asdict

from gigamind.datasets.check_links import CheckedLink
from gigamind.linking.suggest import LinkSuggestion
from gigamind.metrics.linking import (
    LinkedNote,
    calibration_error,
    is_hit,
    note_values,
    reliability,
    summarise_links,
    sweep_links,
)
from gigamind.reports.link_schema import (
    ExpectedLinkReport,
    LinkCounts,
    LinkItemReport,
    LinkPerformance,
    LinkSliceReport,
    LinkSummaryReport,
    ReliabilityBinReport,
    SuggestionReport,
    SweepPointReport,
)
from gigamind.reports.schema import IntervalReport, PassageReport
from gigamind.spans import Span, Utf16
from gigamind.vault.notes import Note


def summarise_run(
    notes: Sequence[LinkedNote], counts: LinkCounts, times: LinkPerformance, topk: int, seed: int
) -> LinkSummaryReport:
    """The figures of a run; equal runs give equal summaries, times apart."""
    languages = sorted({note.language for note in notes})
    bins = reliability(notes)
    return LinkSummaryReport(
        counts=counts,
        overall=_slice(notes, topk, seed),
        by_language={
            language: _slice([note for note in notes if note.language == language], topk, seed)
            for language in languages
        },
        sweep=tuple(SweepPointReport(**asdict(point)) for point in sweep_links(notes, topk)),
        reliability=tuple(ReliabilityBinReport(**asdict(one)) for one in bins),
        calibration_error=calibration_error(bins),
        performance=times,
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
