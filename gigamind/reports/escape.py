"""Text of others inside our Markdown: shown as it is, without breaking a line, a table, a list or a fence."""

import re

_MEANING = re.compile(r"([\\`*_\[\]<>|#~&$])")
_BLOCK_MARK = re.compile(r"^(\d*)([.)]|[-+=]+)(?=\s|$)")  # 1. or - or --- in front


def inline(text: object) -> str:
    """On one line, every character that means something to Markdown or HTML escaped."""
    line = _MEANING.sub(r"\\\1", " ".join(str(text).split()))
    return _BLOCK_MARK.sub(r"\1\\\2", line)


def code(text: object) -> str:
    """As a code span, on one line; backticks inside are kept by a longer fence.  Not for table cells."""
    line = " ".join(str(text).split())
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: object) -> str:
    """Line by line inside a fence of three backticks, which it must not close."""
    return str(text).replace("```", "'''")
