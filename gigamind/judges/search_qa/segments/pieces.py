"""A part of an answer as split by code; the model reports the role of each sentence, see `roles`."""

import re
from dataclasses import dataclass
from typing import Literal

from gigamind.judges.search_qa.segments.citations import (
    citations,
    names_of_notes,
    names_only_notes,
    without_citations,
)
from gigamind.spans import Span

Role = Literal[
    "claim", "abstention", "courtesy", "lead_in", "question", "heading", "source", "other"
]
Shape = Literal["prose", "heading", "item", "row", "code"]
Cut = Literal["sentence", "part", "uncut"]

_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer.

    Attributes:
        span: code points of the answer, with its citations.
        text: composed, without list markers and citations; a table row with its column names.
        role: `claim` until a model reports another role; `other` without a word, or with only numbers of notes.
        cited: numbers of the notes that it names, from 1, in order, each once; not checked.
        cut: whether it is a whole sentence or a part; `uncut` if the reported parts do not occur in it.
    """

    span: Span
    text: str
    role: Role
    cited: tuple[int, ...]
    shape: Shape = "prose"
    cut: Cut = "sentence"


def piece(answer: str, span: Span, shape: Shape = "prose", text: str | None = None) -> Piece:
    """Return the piece of a span; `text` if it differs from the answer."""
    raw = span.slice(answer)
    shown = without_citations(raw) if text is None else text
    if not _WORD.search(shown) or names_only_notes(shown):
        return Piece(span, shown, "other", names_of_notes(raw), shape)
    return Piece(span, shown, "claim", citations(raw), shape)
