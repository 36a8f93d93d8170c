"""The link evaluation: how many removed links are suggested again, and how much else is.

Suggestions are made over the copy that generate-links wrote; a note of it is one item.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter

from gigamind.datasets.check import CheckedLink
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Evaluation, Interrupted, Run
from gigamind.linking.suggest import load_suggester
from gigamind.metrics.links import LinkedNote, Suggested
from gigamind.records.schema import Record
from gigamind.tasks.links.misses import Offered, find_misses, names_of
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.links.prepare import PreparedLinks, prepare_links
from gigamind.tasks.links.schema import LinkItemReport, LinkSummaryReport
from gigamind.tasks.links.suggesters import (
    OwnSuggester,
    RunSuggester,
    Suggester,
    Suggestion,
    run_path,
)
from gigamind.tasks.links.summary import EvaluatedNote, link_item, record_links
from gigamind.vault.language import note_language

_WARM = 10  # notes by which the time of one is estimated


@dataclass(frozen=True)
class LinkEvaluation(Evaluation[LinkSummaryReport, LinkItemReport, EvaluatedNote]):
    """Checked input and a suggester that knows the names and links of the vault.

    Attributes:
        names: what each note of the vault is called, by its path.
    """

    prepared: PreparedLinks
    suggester: Suggester
    names: Mapping[str, frozenset[str]]
    results = TypeAdapter(list[EvaluatedNote])

    @property
    def count(self) -> int:
        return len(self.prepared.rows)

    def warm_up(self) -> int:
        paths = list(self.prepared.rows)[:_WARM]
        for path in paths:
            _suggest(self, path)
        return len(paths)

    def score(self, first: int, end: int, progress: Progress) -> list[EvaluatedNote]:
        """Suggest links for each note, in the vault's order."""
        paths = list(self.prepared.rows)[first:end]
        self.suggester.prepare(self.prepared.rows[path][0].note for path in paths)
        results: list[EvaluatedNote] = []
        try:
            for path in paths:
                results.append(
                    _suggest(self, path)
                )  # one by one: Ctrl-C leaves those that are done
                progress.stage("Notes", len(results), len(paths))
        except KeyboardInterrupt as stop:
            raise Interrupted(results) from stop
        return results

    def record(
        self, run: Run[EvaluatedNote], started: datetime
    ) -> Record[LinkSummaryReport, LinkItemReport]:
        return record_links(self.prepared, run, started, self.suggester.embedding_model)


def open_links(options: LinkEvalOptions, progress: Progress) -> LinkEvaluation:
    """Check the input and learn the names and links of the vault.

    Raises:
        GigamindError: see `prepare_links`.
    """
    prepared = prepare_links(options)
    names = {note.path: names_of(note) for note in prepared.vault.notes}
    vault, identities = prepared.vault, prepared.identities
    if options.system is not None:
        whole = options.sample is None and not prepared.errors
        path, asked = run_path(options.system), prepared.rows if whole else None
        tool = RunSuggester(path, vault, identities, asked)
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
    every, unlinked = (suggester.suggest(note, excluding=excluding) for excluding in (False, True))
    ranked = unlinked if options.exclude_linked else every
    shown = _shown(ranked, options)
    measured = LinkedNote(
        note=path,
        language=rows[0].item.language or note_language(note),
        suggestions=tuple(_measured(one, rows, linked) for one in shown),
        unlinked=tuple(_measured(one, rows, linked) for one in _shown(unlinked, options)),
        expected=tuple(dict.fromkeys(r.targets for r in rows if r.item.label != "reject")),
    )
    left_out = linked if options.exclude_linked else frozenset[str]()
    offered = Offered(shown, ranked, left_out)
    misses = find_misses(rows, offered, evaluation.names, options.topk)
    item = link_item(note, rows, shown, measured, options.topk, misses=misses)
    odd = dict(suggester.oddities(note))
    return EvaluatedNote(item.model_copy(update={"oddities": odd}), measured)


def _shown(ranked: Sequence[Suggestion], options: LinkEvalOptions) -> tuple[Suggestion, ...]:
    """The first ones, without those that are less sure; what tells no confidence is shown."""
    least = options.min_confidence
    sure = (o for o in ranked if o.confidence is None or o.confidence >= max(least, o.least))
    return tuple(itertools.islice(sure, options.topk))


def _measured(
    suggestion: Suggestion, rows: Sequence[CheckedLink], linked: frozenset[str]
) -> Suggested:
    """A suggestion held against the rows of its note that expect, or judge, its target."""
    own = [row for row in rows if suggestion.target in row.targets]
    spans = [row.span for row in own if row.span is not None and row.item.label != "reject"]
    labels = [row.item.label for row in own if row.item.label is not None]
    return Suggested(
        target=suggestion.target,
        confidence=suggestion.confidence,
        is_exact=suggestion.span in spans if spans and suggestion.span else None,
        is_novel=suggestion.target not in linked,
        accepted="accept" in labels if labels else None,
    )
