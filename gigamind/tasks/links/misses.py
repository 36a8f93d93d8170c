"""Explains, by the complete ranking, why an expected link is missing from the confident top that a run shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gigamind.datasets.check_links import CheckedLink
from gigamind.linking.anchors import fold
from gigamind.tasks.links.schema import MissCause
from gigamind.tasks.links.suggesters import Suggestion
from gigamind.vault.notes import Note

Ranked = tuple[int, Suggestion]
"""A suggestion with its rank in the complete list, from 1."""


@dataclass(frozen=True, slots=True)
class Miss:
    """One dataset row whose target no shown suggestion has; see `MissReport`."""

    row: CheckedLink
    cause: MissCause
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
