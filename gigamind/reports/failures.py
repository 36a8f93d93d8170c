"""The items that went wrong, said so that a reader knows what to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.reports.escape import code
from gigamind.reports.schema import ItemReport

_HITS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FailureLine:
    """One failure as Markdown.

    Attributes:
        what: what went wrong.
        expected: the notes that should have come; "" for an unanswerable query.
        came: the first notes that came, with their base scores.
    """

    item: ItemReport
    what: str
    expected: str
    came: str


def failed_items(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Those without an expected note in front, or judged wrongly; the worst first, equals in the order of the dataset.

    Badness: 1 - reciprocal rank of an answerable query; the Top-1 base score of an unanswerable one that was taken for
    answerable; and 1 - that score for an answerable one that was found but judged unanswerable.
    """
    failed = [(badness, item) for item in items if (badness := _badness(item)) > 0]
    failed.sort(key=lambda pair: -pair[0])
    return [item for _, item in failed]


def failure_line(item: ItemReport) -> FailureLine:
    """One failed item in words."""
    came = ", ".join(f"{code(hit.note)} {hit.base_score:.3f}" for hit in item.ranking[:_HITS_SHOWN])
    expected = ", ".join(code(note) for note in item.expected_notes)
    return FailureLine(item, _what(item), expected, came or "nothing")


def _badness(item: ItemReport) -> float:
    top = item.top_base_score or 0.0
    if not item.answerable:
        return top if item.judged_unanswerable is False else 0.0
    missed = 1 - (item.metrics.get("mrr") or 0.0)
    return max(missed, 1 - top if item.judged_unanswerable else 0.0)


def _what(item: ItemReport) -> str:
    if not item.answerable:
        return "unanswerable, but judged answerable"
    where = _where(item)
    return f"{where}, and judged unanswerable" if item.judged_unanswerable else where


def _where(item: ItemReport) -> str:
    rank = item.metrics.get("mrr")
    if rank:
        return f"found at rank {round(1 / rank)}"
    return {0: "no note found", 1: "not the one note found"}.get(
        len(item.ranking), f"not among the {len(item.ranking)} notes found"
    )
