"""Draw a random sample of items, reproducible by its seed."""

import random
from collections.abc import Sequence
from typing import TypeVar

from gigamind.errors import InputError
from gigamind.i18n import _

_Item = TypeVar("_Item")


def sample_size(text: str) -> int | float:
    """Parse `--sample`: a count from 1, or a ratio in (0, 1]; "1" is one item, "1.0" all of them; or InputError."""
    for number in (int, float):
        try:
            size = number(text)
        except ValueError:
            continue
        if size > 0 and (isinstance(size, int) or size <= 1):
            return size
    raise InputError(
        _(
            "expected a number of items of at least 1, such as 50, or a share of up to 1.0, such as 0.2"
        )
    )


def sample(items: Sequence[_Item], size: float, seed: int) -> tuple[_Item, ...]:
    """Draw `size` items (a ratio: at least 1) without replacement, in their original order; all if there are fewer."""
    count = size if isinstance(size, int) else max(1, round(size * len(items)))
    if count >= len(items):
        return tuple(items)
    drawn = random.Random(seed).sample(range(len(items)), count)  # noqa: S311 - reproducible, not secret
    return tuple(items[index] for index in sorted(drawn))
