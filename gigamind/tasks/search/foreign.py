"""Checks that rankings of another system are measurable: their names match the labels, and they have scores."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from gigamind.systems.health import MOST_FAILED
from gigamind.tasks.search.schema import ItemReport

MIN_RANKINGS = 5  # with fewer, a poor search may miss all labelled notes although its names match


class NameMismatch(NamedTuple):
    """Rankings whose names are all unknown to the labels, with an example of each."""

    rankings: int  # number of rankings with a note
    ranked: str  # a name in one of them
    labelled: str  # a name in the labels, with the same file stem if possible


def name_mismatch(items: Sequence[ItemReport], *, has_vault: bool) -> NameMismatch | None:
    """Return the mismatch if no name in any ranking is in the labels or a vault; None if one is, or without hits."""
    names = {hit.note: None for item in items for hit in item.ranking}
    labels = {note: None for item in items for note in (*item.expected_notes, *item.gains)}
    if has_vault:
        hits = sum(len(item.ranking) for item in items)
        is_known = sum(item.oddities.get("unknown_notes", 0) for item in items) < hits
    else:
        is_known = bool(names.keys() & labels.keys())
    if is_known or not names or not labels:
        return None
    by_stem = {_stem(name): name for name in reversed(names)}
    same_stem = next((label for label in labels if _stem(label) in by_stem), None)
    labelled = next(iter(labels)) if same_stem is None else same_stem
    rankings = sum(bool(item.ranking) for item in items)
    return NameMismatch(rankings, by_stem.get(_stem(labelled), next(iter(names))), labelled)


def _stem(name: str) -> str:
    return PurePosixPath(name).stem.casefold()


def without_score(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Return the queries whose first hit has no score, so that a threshold cannot judge them."""
    return [item for item in items if item.ranking and item.ranking[0].base_score is None]


def too_few_scores(items: Sequence[ItemReport]) -> bool:
    """Return whether too many queries lack a score; the remaining verdicts could all be of empty rankings."""
    return len(without_score(items)) > MOST_FAILED * len(items)
