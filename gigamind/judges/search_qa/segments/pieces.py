"""What one sentence of an answer is: a claim, or something that says nothing about the world.

Only claims are judged.  In doubt a sentence is a claim: a fact that escapes the judge costs more than a courtesy that
no note supports.
"""

import re
from dataclasses import dataclass
from typing import Literal

from gigamind.judges.search_qa.segments.abstention import abstains
from gigamind.judges.search_qa.segments.citations import (
    citations,
    names_of_notes,
    without_citations,
)
from gigamind.judges.search_qa.segments.phrases import is_courtesy
from gigamind.judges.search_qa.segments.sources import is_sources_line
from gigamind.judges.search_qa.segments.statements import asks
from gigamind.spans import Span

Role = Literal["claim", "heading", "lead_in", "question", "abstention", "courtesy", "other"]

Cut = Literal["sentence", "part", "uncut"]

_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer.

    Attributes:
        span: code points of the answer; citations that belong to it included.
        text: composed, as it reads without list markers and citations; a table row with its column names.
        cited: numbers of the notes that it names, from 1, in their order, each once; not checked.
        cut: of a claim, whether it is a sentence as our code cuts it, or a part of one that a model cut; `uncut` where
            the parts that the model told do not stand in the sentence.
    """

    span: Span
    text: str
    role: Role
    cited: tuple[int, ...]
    cut: Cut = "sentence"


def piece(answer: str, span: Span, role: Role | None = None, text: str | None = None) -> Piece:
    """The piece under a span; without a role, that of a sentence with such words."""
    raw = span.slice(answer)
    shown = without_citations(raw) if text is None else text
    role = role or role_of(shown)
    return Piece(span, shown, role, names_of_notes(raw) if role == "other" else citations(raw))


def role_of(text: str) -> Role:
    """What a sentence without its citations is."""
    if not _WORD.search(text) or is_sources_line(text):
        return "other"
    if asks(text):
        return "question"
    if abstains(text):
        return "abstention"
    if is_courtesy(text):
        return "courtesy"
    return "claim"
