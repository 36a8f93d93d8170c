"""The queries that failed, the worst first."""

from collections.abc import Sequence

from gigamind.i18n import Message, _, n_
from gigamind.tasks.search.schema import ItemReport


def failed_items(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Return the queries without a relevant note at rank 1, or with a wrong verdict, the worst first.

    Severity is 1 - reciprocal rank if answerable; the Top-1 base score in [0, 1] if unanswerable but judged answerable;
    1 - that score if found but refused.
    """
    tops = [0.0, 1.0, *(score for item in items if (score := item.top_base_score) is not None)]
    low, high = min(tops), max(tops)

    def missed(item: ItemReport) -> float:
        return 1 - (item.metrics.get("mrr") or 0.0)

    def severity(item: ItemReport) -> float:
        top = ((item.top_base_score or 0.0) - low) / (high - low)
        if not item.answerable:
            return top
        return max(missed(item), 1 - top if item.judged_unanswerable else 0.0)

    def is_failed(item: ItemReport) -> bool:
        if not item.answerable:
            return item.judged_unanswerable is False
        return missed(item) > 0 or bool(item.judged_unanswerable)

    return sorted(filter(is_failed, items), key=severity, reverse=True)


def failure_text(item: ItemReport) -> Message:
    """Return what went wrong with a query."""
    if not item.answerable:
        return _("unanswerable, but judged answerable")
    if reciprocal := item.metrics.get("mrr"):
        position = _("expected note found at rank {rank}", rank=round(1 / reciprocal))
    elif not item.ranking:
        position = _("no note found")
    else:
        position = n_(
            "expected note not found; the only result is another note",
            "expected note not among the {n:,} results",
            n=len(item.ranking),
        )
    if item.judged_unanswerable:
        return _("{position}; wrongly judged unanswerable", position=position)
    return position
