"""Items by slice: a language, a tag, a difficulty."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def sliced(
    items: Iterable[Item], keys: Callable[[Item], Iterable[str | None]]
) -> dict[str, list[Item]]:
    """Return the items by key, keys sorted; items without a key are in no slice, repeated keys count once."""
    slices: dict[str, list[Item]] = {}
    for item in items:
        for key in {key for key in keys(item) if key is not None}:
            slices.setdefault(key, []).append(item)
    return dict(sorted(slices.items()))
