"""Why a link that was expected is not among the suggestions that are shown.

Told from one list of everything that the suggester has for a note, of which a run shows the first that are sure enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gigamind.datasets.check_links import CheckedLink
from gigamind.linking.anchors import fold
from gigamind.tasks.links.schema import MissCause
from gigamind.tasks.links.suggesters import Suggestion
from gigamind.vault.notes import Note

Ranked = tuple[int, Suggestion]
"""A suggestion with its place in the whole list, from 1."""


@dataclass(frozen=True, slots=True)
class Miss:
    """One row of the dataset that nothing shown leads to; see `MissReport`."""

    row: CheckedLink
    cause: MissCause
    own: Ranked | None
    instead: Ranked | None


@dataclass(frozen=True, slots=True)
class Offered:
    """What there was to suggest for one note, best first.

    Attributes:
        shown: what the run shows.
        ranked: all that it chose from, whatever the confidence.
        linked: targets left out because the note links to them already.
    """

    shown: Sequence[Suggestion]
    ranked: Sequence[Suggestion]
    linked: frozenset[str]


def find_misses(
    rows: Sequence[CheckedLink], offered: Offered, names: Mapping[str, frozenset[str]], topk: int
) -> list[Miss]:
    """The wanted rows of one note that nothing shown leads to, in their order; `names`: see `names_of`."""
    shown = {suggestion.target for suggestion in offered.shown}
    return [
        _miss(row, offered, names, topk)
        for row in rows
        if row.item.label != "reject" and shown.isdisjoint(row.targets)
    ]


def names_of(note: Note) -> frozenset[str]:
    """What a note is called, folded."""
    return frozenset(map(fold, (note.title, note.stem, *note.aliases)))


def _miss(
    row: CheckedLink, offered: Offered, names: Mapping[str, frozenset[str]], topk: int
) -> Miss:
    ranked = list(enumerate(offered.ranked, start=1))
    others = [pair for pair in ranked if pair[1].target not in row.targets]
    taken = next((pair for pair in others if _has_its_place(pair[1], row)), None)
    own = next((pair for pair in ranked if pair[1].target in row.targets), None)
    if own is not None:
        last = next((pair for pair in reversed(ranked) if pair[1] in offered.shown), None)
        cause = "ranked_too_low" if own[0] > topk else "below_confidence"
        return Miss(row, cause, own, taken or last)
    if not offered.linked.isdisjoint(row.targets):
        return Miss(row, "already_linked", None, taken)
    called = frozenset[str]().union(*(names[target] for target in row.targets))
    namesake = taken or next((pair for pair in others if fold(pair[1].anchor) in called), None)
    return Miss(row, "namesake" if namesake else "no_candidate", None, namesake)


def _has_its_place(suggestion: Suggestion, row: CheckedLink) -> bool:
    """Whether it links words of the row's anchor; without a known range, the very words."""
    if row.span is None or suggestion.span is None:
        return fold(suggestion.anchor) == fold(row.item.anchor)
    return suggestion.span.start < row.span.end and row.span.start < suggestion.span.end
