"""Whether the rankings of another system can be measured at all: by names that labels know, and scores to judge by."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from gigamind.systems.health import MOST_FAILED
from gigamind.tasks.search.schema import ItemReport

_CHANCE = 5  # rankings; a few may hold none of the labelled notes, and be right about their names


class Apart(NamedTuple):
    """Names of rankings that are none of the labels, with an example of each.

    Attributes:
        rankings: that name a note.
        told: a name in one of them.
        known: a name that labels have, as like it as there is one.
    """

    rankings: int
    told: str
    known: str

    @property
    def is_sure(self) -> bool:
        """Whether the names must be others, and not the search a bad one."""
        return self.rankings >= _CHANCE


def names_apart(items: Sequence[ItemReport], *, has_vault: bool) -> Apart | None:
    """That the names of all rankings are others than those of labels; None where one of them is known, or none told.

    Args:
        has_vault: a note of the vault is known, labelled or not.
    """
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
    alike = next((label for label in labels if _stem(label) in by_stem), None)
    known = next(iter(labels)) if alike is None else alike
    rankings = sum(bool(item.ranking) for item in items)
    return Apart(rankings, by_stem.get(_stem(known), next(iter(names))), known)


def _stem(name: str) -> str:
    return PurePosixPath(name).stem.casefold()


def without_score(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Those whose first hit has no score, so that no threshold judges them."""
    return [item for item in items if item.ranking and item.ranking[0].base_score is None]


def too_few_scores(items: Sequence[ItemReport]) -> bool:
    """Whether verdicts by scores would say too little of the dataset: the rest may be the rankings that are empty."""
    return len(without_score(items)) > MOST_FAILED * len(items)


def without_verdict(item: ItemReport) -> ItemReport:
    """The query, with no verdict by its score."""
    return item.model_copy(
        update={"judged_unanswerable": None, "answerable_score": None, "judges": {}}
    )
