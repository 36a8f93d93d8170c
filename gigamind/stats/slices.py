"""Items by the slices that they stand in: a language, a tag, a difficulty."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def sliced(
    items: Iterable[Item], keys: Callable[[Item], Iterable[str | None]]
) -> dict[str, list[Item]]:
    """The items by key, keys sorted; an item without a key is in no slice, one with a repeated key is in it once."""
    slices: dict[str, list[Item]] = {}
    for item in items:
        for key in {key for key in keys(item) if key is not None}:
            slices.setdefault(key, []).append(item)
    return dict(sorted(slices.items()))
