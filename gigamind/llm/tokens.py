"""How many tokens a text has, about, without a tokenizer: tokenizers differ by half for Korean.

Latin text has 3 to 5 characters a token, Korean 1 to 2 tokens for 2 characters with older tokenizers and fewer with
newer ones; `most` is for what must not run out, `likely` for what a server did not tell.
"""

import json
import math

from gigamind.llm.client import Request

_OVERHEAD = 8  # tokens of role and separators a message


def most(request: Request) -> int:
    """Tokens of a request at most, up to rare scripts."""
    return _count(request, ascii_chars=2.5, other_chars=0.6)


def likely(request: Request) -> int:
    """Tokens of a request, about."""
    return _count(request, ascii_chars=4.0, other_chars=1.25)


def likely_in(text: str) -> int:
    """Tokens of an answer, about."""
    return _tokens(text, 4.0, 1.25)


def _count(request: Request, *, ascii_chars: float, other_chars: float) -> int:
    messages = sum(
        _tokens(str(message.get("content") or ""), ascii_chars, other_chars) + _OVERHEAD
        for message in request.messages
    )
    schema = json.dumps(request.response_format) if request.response_format else ""
    return messages + _tokens(schema, ascii_chars, other_chars)


def _tokens(text: str, ascii_chars: float, other_chars: float) -> int:
    plain = len(text.encode("ascii", "ignore"))
    return math.ceil(plain / ascii_chars + (len(text) - plain) / other_chars)
