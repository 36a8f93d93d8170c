"""Estimate tokens without a tokenizer; for Korean, tokenizers differ by a factor of up to two.

Latin text has 3 to 5 characters per token.  Korean has 1 to 2 tokens per 2 characters with older tokenizers and fewer
with newer ones.  `most` is for limits.  `Counted` estimates what a server did not report or reported wrongly.
"""

import json
import math

from gigamind.llm.client import Answer, Request
from gigamind.llm.usage import Usage

_MOST = (2.5, 0.6)  # characters per token, of ASCII and others
_LIKELY = (4.0, 1.25)
_OVERHEAD = 8  # tokens for role and separators of a message


def most(request: Request) -> int:
    """Return an upper bound for the tokens of a request, except for rare scripts."""
    return _count(request, _MOST)


def likely(request: Request) -> int:
    """Return the likely tokens of a request."""
    return _count(request, _LIKELY)


def likely_in(text: str) -> int:
    """Return the likely tokens of a text."""
    return _tokens(text, _LIKELY)


def most_in(text: str) -> int:
    """Return an upper bound for the tokens of a text, except for rare scripts."""
    return _tokens(text, _MOST)


class Counted:
    """Tokens of one model's answers as the server reports them, if plausible; else estimated from those reported."""

    def __init__(self) -> None:
        self._prompt: float | None = None  # highest ratio of reported to likely tokens
        self._completion: float | None = None

    def usage(self, request: Request, answer: Answer) -> tuple[Usage, bool]:
        """Return the tokens of an answer, and whether the server reported all of them."""
        reported, text = answer.usage or Usage(0, 0), answer.text or ""
        prompt, completion = reported.prompt_tokens, reported.completion_tokens
        unreported = completion < 0 or (completion == 0 and (bool(text) or answer.usage is None))
        cached, written = reported.cached_tokens, reported.written_tokens
        cached_fits = min(cached, written) >= 0 and cached + written <= max(prompt, 0)
        likely_prompt, likely_text = likely(request), likely_in(text)
        if prompt <= 0:
            prompt = _estimate(likely_prompt, most(request), most(request), self._prompt)
        elif cached_fits and not unreported:
            self._prompt = max(self._prompt or 0.0, prompt / max(likely_prompt, 1))
            self._completion = max(self._completion or 0.0, completion / max(likely_text, 1))
        if unreported:  # the text lacks the thoughts of a reasoning model
            at_most = most_in(text)
            limit = max(at_most, request.max_tokens)
            completion = _estimate(likely_text, at_most, limit, self._completion)
        all_reported = reported.prompt_tokens > 0 and cached_fits and not unreported
        if not cached_fits:
            cached = written = 0
        return Usage(prompt, completion, cached, written), all_reported


def _estimate(likely: int, unknown: int, most: int, ratio: float | None) -> int:
    return unknown if ratio is None else min(most, math.ceil(likely * ratio))


def _count(request: Request, chars: tuple[float, float]) -> int:
    messages = sum(
        _tokens(str(message.get("content") or ""), chars) + _OVERHEAD
        for message in request.messages
    )
    schema = json.dumps(request.response_format) if request.response_format else ""
    return messages + _tokens(schema, chars)


def _tokens(text: str, chars: tuple[float, float]) -> int:
    ascii_chars, other_chars = chars
    plain = len(text.encode("ascii", "ignore"))
    return math.ceil(plain / ascii_chars + (len(text) - plain) / other_chars)
