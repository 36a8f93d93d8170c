"""A part of an answer as our code cuts it; what a sentence is there for tells the model, see `roles`."""

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
        span: code points of the answer; citations that belong to it included.
        text: composed, as it reads without list markers and citations; a table row with its column names.
        role: `claim` of every sentence until a model has told another; `other` where there is nothing to judge: no
            word, or only the numbers of notes.
        cited: numbers of the notes that it names, from 1, in their order, each once; not checked.
        shape: of its line in Markdown.
        cut: of a claim, whether it is a sentence as our code cuts it, or a part of one that a model cut; `uncut` where
            the parts that the model told do not stand in the sentence.
    """

    span: Span
    text: str
    role: Role
    cited: tuple[int, ...]
    shape: Shape = "prose"
    cut: Cut = "sentence"


def piece(answer: str, span: Span, shape: Shape = "prose", text: str | None = None) -> Piece:
    """The piece under a span; `text` where it reads otherwise than the answer has it."""
    raw = span.slice(answer)
    shown = without_citations(raw) if text is None else text
    if not _WORD.search(shown) or names_only_notes(shown):
        return Piece(span, shown, "other", names_of_notes(raw), shape)
    return Piece(span, shown, "claim", citations(raw), shape)
