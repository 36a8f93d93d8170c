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
    """Copies of the messages; for a model of Anthropic, marked behind a system message that may be long enough for it.

    Which it is not for sure: a mark behind less does nothing and costs nothing.
    """
    copies = [dict(message) for message in messages]
    provider, _, name = model.partition("/")
    text = copies[0]["content"]
    if provider != "anthropic" or copies[0]["role"] != "system" or not isinstance(text, str):
        return copies
    row: dict[str, Any] = load_litellm().model_cost.get(name) or {}
    if tokens.most_in(text) >= (row.get("prompt_cache_min_tokens") or _LEAST_TOKENS):
        copies[0]["content"] = [{"type": "text", "text": text, "cache_control": _MARK}]
    return copies
