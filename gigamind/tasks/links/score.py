"""Scores link suggestions over the copy of the vault that `generate-links` wrote. Each note is one item."""

import functools
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, cast, get_args

from pydantic import TypeAdapter

from gigamind.datasets.check import CheckedLink, CheckedRows, check_links
from gigamind.datasets.jsonl import read_links
from gigamind.errors import InputError
from gigamind.evaluation.inputs import PreparedInput, draw
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Evaluation, Run
from gigamind.evaluation.workers import Interrupted
from gigamind.i18n import Text, _
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, RunFile, read_json_run
from gigamind.linking.anchors import fold
from gigamind.linking.suggest import LEAST_CONFIDENCE, LinkSuggester, SuggestOptions
from gigamind.metrics import links
from gigamind.records.schema import PassageReport, Record, SystemReport, intervals
from gigamind.spans import Span, Utf16
from gigamind.stats.agreement import expected_calibration_error
from gigamind.stats.intervals import sliced
from gigamind.systems.dialect import SystemHealth
from gigamind.systems.open import describe_run, run_warnings
from gigamind.systems.protocol import settle
from gigamind.tasks.links import schema
from gigamind.tasks.options import LinkEvalOptions
from gigamind.vault.graph import link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault

_FORM = '{"note": ..., "suggestions": [{"target": ..., "anchor": ..., "confidence": ...}]}'
_PAIR = 2
_UNMEASURED: frozenset[Oddity] = frozenset({"tied_scores", "fewer_hits"})
"""Problems of rankings that are none of suggestions, whose number per note is free."""


@dataclass(frozen=True, slots=True)
class _Suggestion:
    """One suggested link, from any source."""

    target: str  # path of the target note; if the vault lacks it, the name in the run file
    anchor: str  # the words that would be linked; "" if the tool gave none
    span: Span | None  # range of the anchor in code points; None if unknown
    confidence: float | None  # in [0, 1]; None if the tool gave none
    reason: str
    context: str
    # Values that the confidence is computed from, by name.
    features: Mapping[str, float | int | str]
    least: float = 0.0  # lowest confidence at which the suggestion is shown


class _Suggestions(NamedTuple):
    """All suggestions for one note, best first; a run shows the top, the ranks of the rest explain misses."""

    every: Sequence[_Suggestion]
    unlinked: Sequence[_Suggestion]  # without targets that the note already links to
    linked: frozenset[str]  # paths of these targets
    oddities: Mapping[Oddity, int]  # data-quality problems, with counts


def _own_suggestions(suggester: LinkSuggester, context_chars: int, note: Note) -> _Suggestions:
    every, unlinked = (
        [
            _Suggestion(
                *(own.target, own.anchor, own.span, own.confidence, own.reason, own.context),
                asdict(own.features),
                LEAST_CONFIDENCE,
            )
            for own in suggester.suggest(
                note, SuggestOptions(sys.maxsize, 0.0, excluding, context_chars, unlikely=True)
            )
        ]
        for excluding in (False, True)
    )
    return _Suggestions(every, unlinked, suggester.finder.linked(note), {})


def _open_tool(
    path: Path, vault: Vault, identities: Identities, notes: Iterable[str] | None
) -> tuple[Callable[[Note], _Suggestions], Sequence[Text]]:
    """Return the suggestions of another tool for each note, read from a file, and warnings about the file.

    Raises InputError if it is unusable, or has none of the evaluated `notes`, if all are known.
    """
    run = read_json_run(path, _read_links, _FORM, ("note", "id", "source_note"))
    rankings: dict[str, Ranking[RankedNote]] = {}
    for name, found_links in run.responses.items():
        found = identities.find(name)
        rankings.setdefault(found.name if found else name, found_links)
    resolved = RunFile(run.path, rankings, run.problems, run.sha256)
    warnings = run_warnings(resolved, None if notes is None else frozenset(notes))
    linked = link_graph(vault, identities)
    return functools.partial(_tool_suggestions, rankings, linked, identities), warnings


def _tool_suggestions(
    rankings: Mapping[str, Ranking[RankedNote]],
    graph: Mapping[str, Iterable[str]],
    identities: Identities,
    note: Note,
) -> _Suggestions:
    linked = frozenset(graph[note.path])
    if note.path not in rankings:
        return _Suggestions([], [], linked, {"not_in_run_file": 1})
    settled = settle(rankings[note.path], sys.maxsize, identities.find)
    oddities: Counter[Oddity] = Counter(settled.oddities)
    units, every = Utf16(note.text), list[_Suggestion]()
    for link in settled.hits:
        span = _span(note, units, link)
        oddities["unplaced_texts"] += span is None and bool(link.place or link.text)
        confidence = link.base_score
        if confidence is not None and not 0 <= confidence <= 1:
            confidence = None
            oddities["bad_scores"] += 1
        anchor = span.slice(note.text) if span else link.text
        every.append(_Suggestion(link.note, anchor, span, confidence, "", "", {}))
    odd: dict[Oddity, int] = {
        name: n for name, n in oddities.items() if n and name not in _UNMEASURED
    }
    return _Suggestions(every, [x for x in every if x.target not in linked], linked, odd)


def _span(note: Note, units: Utf16, link: RankedNote) -> Span | None:
    """Return the range of a link's anchor: the given range if it fits, else the only occurrence of the words."""
    if link.place:
        try:
            span = units.span_to_code_points(*link.place)
        except ValueError:
            return None
        return span if span and link.text in {"", span.slice(note.text)} else None
    start = note.text.find(link.text) if link.text else -1
    if start < 0 or note.text.find(link.text, start + 1) >= 0:
        return None
    return Span(start, start + len(link.text))


def _read_links(row: Mapping[str, object]) -> Ranking[RankedNote]:
    """Read the links of a line, each a target, [target, confidence], or an object with `target`.

    An object may also have `confidence`, `anchor`, `start` and `end`. A line without links raises ValueError.
    """
    suggestions = row.get("suggestions")
    if not isinstance(suggestions, list):
        raise ValueError(_('the line has no list "suggestions"'))  # noqa: TRY004  the text is at fault
    links = enumerate(cast("list[object]", suggestions), start=1)
    return Ranking(tuple(_read_link(link, number) for number, link in links))


def _read_link(link: object, number: int) -> RankedNote:
    fields: dict[object, object] = {"target": link}
    if isinstance(link, dict):
        fields = cast("dict[object, object]", link)
    elif isinstance(link, list) and len(pair := cast("list[object]", link)) == _PAIR:
        fields = {"target": pair[0], "confidence": pair[1]}
    target = fields.get("target")
    if not isinstance(target, str) or not target.strip():
        raise ValueError(_("suggestion {number} has no target", number=number))
    named = {"note": target, "score": fields.get("confidence"), "text": fields.get("anchor")}
    return RankedNote.of({**named, "start": fields.get("start"), "end": fields.get("end")})


def _run_path(system: str) -> Path:
    """Return the file that `--system run:FILE` names; raises InputError for another form."""
    kind, _colon, path = system.partition(":")
    if kind != "run" or not path.strip():
        raise InputError(
            "--system {system}: links of another tool are read from a file. Use run:FILE.",
            system=system,
        )
    return Path(path.strip())


@dataclass(frozen=True, slots=True)
class _PreparedLinks(PreparedInput):
    """Valid input of one run; `--sample` draws notes."""

    options: LinkEvalOptions
    vault: Vault
    identities: Identities
    checked: CheckedRows[CheckedLink]
    # Expected links by the path of their note, in the vault's order.
    rows: Mapping[str, tuple[CheckedLink, ...]]


def prepare_links(options: LinkEvalOptions) -> _PreparedLinks:
    """Read and check all input of a run; raises InputError, and the errors of `Vault.read` and `draw`."""
    system = _system(options)
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
    vault = Vault.read(options.notes, options.exclude)
    identities = Identities(vault.notes)
    checked = check_links(dataset, vault, identities)
    by_note: dict[str, list[CheckedLink]] = {}
    for link in checked.usable:
        by_note.setdefault(link.note.path, []).append(link)
    chosen, fields = draw(options, checked, vault, sorted(by_note))
    rows = {path: tuple(by_note[path]) for path in chosen}
    return _PreparedLinks(
        **fields, vault=vault, identities=identities, checked=checked, rows=rows, system=system
    )


def _system(options: LinkEvalOptions) -> SystemReport | None:
    if options.system is None:
        if idle := options.flags(("allow_partial",)):
            raise InputError(
                "{option}: requires --system. Add --system or remove this option.", option=idle
            )
        return None
    if idle := options.flags(options.of_engine):
        raise InputError(
            "{option}: works only with gigamind's own suggestions, but --system names another tool. Remove one"
            " of the two options.",
            option=idle,
        )
    return describe_run(_run_path(options.system))


_WARM_UP_NOTES = 10


def _miss(
    row: CheckedLink,
    shown: Sequence[_Suggestion],
    ranked: Sequence[tuple[int, _Suggestion]],
    excluded: frozenset[str],
    evaluation: "_LinkEvaluation",
) -> schema.MissReport:
    """Return why an expected row was not suggested.

    `ranked` are all suggestions with their ranks, from 1; `excluded` are targets that the note already links to.
    """
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
    reports = [pair and schema.RankedReport.like(pair[1], place=pair[0]) for pair in (own, instead)]
    return schema.MissReport(id=row.item.id, cause=cause, own=reports[0], instead=reports[1])


def _overlaps_anchor(suggestion: _Suggestion, row: CheckedLink) -> bool:
    if row.span is None or suggestion.span is None:
        return fold(suggestion.anchor) == fold(row.item.anchor)
    return suggestion.span.start < row.span.end and row.span.start < suggestion.span.end


@dataclass(frozen=True, slots=True)
class _EvaluatedNote:
    """One note: its line of per_item.jsonl, and the input of the metrics."""

    item: schema.LinkItemReport
    measured: links.LinkedNote


def _summary(prepared: _PreparedLinks, run: Run[_EvaluatedNote]) -> schema.LinkSummaryReport:
    """Return the figures of a run. Except for times, equal runs give equal summaries."""
    notes = [note.measured for note in run.results]
    topk, seed = prepared.options.topk, prepared.options.seed
    bins = links.reliability(notes)
    odd = [note.item.oddities for note in run.results]
    missing = sum("not_in_run_file" in oddities for oddities in odd)
    return schema.LinkSummaryReport(
        status="interrupted" if run.interrupted else "complete",
        counts=schema.LinkCounts(
            links_total=sum(len(note.item.expected) for note in run.results),
            source_notes=len(notes),
            rows_rejected=prepared.rows_rejected,
            notes_not_sampled=prepared.not_sampled,
            notes_not_run=len(prepared.rows) - len(notes),
            ranges_misfit=sum(link.is_misfit for link in prepared.checked.usable),
            notes=len(prepared.vault.notes),
        ),
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
        system=SystemHealth.of(missing, len(odd), odd) if prepared.system else None,
    )


def _oddity_texts(count: int, total: int) -> dict[Oddity, Text]:
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


def _slice(notes: Sequence[_EvaluatedNote], topk: int, seed: int) -> schema.LinkSliceReport:
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
class _LinkEvaluation(Evaluation[schema.LinkSummaryReport, schema.LinkItemReport, _EvaluatedNote]):
    """Checked input and a suggester for its vault."""

    prepared: _PreparedLinks
    suggest: Callable[[Note], _Suggestions]
    prepare: Callable[[Iterable[Note]], object]  # prepares all these notes at once, which is faster
    # Title, file stem and aliases of each note, folded for comparison, by path.
    names: Mapping[str, frozenset[str]]
    results = TypeAdapter(list[_EvaluatedNote])

    @property
    def count(self) -> int:
        return len(self.prepared.rows)

    def warm_up(self) -> int:
        paths = list(self.prepared.rows)[:_WARM_UP_NOTES]
        for path in paths:
            _suggest(self, path)
        return len(paths)

    def score(self, first: int, end: int, progress: Progress) -> list[_EvaluatedNote]:
        """Suggest links for each note, in the vault's order; Interrupted keeps the notes that are done."""
        paths = list(self.prepared.rows)[first:end]
        self.prepare(self.prepared.rows[path][0].note for path in paths)
        results: list[_EvaluatedNote] = []
        try:
            for path in paths:
                # No comprehension: after Ctrl-C, `results` holds the notes that are done.
                results.append(_suggest(self, path))
                progress.stage("Notes", len(results), len(paths))
        except KeyboardInterrupt as stop:
            raise Interrupted(results) from stop
        return results

    def record(self, run: Run[_EvaluatedNote], started: datetime) -> schema.LinkRunRecord:
        prepared, summary = self.prepared, _summary(self.prepared, run)
        if summary.system:
            warnings = (
                _oddity_texts(count, len(prepared.rows))[name]
                for name, count in summary.system.oddities.items()
            )
            prepared = replace(prepared, warnings=(*prepared.warnings, *warnings))
        report = prepared.report(started, summary.status)
        return Record(report, summary, [note.item for note in run.results], prepared.errors)


def open_links(options: LinkEvalOptions, progress: Progress) -> _LinkEvaluation:
    """Check the input (see `prepare_links`) and open the suggester."""
    prepared = prepare_links(options)
    names = {
        note.path: frozenset(map(fold, (note.title, note.stem, *note.aliases)))
        for note in prepared.vault.notes
    }
    vault, identities = prepared.vault, prepared.identities
    if options.system is not None:
        whole = options.sample is None and not prepared.errors
        path = _run_path(options.system)
        suggest, warnings = _open_tool(path, vault, identities, prepared.rows if whole else None)
        prepared = replace(prepared, warnings=(*prepared.warnings, *warnings))
        return _LinkEvaluation(prepared, suggest, lambda _notes: None, names)
    embedder = options.embedder if options.semantic else None
    stage = functools.partial(progress.stage, "Names")
    suggester = LinkSuggester.load(vault, identities, embedder, options.cache, stage)
    prepared = replace(prepared, embedding_model=suggester.embedding_model)
    suggest = functools.partial(_own_suggestions, suggester, options.context_chars)
    return _LinkEvaluation(prepared, suggest, suggester.prepare, names)


def _suggest(evaluation: _LinkEvaluation, path: str) -> _EvaluatedNote:
    options, rows = evaluation.prepared.options, evaluation.prepared.rows[path]
    note = rows[0].note
    every, unlinked, linked, oddities = evaluation.suggest(note)
    ranked = unlinked if options.exclude_linked else every
    shown = _shown(ranked, options)
    measured = links.LinkedNote(
        note=path,
        language=rows[0].item.language or note_language(note),
        suggestions=tuple(_measured(x, rows, linked) for x in shown),
        unlinked=tuple(_measured(x, rows, linked) for x in _shown(unlinked, options)),
        expected=tuple(dict.fromkeys(r.targets for r in rows if r.item.label != "reject")),
    )
    excluded = linked if options.exclude_linked else frozenset[str]()
    targets = {suggestion.target for suggestion in shown}
    missed = [r for r in rows if r.item.label != "reject" and targets.isdisjoint(r.targets)]
    places = list(enumerate(ranked, start=1))
    misses = tuple(_miss(row, shown, places, excluded, evaluation) for row in missed)
    units = Utf16(note.text)
    item = schema.LinkItemReport.like(
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
                hit=measured.expects(seen),
                span_exact=seen.is_exact,
                novel=seen.is_novel,
            )
            for suggestion, seen in zip(shown, measured.suggestions, strict=True)
        ),
        terms=measured.terms(options.topk),
        metrics=measured.values(options.topk),
        misses=misses,
        oddities=dict(oddities),
    )
    return _EvaluatedNote(item, measured)


def _shown(ranked: Sequence[_Suggestion], options: LinkEvalOptions) -> tuple[_Suggestion, ...]:
    """Return the top suggestions above the confidence threshold; those without a confidence are shown."""
    least = options.min_confidence
    confident = (s for s in ranked if s.confidence is None or s.confidence >= max(least, s.least))
    return tuple(itertools.islice(confident, options.topk))


def _measured(
    suggestion: _Suggestion, rows: Sequence[CheckedLink], linked: frozenset[str]
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
