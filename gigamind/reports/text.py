"""Texts that all reports share, and the escaping of third-party texts in Markdown: no line, table or fence breaks."""

import re

from markupsafe import Markup

from gigamind.i18n import Translator, _
from gigamind.records.schema import RunReport
from gigamind.retrieval.settings import IN_BATCHES

_MEANING = re.compile(r"([\\`*_\[\]<>|#~&$])")
_CODE = re.compile("`([^`\n]+)`")
_BLOCK_MARK = re.compile(r"^(\d*)([.)]|[-+=]+)(?=\s|$)")  # 1. or - or --- in front

# Control characters that browsers and terminals act on, without white space.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def inline(text: object) -> str:
    """Return a text on one line, with the special characters of Markdown and HTML escaped."""
    line = _MEANING.sub(r"\\\1", _on_a_line(text))
    return _BLOCK_MARK.sub(r"\1\\\2", line)


def sentence(text: object) -> str:
    """Return a sentence of ours like `inline`; parts in backticks are code, which no text inside can end."""
    parts = _CODE.split(_on_a_line(text))
    shown = (code(x) if at % 2 else _MEANING.sub(r"\\\1", x) for at, x in enumerate(parts))
    return _BLOCK_MARK.sub(r"\1\\\2", "".join(shown))


def code(text: object) -> str:
    """Return a text as a code span on one line; backticks inside need a longer fence.  Not for table cells."""
    line = _on_a_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def upright(value: object) -> object:
    """Return a value for a page: texts with visible control characters, markup and numbers unchanged."""
    return _visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _on_a_line(text: object) -> str:
    return _visible(" ".join(str(text).split()))


def _visible(text: str) -> str:
    """Replace control characters and direction overrides by their code, as they could change the text around them."""
    return _CONTROLS.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)


def embedder_text(run: RunReport, say: Translator) -> str:
    """Return the embedding model of a run, without the suffix that the cache needs."""
    name = run.environment.embedding_model or say(_("no embedding model"))
    return name.removesuffix(IN_BATCHES)
