"""Scores link suggestions over the copy of the vault that `generate-links` wrote. Each note is one item."""

import functools
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from pydantic import TypeAdapter

from gigamind.datasets.check_links import CheckedLink
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Evaluation, Interrupted, Run, run_report
from gigamind.i18n import Text, _
from gigamind.interop.ranking import Oddity
from gigamind.linking.anchors import fold
from gigamind.linking.suggest import load_suggester
from gigamind.metrics import links
from gigamind.records.environment import describe_environment
from gigamind.records.schema import PassageReport, Record, intervals
from gigamind.spans import Span, Utf16
from gigamind.stats.agreement import expected_calibration_error
from gigamind.stats.slices import sliced
from gigamind.systems.health import SystemHealth
from gigamind.tasks.links import schema
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.links.prepare import PreparedLinks, prepare_links
from gigamind.tasks.links.suggesters import (
    OwnSuggester,
    RunSuggester,
    Suggester,
    Suggestion,
    run_path,
)
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note

_WARM_UP_NOTES = 10
Ranked = tuple[int, Suggestion]
"""A suggestion with its rank in the complete list, from 1."""


@dataclass(frozen=True, slots=True)
class Miss:
    """One dataset row whose target no shown suggestion has; see `MissReport`."""

    row: CheckedLink
    cause: schema.MissCause
    own: Ranked | None
    instead: Ranked | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """All suggestions for one note, best first."""

    shown: Sequence[Suggestion]  # the suggestions that the run shows
    ranked: Sequence[Suggestion]  # all suggestions, at any confidence
    linked: frozenset[str]  # targets that were excluded because the note already links to them


def find_misses(
    rows: Sequence[CheckedLink],
    candidates: Candidates,
    names: Mapping[str, frozenset[str]],
    topk: int,
) -> list[Miss]:
    """Return the expected rows of one note that were not suggested, in dataset order; `names` see `names_of`."""
    shown = {suggestion.target for suggestion in candidates.shown}
    return [
        _miss(row, candidates, names, topk)
        for row in rows
        if row.item.label != "reject" and shown.isdisjoint(row.targets)
    ]


def names_of(note: Note) -> frozenset[str]:
    """Return the title, file stem and aliases of a note, folded for comparison."""
    return frozenset(map(fold, (note.title, note.stem, *note.aliases)))


def _miss(
    row: CheckedLink, candidates: Candidates, names: Mapping[str, frozenset[str]], topk: int
) -> Miss:
    ranked = list(enumerate(candidates.ranked, start=1))
    others = [pair for pair in ranked if pair[1].target not in row.targets]
    same_anchor = next((pair for pair in others if _overlaps_anchor(pair[1], row)), None)
    own = next((pair for pair in ranked if pair[1].target in row.targets), None)
    if own is not None:
        last = next((pair for pair in reversed(ranked) if pair[1] in candidates.shown), None)
        cause = "ranked_too_low" if own[0] > topk else "below_confidence"
        return Miss(row, cause, own, same_anchor or last)
    if not candidates.linked.isdisjoint(row.targets):
        return Miss(row, "already_linked", None, same_anchor)
    target_names = frozenset[str]().union(*(names[target] for target in row.targets))
    namesake = same_anchor or next(
        (pair for pair in others if fold(pair[1].anchor) in target_names), None
    )
    return Miss(row, "namesake" if namesake else "no_candidate", None, namesake)


def _overlaps_anchor(suggestion: Suggestion, row: CheckedLink) -> bool:
    if row.span is None or suggestion.span is None:
        return fold(suggestion.anchor) == fold(row.item.anchor)
    return suggestion.span.start < row.span.end and row.span.start < suggestion.span.end


@dataclass(frozen=True, slots=True)
class EvaluatedNote:
    """One note: its line of per_item.jsonl, and the input of the metrics."""

    item: schema.LinkItemReport
    measured: links.LinkedNote


def record_links(
    prepared: PreparedLinks, run: Run[EvaluatedNote], started: datetime, embedding_model: str | None
) -> Record[schema.LinkSummaryReport, schema.LinkItemReport]:
    """Return the content of a run's out folder."""
    summary = summarise_run(prepared, run)
    if summary.system:
        warnings = (
            _oddity_texts(count, len(prepared.rows))[name]
            for name, count in summary.system.oddities.items()
        )
        prepared = replace(prepared, warnings=(*prepared.warnings, *warnings))
    report = run_report(
        prepared,
        started,
        summary.status,
        describe_environment(embedding_model, "none", prepared.system),
    )
    return Record(report, summary, [note.item for note in run.results], prepared.errors)


def summarise_run(prepared: PreparedLinks, run: Run[EvaluatedNote]) -> schema.LinkSummaryReport:
    """Return the figures of a run. Except for times, equal runs give equal summaries."""
    notes = [note.measured for note in run.results]
    topk, seed = prepared.options.topk, prepared.options.seed
    bins = links.reliability(notes)
    return schema.LinkSummaryReport(
        status="interrupted" if run.interrupted else "complete",
        counts=_counts(prepared, run),
        overall=_slice(run.results, topk, seed),
        by_language={
            language: _slice(own, topk, seed)
            for language, own in sliced(run.results, lambda note: [note.measured.language]).items()
        },
        sweep=tuple(map(schema.SweepPointReport.like, links.sweep_links(notes, topk))),
        reliability=tuple(
            schema.ReliabilityBinReport(
                low=confidence_bin.low,
                high=confidence_bin.high,
                n=confidence_bin.outcome.n,
                mean_confidence=confidence_bin.confidence or 0.0,
                precision=confidence_bin.outcome.value or 0.0,
            )
            for confidence_bin in bins
        ),
        calibration_error=expected_calibration_error(bins),
        performance=schema.LinkPerformance(
            indexing_ms=run.opening_ms, eval_runtime_ms=run.scoring_ms
        ),
        system=_health(run) if prepared.system else None,
    )


def _health(run: Run[EvaluatedNote]) -> SystemHealth:
    oddities = [note.item.oddities for note in run.results]
    missing = sum("not_in_run_file" in problems for problems in oddities)
    return SystemHealth.of(missing, len(oddities), oddities)


def _oddity_texts(count: int, total: int) -> dict[Oddity, Text]:
    """Return the warning for each kind of data-quality problem."""
    values = {"count": count, "total": total}
    return {
        "not_in_run_file": _(
            "The run file has no line for {count:,} of {total:,} notes; they count as notes without suggestions.",
            **values,
        ),
        "repeated_notes": _(
            "Suggestions for {count:,} of {total:,} notes have a duplicate target; its first position counts.",
            **values,
        ),
        "unknown_notes": _(
            "Suggestions for {count:,} of {total:,} notes have targets that are not in the vault; these"
            " suggestions keep their ranks.",
            **values,
        ),
        "bad_scores": _(
            "Suggestions for {count:,} of {total:,} notes have confidences that are not numbers from 0 to 1; these"
            " confidences are ignored.",
            **values,
        ),
        "rising_scores": _(
            "Suggestions for {count:,} of {total:,} notes are not ordered by confidence; their order is kept.",
            **values,
        ),
        "unplaced_texts": _(
            "For {count:,} of {total:,} notes, gigamind cannot place a suggested anchor: its range is wrong, or"
            " its words do not occur exactly once. The spans of these anchors are not evaluated.",
            **values,
        ),
    }


def _counts(prepared: PreparedLinks, run: Run[EvaluatedNote]) -> schema.LinkCounts:
    return schema.LinkCounts(
        links_total=sum(len(note.item.expected) for note in run.results),
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
    measured: links.LinkedNote,
    topk: int,
    *,
    misses: Sequence[Miss],
) -> schema.LinkItemReport:
    """Return the line of per_item.jsonl for one note."""
    units = Utf16(note.text)
    return schema.LinkItemReport.like(
        measured,
        text=note.text,
        expected=tuple(
            schema.ExpectedLinkReport.like(
                row.item,
                targets=tuple(sorted(row.targets)),
                passage=None if row.span is None else _passage(note, units, row.span),
            )
            for row in rows
        ),
        suggestions=tuple(
            schema.SuggestionReport.like(
                suggestion,
                anchor=_passage(note, units, suggestion.span) if suggestion.span else None,
                hit=links.is_hit(seen, measured),
                span_exact=seen.is_exact,
                novel=seen.is_novel,
            )
            for suggestion, seen in zip(suggestions, measured.suggestions, strict=True)
        ),
        misses=tuple(
            schema.MissReport(
                id=miss.row.item.id,
                cause=miss.cause,
                own=_ranked(miss.own),
                instead=_ranked(miss.instead),
            )
            for miss in misses
        ),
        terms=links.terms(measured, topk),
        metrics=links.note_values(measured, topk),
    )


def _ranked(ranked: Ranked | None) -> schema.RankedReport | None:
    if ranked is None:
        return None
    place, suggestion = ranked
    return schema.RankedReport.like(suggestion, place=place)


def _slice(notes: Sequence[EvaluatedNote], topk: int, seed: int) -> schema.LinkSliceReport:
    figures = links.summarise_links([note.measured for note in notes], topk, seed)
    causes = Counter(miss.cause for note in notes for miss in note.item.misses)
    return schema.LinkSliceReport(
        notes=len(notes),
        misses={cause: causes[cause] for cause in get_args(schema.MissCause)},
        links={name: estimate.value for name, estimate in figures.items()},
        intervals=intervals("links", figures),
    )


def _passage(note: Note, units: Utf16, span: Span) -> PassageReport:
    start, end = units.span_from_code_points(span)
    return PassageReport(
        note=note.path, utf16_start=start, utf16_end=end, text=span.slice(note.text)
    )


@dataclass(frozen=True)
class LinkEvaluation(Evaluation[schema.LinkSummaryReport, schema.LinkItemReport, EvaluatedNote]):
    """Checked input and a suggester for its vault."""

    prepared: PreparedLinks
    suggester: Suggester
    names: Mapping[str, frozenset[str]]  # folded names of each note, by path
    results = TypeAdapter(list[EvaluatedNote])

    @property
    def count(self) -> int:
        return len(self.prepared.rows)

    def warm_up(self) -> int:
        paths = list(self.prepared.rows)[:_WARM_UP_NOTES]
        for path in paths:
            _suggest(self, path)
        return len(paths)

    def score(self, first: int, end: int, progress: Progress) -> list[EvaluatedNote]:
        """Suggest links for each note, in the vault's order; Interrupted keeps the notes that are done."""
        paths = list(self.prepared.rows)[first:end]
        self.suggester.prepare(self.prepared.rows[path][0].note for path in paths)
        results: list[EvaluatedNote] = []
        try:
            for path in paths:
                # No comprehension: after Ctrl-C, `results` holds the notes that are done.
                results.append(_suggest(self, path))
                progress.stage("Notes", len(results), len(paths))
        except KeyboardInterrupt as stop:
            raise Interrupted(results) from stop
        return results

    def record(
        self, run: Run[EvaluatedNote], started: datetime
    ) -> Record[schema.LinkSummaryReport, schema.LinkItemReport]:
        return record_links(self.prepared, run, started, self.suggester.embedding_model)


def open_links(options: LinkEvalOptions, progress: Progress) -> LinkEvaluation:
    """Check the input (see `prepare_links`) and open the suggester."""
    prepared = prepare_links(options)
    names = {note.path: names_of(note) for note in prepared.vault.notes}
    vault, identities = prepared.vault, prepared.identities
    if options.system is not None:
        whole = options.sample is None and not prepared.errors
        path = run_path(options.system)
        tool = RunSuggester(path, vault, identities, prepared.rows if whole else None)
        prepared = replace(prepared, warnings=(*prepared.warnings, *tool.warnings))
        return LinkEvaluation(prepared, tool, names)
    suggester = load_suggester(
        vault,
        identities,
        options.embedder if options.semantic else None,
        options.cache,
        functools.partial(progress.stage, "Names"),
    )
    return LinkEvaluation(prepared, OwnSuggester(suggester, options.context_chars), names)


def _suggest(evaluation: LinkEvaluation, path: str) -> EvaluatedNote:
    options, suggester = evaluation.prepared.options, evaluation.suggester
    rows = evaluation.prepared.rows[path]
    note = rows[0].note
    linked = suggester.linked_targets(path)
    all_suggestions = suggester.suggest(note, excluding=False)
    unlinked = suggester.suggest(note, excluding=True)
    ranked = unlinked if options.exclude_linked else all_suggestions
    shown = _shown(ranked, options)
    measured = links.LinkedNote(
        note=path,
        language=rows[0].item.language or note_language(note),
        suggestions=tuple(_measured(suggestion, rows, linked) for suggestion in shown),
        unlinked=tuple(
            _measured(suggestion, rows, linked) for suggestion in _shown(unlinked, options)
        ),
        expected=tuple(dict.fromkeys(r.targets for r in rows if r.item.label != "reject")),
    )
    excluded = linked if options.exclude_linked else frozenset[str]()
    candidates = Candidates(shown, ranked, excluded)
    misses = find_misses(rows, candidates, evaluation.names, options.topk)
    item = link_item(note, rows, shown, measured, options.topk, misses=misses)
    oddities = dict(suggester.oddities(note))
    return EvaluatedNote(item.model_copy(update={"oddities": oddities}), measured)


def _shown(ranked: Sequence[Suggestion], options: LinkEvalOptions) -> tuple[Suggestion, ...]:
    """Return the top suggestions above the confidence threshold; those without a confidence are shown."""
    least = options.min_confidence
    confident = (s for s in ranked if s.confidence is None or s.confidence >= max(least, s.least))
    return tuple(itertools.islice(confident, options.topk))


def _measured(
    suggestion: Suggestion, rows: Sequence[CheckedLink], linked: frozenset[str]
) -> links.Suggested:
    own = [row for row in rows if suggestion.target in row.targets]
    spans = [row.span for row in own if row.span is not None and row.item.label != "reject"]
    labels = [row.item.label for row in own if row.item.label is not None]
    return links.Suggested(
        target=suggestion.target,
        confidence=suggestion.confidence,
        is_exact=suggestion.span in spans if spans and suggestion.span else None,
        is_novel=suggestion.target not in linked,
        accepted="accept" in labels if labels else None,
    )
