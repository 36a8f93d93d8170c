"""Count what a dataset contains."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gigamind.datasets.jsonl import Dataset, DatasetKind
from gigamind.datasets.schema import LinkItem, QueryItem

NONE = "(none)"
_YES = {True: "yes", False: "no"}


@dataclass(frozen=True, slots=True)
class Description:
    """The counts of one dataset, as `dataset stats --json` prints them."""

    kind: DatasetKind
    rows: int  # usable rows
    rejected: int  # rows that cannot be used
    counts: Mapping[str, Mapping[str, int]]  # field -> value -> rows; "(none)" without a value
    figures: Mapping[str, float]  # name -> number, over all rows


def describe_queries(dataset: Dataset[QueryItem]) -> Description:
    """Count languages, labels, spans, difficulties and tags."""
    items = dataset.items
    counts = {
        "language": _count(item.language for item in items),
        "answerable": _count(_YES[item.answerable] for item in items),
        "difficulty": _count(item.difficulty for item in items),
        "expected_spans": _count(_YES[bool(item.expected_spans)] for item in items),
        **_common_counts(items),
    }
    lengths = [len(item.query) for item in items]
    expected = {note for item in items for note in item.expected_notes}
    figures: dict[str, float] = {
        "different expected notes": len(expected),
        "expected spans": sum(len(item.expected_spans) for item in items),
        "repeated queries": len(items) - len({item.query for item in items}),
        "median query, characters": median(lengths or [0]),
    }
    rejected = len({error.line for error in dataset.errors})
    return Description("queries", len(items), rejected, counts, figures)


def describe_links(dataset: Dataset[LinkItem]) -> Description:
    """Count languages, anchors, labels and tags."""
    items = dataset.items
    counts = {
        "language": _count(item.language for item in items),
        "anchor_range": _count(_YES[item.anchor_range is not None] for item in items),
        "label": _count(item.label for item in items),
        **_common_counts(items),
    }
    lengths = [len(item.anchor.split()) for item in items]
    expected = {note for item in items for note in item.expected_links}
    figures: dict[str, float] = {
        "source notes": len({item.source_note for item in items}),
        "different expected notes": len(expected),
        "median anchor, words": median(lengths or [0]),
    }
    rejected = len({error.line for error in dataset.errors})
    return Description("links", len(items), rejected, counts, figures)


def _common_counts(items: Sequence[QueryItem] | Sequence[LinkItem]) -> dict[str, dict[str, int]]:
    return {
        "source": _count(item.source for item in items),
        "tags": _count(tag for item in items for tag in item.tags or (None,)),
    }


def _count(values: Iterable[str | None]) -> dict[str, int]:
    counted = Counter(value or NONE for value in values)
    return dict(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))
