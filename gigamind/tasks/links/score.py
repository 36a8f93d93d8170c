"""Scores link suggestions over the copy of the vault that `generate-links` wrote. Each note is one item."""

import functools
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from pydantic import TypeAdapter

from gigamind.datasets.check_links import CheckedLink, CheckedLinks, check_links
from gigamind.datasets.jsonl import read_links
from gigamind.errors import InputError
from gigamind.evaluation.inputs import Inputs, PreparedInput
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Evaluation, Interrupted, Run, run_report
from gigamind.i18n import Text, _
from gigamind.interop.ranking import Oddity
from gigamind.linking.anchors import fold
from gigamind.linking.suggest import load_suggester
from gigamind.metrics import links
from gigamind.records.environment import describe_environment
from gigamind.records.schema import PassageReport, Record, SystemReport, intervals
from gigamind.spans import Span, Utf16
from gigamind.stats.agreement import expected_calibration_error
from gigamind.stats.estimate import sliced
from gigamind.systems.dialect import SystemHealth
from gigamind.systems.open import describe_run
from gigamind.tasks.links import schema
from gigamind.tasks.links.options import OF_OWN, LinkEvalOptions
from gigamind.tasks.links.suggesters import (
    OwnSuggester,
    RunSuggester,
    Suggester,
    Suggestion,
    run_path,
)
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault, read_vault


@dataclass(frozen=True, slots=True)
class PreparedLinks(PreparedInput):
    """Valid input of one run; `--sample` draws notes."""

    options: LinkEvalOptions
    vault: Vault
    identities: Identities
    checked: CheckedLinks
    # Expected links by the path of their note, in the vault's order.
    rows: Mapping[str, tuple[CheckedLink, ...]]
    # The other tool that made the suggestions; None for gigamind.
    system: SystemReport | None = None


def prepare_links(options: LinkEvalOptions) -> PreparedLinks:
    """Read and check all input of a run.

    Raises:
        InputError: The dataset is missing or unreadable.
        DatasetError: Too few rows are usable, or a row is invalid under `--strict`.
        NotesError: The vault is missing, unreadable or empty.
    """
    inputs, system = Inputs(options), _system(options)
    if not options.dataset.exists():
        command = (
            f"generate-links --notes VAULT --out-notes {options.notes} --dataset {options.dataset}"
        )
        raise InputError(
            "{file}: no such file. Make it with `gigamind eval {command}`.",
            file=options.dataset,
            command=command,
        )
    dataset = read_links(options.dataset)
    vault = read_vault(options.notes, options.exclude)
    identities = Identities(vault.notes)
    checked = check_links(dataset, vault, identities)
    inputs.refuse_unusable(checked)
    by_note: dict[str, list[CheckedLink]] = {}
    for link in checked.links:
        by_note.setdefault(link.note.path, []).append(link)
    paths = sorted(by_note)
    chosen = inputs.drawn(paths)
    return PreparedLinks(
        **inputs.prepared(checked, vault, len(paths) - len(chosen)),
        vault=vault,
        identities=identities,
        checked=checked,
        rows={path: tuple(by_note[path]) for path in chosen},
        system=system,
    )


def _system(options: LinkEvalOptions) -> SystemReport | None:
    if options.system is None:
        if options.allow_partial:
            raise InputError(
                "{option}: requires --system. Add --system or remove this option.",
                option="--allow-partial",
            )
        return None
    if idle := options.flags(OF_OWN):
        raise InputError(
            "{option}: works only with gigamind's own suggestions, but --system names another tool. Remove one"
            " of the two options.",
            option=idle,
        )
    return describe_run(run_path(options.system))


_WARM_UP_NOTES = 10
Ranked = tuple[int, Suggestion]
"""A suggestion with its rank in the complete list, from 1."""


def _miss(
    row: CheckedLink,
    shown: Sequence[Suggestion],
    ranked: Sequence[Ranked],
    excluded: frozenset[str],
    evaluation: "LinkEvaluation",
) -> schema.MissReport:
    """Return why an expected row was not suggested; `excluded` are targets that the note already links to."""
    others = [pair for pair in ranked if pair[1].target not in row.targets]
    instead = next((pair for pair in others if _overlaps_anchor(pair[1], row)), None)
    own = next((pair for pair in ranked if pair[1].target in row.targets), None)
    if own is not None:
        too_low = own[0] > evaluation.prepared.options.topk
        cause: schema.MissCause = "ranked_too_low" if too_low else "below_confidence"
        last = next((pair for pair in reversed(ranked) if pair[1] in shown), None)
        instead = instead or last
    elif not excluded.isdisjoint(row.targets):
        cause = "already_linked"
    else:
        names = frozenset[str]().union(*(evaluation.names[target] for target in row.targets))
        instead = instead or next((pair for pair in others if fold(pair[1].anchor) in names), None)
        cause = "namesake" if instead else "no_candidate"
    return schema.MissReport(
        id=row.item.id, cause=cause, own=_ranked(own), instead=_ranked(instead)
    )


def _overlaps_anchor(suggestion: Suggestion, row: CheckedLink) -> bool:
    if row.span is None or suggestion.span is None:
        return fold(suggestion.anchor) == fold(row.item.anchor)
    return suggestion.span.start < row.span.end and row.span.start < suggestion.span.end


@dataclass(frozen=True, slots=True)
class EvaluatedNote:
    """One note: its line of per_item.jsonl, and the input of the metrics."""

    item: schema.LinkItemReport
    measured: links.LinkedNote


def _summary(prepared: PreparedLinks, run: Run[EvaluatedNote]) -> schema.LinkSummaryReport:
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
            schema.ReliabilityBinReport.like(
                entry,
                n=entry.outcome.n,
                mean_confidence=entry.confidence or 0.0,
                precision=entry.outcome.value or 0.0,
            )
            for entry in bins
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


def _item(
    note: Note,
    rows: Sequence[CheckedLink],
    suggestions: Sequence[Suggestion],
    measured: links.LinkedNote,
    topk: int,
    **more: object,
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
        terms=links.terms(measured, topk),
        metrics=links.note_values(measured, topk),
        **more,
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
    # Title, file stem and aliases of each note, folded for comparison, by path.
    names: Mapping[str, frozenset[str]]
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
        prepared, summary = self.prepared, _summary(self.prepared, run)
        if summary.system:
            warnings = (
                _oddity_texts(count, len(prepared.rows))[name]
                for name, count in summary.system.oddities.items()
            )
            prepared = replace(prepared, warnings=(*prepared.warnings, *warnings))
        environment = describe_environment(self.suggester.embedding_model, "none", prepared.system)
        report = run_report(prepared, started, summary.status, environment)
        return Record(report, summary, [note.item for note in run.results], prepared.errors)


def open_links(options: LinkEvalOptions, progress: Progress) -> LinkEvaluation:
    """Check the input (see `prepare_links`) and open the suggester."""
    prepared = prepare_links(options)
    names = {
        note.path: frozenset(map(fold, (note.title, note.stem, *note.aliases)))
        for note in prepared.vault.notes
    }
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
    targets = {suggestion.target for suggestion in shown}
    missed = [r for r in rows if r.item.label != "reject" and targets.isdisjoint(r.targets)]
    places = list(enumerate(ranked, start=1))
    misses = tuple(_miss(row, shown, places, excluded, evaluation) for row in missed)
    oddities = dict(suggester.oddities(note))
    item = _item(note, rows, shown, measured, options.topk, misses=misses, oddities=oddities)
    return EvaluatedNote(item, measured)


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
