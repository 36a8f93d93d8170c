"""What one sentence of an answer is: a claim, or something that says nothing about the world.

Only claims are judged.  In doubt a sentence is a claim: a fact that escapes the judge costs more than a courtesy that
no note supports.
"""

import re
from dataclasses import dataclass
from typing import Literal

from gigamind.judges.search_qa.phrases import abstains, is_courtesy
from gigamind.spans import Span

Role = Literal["claim", "heading", "lead_in", "question", "abstention", "courtesy", "other"]

Cut = Literal["sentence", "part", "uncut"]

CITATION = re.compile(
    r"\[\s*(?:노트|Note|note|NOTE)\s*(\d{1,4}(?:\s*,\s*(?:노트|[Nn]ote)?\s*\d{1,4})*)\s*\]"
)
CITED_BEHIND = re.compile(rf"(?:[ \t]*(?:{CITATION.pattern})(?!\w))+[.。]?")
_CITATION_IN_TEXT = re.compile(rf"(?:{CITATION.pattern})(?=\w)")
_CITATION_APART = re.compile(rf" ?\((?:[ ,;]*{CITATION.pattern})+ ?\)| ?{CITATION.pattern}")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]")
_SOURCES_LINE = re.compile(
    r"(?:출처|근거|참고(?:\s*노트)?|참조|관련\s*노트|sources?|references?|see(?:\s+also)?|cited)\s*[:：]?[\s,;·/]*",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？][\"'”’」』)\]*_\s]*$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer.

    Attributes:
        span: code points of the answer; citations that belong to it included.
        text: as it reads without list markers and citations; a table row with its column names.
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
    return Piece(span, shown, role or role_of(shown), citations(raw))


def role_of(text: str) -> Role:
    """What a sentence without its citations is."""
    bare = text.strip(" \t*_`>-–—:：()")
    if not _WORD.search(bare) or _SOURCES_LINE.fullmatch(bare):
        return "other"
    if _QUESTION.search(text):
        return "question"
    if abstains(text):
        return "abstention"
    if is_courtesy(text):
        return "courtesy"
    return "claim"


def citations(text: str) -> tuple[int, ...]:
    """Numbers of the notes that a text names as `[노트 1]`, `[Note 2]` or `[노트 1, 2]`, in their order, each once."""
    found = (
        int(number) for match in CITATION.finditer(text) for number in _NUMBER.findall(match[1])
    )
    return tuple(dict.fromkeys(found))


def with_citations_blank(text: str) -> str:
    """A text of the same length that reads as `without_citations`, but for white space."""
    kept = _CITATION_IN_TEXT.sub(lambda found: re.sub(r"[\[\]]", " ", found[0]), text)
    return CITATION.sub(lambda found: " " * len(found[0]), kept)


def without_citations(text: str) -> str:
    """A text without them, every run of white space one space; of `[노트 1]에 따르면`, only the brackets go."""
    kept = _CITATION_IN_TEXT.sub(lambda found: found[0].strip(" []"), " ".join(text.split()))
    return _CITATION_APART.sub("", kept).strip()
