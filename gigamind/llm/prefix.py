"""Marks what requests have in common, for providers that keep it only if they are told where it ends.

Prompts begin with their system message, the same for all items of a judge.  Most servers see that by themselves;
Anthropic wants a mark behind it, keeps it for 5 minutes from its last use, asks a quarter more for the first time and a
tenth for each other, and keeps nothing shorter than a model's minimum.
"""

from collections.abc import Sequence
from typing import Any

from gigamind.llm import tokens
from gigamind.llm.client import Message
from gigamind.llm.loading import load_litellm

_LEAST_TOKENS = 1024  # of models that the table does not know
_MARK = {"type": "ephemeral"}


def with_marked_prefix(messages: Sequence[Message], model: str) -> list[dict[str, Any]]:
    """The messages with a mark behind the system message, where that may be long enough for this model of Anthropic.

    Which it is not for sure: a mark behind less does nothing and costs nothing.
    """
    marked = [dict(message) for message in messages]
    first = marked[0]
    row: dict[str, Any] = load_litellm().model_cost.get(model) or {}
    least = row.get("prompt_cache_min_tokens") or _LEAST_TOKENS
    is_text = first["role"] == "system" and isinstance(first["content"], str)
    if is_text and tokens.most_in(first["content"]) >= least:
        first["content"] = [{"type": "text", "text": first["content"], "cache_control": _MARK}]
    return marked
