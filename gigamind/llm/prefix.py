"""Mark the common prefix of requests, for providers that cache it only up to an explicit mark.

Prompts begin with their system message, which is the same for all items of a judge.  Most servers detect this.
Anthropic needs a mark after it and caches it for 5 minutes after its last use.  The first request costs a quarter more
for these tokens, later ones a tenth.  Prefixes below a model's minimum are not cached.
"""

from collections.abc import Sequence
from typing import Any

from gigamind.llm import tokens
from gigamind.llm.client import Message
from gigamind.llm.loading import load_litellm

_LEAST_TOKENS = 1024  # for models that are not in the table
_MARK = {"type": "ephemeral"}


def with_marked_prefix(messages: Sequence[Message], model: str) -> list[dict[str, Any]]:
    """Return copies of the messages, for Anthropic's models with a mark after a long enough system message.

    The length is an upper bound: a mark after a shorter message has no effect and costs nothing.
    """
    copies = [dict(message) for message in messages]
    provider, _slash, name = model.partition("/")
    text = copies[0]["content"]
    if provider != "anthropic" or copies[0]["role"] != "system" or not isinstance(text, str):
        return copies
    row: dict[str, Any] = load_litellm().model_cost.get(name) or {}
    if tokens.most_in(text) >= (row.get("prompt_cache_min_tokens") or _LEAST_TOKENS):
        copies[0]["content"] = [{"type": "text", "text": text, "cache_control": _MARK}]
    return copies
