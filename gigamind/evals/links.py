"""The link evaluation: how many removed links are suggested again, and how much else is.

Suggestions are made over the copy that generate-links wrote; a note of it is one item.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gigamind.datasets.check_links import CheckedLink, CheckedLinks, check_links
from gigamind.datasets.jsonl import read_links
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError
from gigamind.evals.link_options import LinkEvalOptions
from gigamind.evals.link_summary import link_item, summarise_run
from gigamind.evals.progress import Progress, Quiet
from gigamind.evals.summary import RUN_ID_FORMAT, default_out
from gigamind.linking.suggest import LinkSuggester, LinkSuggestion, SuggestOptions
from gigamind.metrics.linking import LinkedNote, Suggested
from gigamind.reports.environment import describe_environment, describe_hardware
from gigamind.reports.link_report import LinkRunRecord, write_link_run
from gigamind.reports.link_schema import LinkCounts, LinkPerformance, LinkSummaryReport
from gigamind.reports.schema import ErrorReport, RunReport
from gigamind.reports.write import check_out_folder
from gigamind.vault.fingerprint import notes_hash
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault, read_vault

_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PreparedLinks:
    """Valid input of one run.

    Attributes:
        rows: path of a note -> its expected links, in the vault's order.
        not_sampled: notes that `--sample` left out.
    """

    options: LinkEvalOptions
    vault: Vault
    identities: Identities
    checked: CheckedLinks
    rows: Mapping[str, tuple[CheckedLink, ...]]
    not_sampled: int
    notes_hash: str


class LinksEvaluated(NamedTuple):
    """A finished evaluation, and the folder it was written to."""

    summary: LinkSummaryReport
    run: RunReport
    out: Path


@dataclass(frozen=True, slots=True)
class EvaluatedNote:
    """One note, what was suggested in it, and the same as the metrics see it."""

    note: Note
    rows: tuple[CheckedLink, ...]
    suggestions: tuple[LinkSuggestion, ...]
    measured: LinkedNote


def prepare_links(options: LinkEvalOptions) -> PreparedLinks:
    """Read dataset and vault, and hold one against the other.

    Raises:
        InputError: the dataset is missing or unreadable.
        DatasetError: no row can be used, or one is bad under `--strict`.
        NotesError: the vault is missing, unreadable or empty.
    """
    dataset = read_links(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_links(dataset, vault, identities)
    _refuse(options, checked)
    by_note: dict[str, list[CheckedLink]] = {}
    for link in checked.links:
        by_note.setdefault(link.note.path, []).append(link)
    paths = sorted(by_note)
    size = sample_size(options.sample) if options.sample else len(paths)
    chosen = sample(paths, size, options.seed)
    return PreparedLinks(
        options=options,
        vault=vault,
        identities=identities,
        checked=checked,
        rows={path: tuple(by_note[path]) for path in chosen},
        not_sampled=len(paths) - len(chosen),
        notes_hash=notes_hash(options.notes, options.notes_hash_mode),
    )


def evaluate_links(options: LinkEvalOptions, progress: Progress | None = None) -> LinksEvaluated:
    """Run a whole link evaluation.

    Raises:
        GigamindError: see `prepare_links` and `write_link_run`; its class tells the exit code.
    """
    started, start = datetime.now(UTC), time.perf_counter()
    out = options.out or default_out(started)
    check_out_folder(out)
    prepared = prepare_links(options)
    suggester = LinkSuggester(prepared.vault, prepared.identities)
    indexed = time.perf_counter()
    evaluated = suggest_all(prepared, suggester, progress)
    times = LinkPerformance(
        indexing_ms=1000 * (indexed - start),
        eval_runtime_ms=1000 * (time.perf_counter() - indexed),
    )
    summary = summarise_run(
        [one.measured for one in evaluated], _counts(prepared), times, options.topk, options.seed
    )
    run = _run_report(prepared, started)
    items = [
        link_item(one.note, one.rows, one.suggestions, one.measured, options.topk)
        for one in evaluated
    ]
    write_link_run(out, LinkRunRecord(run, summary, items, _errors(prepared)), options.format)
    return LinksEvaluated(summary, run, out)


def suggest_all(
    prepared: PreparedLinks, suggester: LinkSuggester, progress: Progress | None = None
) -> list[EvaluatedNote]:
    """Suggest links for every note of the dataset, in the vault's order."""
    told = progress or Quiet()
    options = prepared.options
    found: list[EvaluatedNote] = []
    for path, rows in prepared.rows.items():
        note = rows[0].note
        every = suggester.suggest(note, _suggest_options(options, excluding=False))
        unlinked = suggester.suggest(note, _suggest_options(options, excluding=True))
        shown = unlinked if options.exclude_linked else every
        linked = suggester.linked_targets(path)
        measured = LinkedNote(
            note=path,
            language=rows[0].item.language or note_language(note),
            suggestions=tuple(_measured(one, rows, linked) for one in shown),
            unlinked=tuple(_measured(one, rows, linked) for one in unlinked),
            expected=tuple(dict.fromkeys(r.targets for r in rows if r.item.label != "reject")),
        )
        found.append(EvaluatedNote(note, rows, tuple(shown), measured))
        told.stage("Notes", len(found), len(prepared.rows))
    return found


def _suggest_options(options: LinkEvalOptions, *, excluding: bool) -> SuggestOptions:
    return SuggestOptions(options.topk, options.min_confidence, excluding, options.context_chars)


def _measured(
    suggestion: LinkSuggestion, rows: Sequence[CheckedLink], linked: frozenset[str]
) -> Suggested:
    """A suggestion held against the rows of its note that expect, or judge, its target."""
    own = [row for row in rows if suggestion.target in row.targets]
    spans = [row.span for row in own if row.span is not None and row.item.label != "reject"]
    labels = [row.item.label for row in own if row.item.label is not None]
    return Suggested(
        target=suggestion.target,
        confidence=suggestion.confidence,
        is_exact=suggestion.span in spans if spans else None,
        is_novel=suggestion.target not in linked,
        accepted="accept" in labels if labels else None,
    )


def _refuse(options: LinkEvalOptions, checked: CheckedLinks) -> None:
    """Stop where going on would be of no use, or where `--strict` asks for it."""
    listed = [error.describe(options.dataset) for error in checked.errors]
    listed += [str(collision) for collision in checked.collisions] if options.strict else []
    shown = "\n".join(listed[:_ERRORS_SHOWN])
    if not checked.links:
        raise DatasetError(
            f"{options.dataset}: no row can be evaluated over {options.notes}."
            f" Is it the dataset of another vault?\n{shown}"
        )
    if options.strict and listed:
        raise DatasetError(f"{options.dataset}: problems, and --strict is set\n{shown}")


def _errors(prepared: PreparedLinks) -> list[ErrorReport]:
    return [
        ErrorReport(
            kind="row",
            line=error.line,
            id=error.item_id or None,
            field=error.field or None,
            error=DatasetError.__name__,
            message=error.describe(prepared.options.dataset),
        )
        for error in prepared.checked.errors
    ]


def _counts(prepared: PreparedLinks) -> LinkCounts:
    return LinkCounts(
        links_total=sum(len(rows) for rows in prepared.rows.values()),
        source_notes=len(prepared.rows),
        rows_rejected=len({error.line for error in prepared.checked.errors}),
        notes_not_sampled=prepared.not_sampled,
        ranges_misfit=prepared.checked.misfits,
        notes=len(prepared.vault.notes),
    )


def _run_report(prepared: PreparedLinks, started: datetime) -> RunReport:
    options = prepared.options
    return RunReport(
        run_id=started.astimezone().strftime(RUN_ID_FORMAT),
        created_at=started.isoformat(timespec="seconds"),
        task="links",
        status="complete",
        dataset=str(options.dataset),
        dataset_hash=prepared.checked.dataset.sha256,
        notes=str(options.notes),
        notes_hash=prepared.notes_hash,
        notes_hash_mode=options.notes_hash_mode,
        options=options.model_dump(mode="json"),
        environment=describe_environment(None, "none"),
        hardware=describe_hardware(),
        warnings=(*prepared.vault.warnings, *prepared.checked.warnings),
    )
