"""Estimate tokens without a tokenizer; for Korean, tokenizers differ by a factor of up to two.

Latin text has 3 to 5 characters per token.  Korean has 1 to 2 tokens per 2 characters with older tokenizers and fewer
with newer ones.  `most` is for limits.  `Counted` estimates what a server did not report or reported wrongly.
"""

import json
import math

from gigamind.llm.client import Answer, Request, Usage

_MOST = (2.5, 0.6)  # characters per token, of ASCII and others
_LIKELY = (4.0, 1.25)
_OVERHEAD = 8  # tokens for role and separators of a message
_TEMPLATE = 1_000  # tokens that a server can add to a prompt
_SPARE = 16  # tokens that a server can generate beyond the limit
_MOST_BYTES, _MOST_CHARS = 48, 16  # of a token, on average over a prompt or an answer


def most(whole: Request | str) -> int:
    """Return an upper bound for the tokens of a request or a text, except for rare scripts."""
    return _count(whole, _MOST)


def likely(whole: Request | str) -> int:
    """Return the likely tokens of a request or a text."""
    return _count(whole, _LIKELY)


class Counted:
    """Tokens of one model's answers as the server reports them, if plausible; else estimated from those reported."""

    def __init__(self) -> None:
        self._prompt: float | None = None  # highest ratio of reported to likely tokens
        self._completion: float | None = None

    def usage(self, request: Request, answer: Answer) -> tuple[Usage, bool]:
        """Return the tokens of an answer, and whether the server reported all of them plausibly.

        A reported number counts if it is neither above what the request allows nor below what the texts contain.
        """
        reported, text = answer.usage or Usage(0, 0), answer.text or ""
        prompt, completion = reported.prompt_tokens, reported.completion_tokens
        content, form = _bytes(request)  # servers that use the schema as a grammar do not count it
        prompt_fits = content / _MOST_BYTES <= prompt <= content + form + _TEMPLATE
        completion_fits = (
            answer.usage is not None
            and len(text) / _MOST_CHARS <= completion <= request.max_tokens + _SPARE
        )
        cached, written = reported.cached_tokens, reported.written_tokens
        cached_fits = min(cached, written) >= 0 and cached + written <= max(prompt, 0)
        likely_prompt, likely_text = likely(request), likely(text)
        if prompt > content + form + _TEMPLATE:
            prompt = content + form
        elif not prompt_fits:
            prompt = _estimate(likely_prompt, most(request), most(request), self._prompt)
        elif cached_fits and completion_fits:
            self._prompt = max(self._prompt or 0.0, prompt / max(likely_prompt, 1))
            self._completion = max(self._completion or 0.0, completion / max(likely_text, 1))
        if completion > request.max_tokens + _SPARE:
            completion = request.max_tokens
        elif not completion_fits:  # the text lacks the thoughts of a reasoning model
            at_most = most(text)
            limit = max(at_most, request.max_tokens)
            completion = _estimate(likely_text, at_most, limit, self._completion)
        if not cached_fits or not prompt_fits:
            cached = written = 0
        all_fit = prompt_fits and completion_fits and cached_fits
        return Usage(prompt, completion, cached, written), all_fit


def _estimate(likely: int, unknown: int, most: int, ratio: float | None) -> int:
    return unknown if ratio is None else min(most, math.ceil(likely * ratio))


def _bytes(request: Request) -> tuple[int, int]:
    """Return the sizes of the messages and the schema of a request; a token has at least one byte."""
    form = json.dumps(request.form, ensure_ascii=False) if request.form else ""
    texts = (str(message.get("content") or "") for message in request.messages)
    content = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return content, len(form.encode("utf-8", "replace"))


def _count(whole: Request | str, chars: tuple[float, float]) -> int:
    if isinstance(whole, Request):
        texts = [str(message.get("content") or "") for message in whole.messages]
        form = json.dumps(whole.form) if whole.form else ""
        return sum(_count(text, chars) + _OVERHEAD for text in texts) + _count(form, chars)
    ascii_chars, other_chars = chars
    plain = len(whole.encode("ascii", "ignore"))
    return math.ceil(plain / ascii_chars + (len(whole) - plain) / other_chars)
