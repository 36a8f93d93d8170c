"""How many tokens a text has, about, without a tokenizer: tokenizers differ by half for Korean.

Latin text has 3 to 5 characters a token, Korean 1 to 2 tokens for 2 characters with older tokenizers and fewer with
newer ones.  `most` is for what must not run out.  What a server did not tell, or cannot be, is estimated: `Counted`.
"""

import json
import math

from gigamind.llm.client import Answer, Request
from gigamind.llm.usage import Usage

_MOST = (2.5, 0.6)  # characters a token, of ASCII and others
_LIKELY = (4.0, 1.25)
_OVERHEAD = 8  # tokens of role and separators a message


def most(request: Request) -> int:
    """Tokens of a request at most, up to rare scripts."""
    return _count(request, _MOST)


def likely(request: Request) -> int:
    """Tokens of a request, about."""
    return _count(request, _LIKELY)


def likely_in(text: str) -> int:
    """Tokens of an answer, about."""
    return _tokens(text, _LIKELY)


def most_in(text: str) -> int:
    """Tokens of a text at most, up to rare scripts."""
    return _tokens(text, _MOST)


class Counted:
    """Tokens of the answers of one model: those that the server tells, as far as they can be.

    Others are estimated, never below what the text takes: as many as its tokenizer has made of any text so far, and
    until it has told one, the most that any tokenizer makes.
    """

    def __init__(self) -> None:
        self._prompt: float | None = None  # the largest of tokens told to tokens likely
        self._completion: float | None = None

    def usage(self, request: Request, answer: Answer) -> tuple[Usage, bool]:
        """Tokens of an answer, and whether the server told all of them."""
        reported, text = answer.usage or Usage(0, 0), answer.text or ""
        prompt, completion = reported.prompt_tokens, reported.completion_tokens
        untold = completion < 0 or (completion == 0 and (bool(text) or answer.usage is None))
        cached, written = reported.cached_tokens, reported.written_tokens
        cached_fits = min(cached, written) >= 0 and cached + written <= max(prompt, 0)
        likely_prompt, likely_text = likely(request), likely_in(text)
        if prompt <= 0:
            prompt = _estimate(likely_prompt, most(request), most(request), self._prompt)
        elif cached_fits and not untold:
            self._prompt = max(self._prompt or 0.0, prompt / max(likely_prompt, 1))
            self._completion = max(self._completion or 0.0, completion / max(likely_text, 1))
        if untold:  # of a model that thinks, the text is not all
            at_most = most_in(text)
            limit = max(at_most, request.max_tokens)
            completion = _estimate(likely_text, at_most, limit, self._completion)
        all_told = reported.prompt_tokens > 0 and cached_fits and not untold
        if not cached_fits:
            cached = written = 0
        return Usage(prompt, completion, cached, written), all_told


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
