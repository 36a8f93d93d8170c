"""A model that says of the statements of a second look what it is told to."""

import json
from collections.abc import Callable
from typing import Any


def is_second_look(text: str) -> bool:
    """Whether the last message of a request asks for one."""
    return '"statement":' in text


def looks(
    text: str,
    says: Callable[[str], bool | None] = lambda _: True,
    *,
    reads: Callable[[dict[str, Any]], bool] | None = None,
    passage: str = "",
) -> dict[str, list[dict[str, Any]]]:
    """The reply to such a message.

    Args:
        says: whether the text of a statement says it; None where the model leaves it out.
        reads: instead of `says`, whether a statement with its text is confirmed.
        passage: the only text of which the model says so; empty for every text.
    """
    start = text.index("[{")
    statements, _ = json.JSONDecoder().raw_decode(text[start:])
    found: list[dict[str, Any]] = []
    for one in statements:
        said = reads(one) if reads else says(one["statement"])
        if passage and one["text"] != passage:
            said = False
        if said is not None:
            found.append(
                {"id": one["id"], "unsaid": "" if said else one["statement"], "said": said}
            )
    return {"looks": found}
