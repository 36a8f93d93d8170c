"""The link evaluation: how many removed links are suggested again, and how much else is.

Suggestions are made over the copy that generate-links wrote; a note of it is one item.  The steps are plain functions
over one open `LinkEvaluation`, as those of the search evaluation are.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gigamind.datasets.check_links import CheckedLink
from gigamind.evals.finish import Evaluated, check_outputs, finish
from gigamind.evals.link_options import LinkEvalOptions
from gigamind.evals.link_prepare import PreparedLinks, prepare_links
from gigamind.evals.link_summary import EvaluatedNote, LinkRun, link_item, record_links
from gigamind.evals.progress import Progress, Quiet
from gigamind.evals.summary import default_out
from gigamind.linking.suggest import LinkSuggester, LinkSuggestion, SuggestOptions
from gigamind.metrics.linking import LinkedNote, Suggested
from gigamind.reports.link_schema import LinkSummaryReport
from gigamind.vault.language import note_language


@dataclass(frozen=True, slots=True)
class LinkEvaluation:
    """Checked input and a suggester that is ready.

    Attributes:
        indexing_ms: from the first read of the dataset and the vault to here.
    """

    prepared: PreparedLinks
    suggester: LinkSuggester
    indexing_ms: float


def evaluate_links(
    options: LinkEvalOptions, progress: Progress | None = None
) -> Evaluated[LinkSummaryReport]:
    """Run a whole link evaluation.

    Raises:
        GigamindError: see `open_links` and `finish`; its class tells the exit code.
    """
    started = datetime.now(UTC)
    out = options.out or default_out(started)
    reference = check_outputs(options, out)
    evaluation = open_links(options)
    outcome = run_notes(evaluation, progress)
    record = record_links(evaluation.prepared, evaluation.indexing_ms, outcome, started)
    return finish(record, options, out, reference)


def open_links(options: LinkEvalOptions) -> LinkEvaluation:
    """Check the input and learn the names and links of the vault.

    Raises:
        GigamindError: see `prepare_links`.
    """
    start = time.perf_counter()
    prepared = prepare_links(options)
    suggester = LinkSuggester(prepared.vault, prepared.identities)
    return LinkEvaluation(prepared, suggester, 1000 * (time.perf_counter() - start))


def run_notes(evaluation: LinkEvaluation, progress: Progress | None = None) -> LinkRun:
    """Suggest links for every note of the dataset, in the vault's order; Ctrl-C ends it early."""
    start = time.perf_counter()
    results: list[EvaluatedNote] = []
    interrupted = False
    try:
        for result in suggest_for(evaluation, list(evaluation.prepared.rows), progress):
            results.append(result)  # noqa: PERF402  one by one: Ctrl-C leaves those that are done
    except KeyboardInterrupt:
        interrupted = True
    return LinkRun(results, 1000 * (time.perf_counter() - start), interrupted)


def suggest_for(
    evaluation: LinkEvaluation, paths: Sequence[str], progress: Progress | None = None
) -> Iterable[EvaluatedNote]:
    """Suggest links for these notes, one after the other."""
    told = progress or Quiet()
    for done, path in enumerate(paths, start=1):
        yield _suggest(evaluation, path)
        told.stage("Notes", done, len(paths))


def _suggest(evaluation: LinkEvaluation, path: str) -> EvaluatedNote:
    options, suggester = evaluation.prepared.options, evaluation.suggester
    rows = evaluation.prepared.rows[path]
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
    return EvaluatedNote(link_item(note, rows, shown, measured, options.topk), measured)


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
