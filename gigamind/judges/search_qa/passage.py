"""The context of a quote: its sentences, heading, the introduction of a row or list item, and their support.

Also: which sentences of the notes have the words of the question, and whether an answer rests on them. A word counts by
how few sentences have it. Values are relative to the sentence with the largest share.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal, Self

from gigamind.evidence.proof import is_question, sentences_around
from gigamind.evidence.stated import stated, unstated
from gigamind.judges.search_qa.words import Reading
from gigamind.prompting.fences import Source
from gigamind.spans import Span
from gigamind.text import sentences, unwrapped

Contradiction = Literal["number", "negation", "polarity", "limit", "roles", "question", "reported"]

Refusal = Literal[
    "new_name", "new_number", "other_word", "other_sentence", "other_limits", "other_question"
]
"""Why the guard refuses a claim, apart from contradictions; a second check may decide the last two."""

HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]++(.*)$|[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t:：]*$")
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LABEL = re.compile(
    r"(?:\*\*|__)([^*_\n]+)(?:\*\*|__)|([^:：\n]{1,60}?)[ \t]*(?:[:：](?=\s|$)| [-–—] )"
)
_LEAD_IN = re.compile(r"[:：][\s*_]*$")
_MAX_LINES = 500  # lines read above a table row or list item


@dataclass(frozen=True, slots=True)
class Passage:
    """The context in which a quote is read."""

    heading: str  # the nearest one above, without markup; "" if none
    # the whole sentences that the quote touches, or a table row; part of the fingerprint of second looks
    said: str
    lead: str = ""  # the introduction of a list item, or the header of a row; "" elsewhere
    beside: tuple[str, ...] = ()  # the other rows of the table without its header, or list items
    near: str = ""  # the paragraph of prose, at most 600 characters on each side

    @property
    def text(self) -> str:
        return f"{self.lead}\n{self.said}" if self.lead else self.said

    @property
    def is_terse(self) -> bool:
        """Whether it is a row or list item, which omits the grammar between its words."""
        return is_row(self.said) or bool(_ITEM.match(self.said))

    @classmethod
    def of(cls, span: Span, text: str) -> Self:
        """Return the sentences that a span touches, with their context."""
        around = sentences_around(text, span)
        start = text.rfind("\n", 0, around.start) + 1
        rest, *below = text[around.end :].split("\n")
        line, above = text[start : around.end] + rest, text[:start].split("\n")[-2::-1]
        sides = above[:_MAX_LINES], below[:_MAX_LINES]
        said, lead, beside = around.slice(text), "", list[str]()
        if is_row(line):
            rows = [list(takewhile(lambda row: "|" in row, lines)) for lines in sides]
            said, lead = line, rows[0].pop() if rows[0] else ""
            beside = [*rows[0], *rows[1]]
        elif item := _ITEM.match(line):
            indent = len(item["indent"])
            lead = _lead_in(text, start, sides[0], indent)
            beside = [row for lines in sides for row in _items(lines, indent)]
        elif HEADING.match(line):
            said = line
        match = next(filter(None, map(HEADING.match, above)), None)
        heading = (match[1] or match[2] or "").strip(" \t#*_`") if match else ""
        near = "" if lead or beside else _paragraph(text, around)
        return cls(heading, said, lead, tuple(beside), near)


@dataclass(frozen=True, slots=True)
class Support:
    """How a passage supports a claim; the fields from `sparse` on need both in one language."""

    contradictions: tuple[Contradiction, ...]  # definite ones, each once
    # the score: share of the claim's words that the passage, its heading and title carry, in [0, 1]
    share: float
    doubtful: bool  # requires a second check
    foreign: bool = False  # they are in different languages, so that words cannot be compared
    sparse: bool = False  # the score is below the default threshold of the language
    refusal: Refusal | None = None  # why the guard refuses it, apart from contradictions

    @property
    def is_refused(self) -> bool:
        """Whether the guard refuses the claim, whatever its score."""
        return bool(self.contradictions or self.refusal)


_REACH = 600  # characters of a paragraph on each side of a sentence


def _paragraph(text: str, around: Span) -> str:
    least = max(0, around.start - _REACH)
    start = max(least, text.rfind("\n\n", least, around.start) + 2)
    end = text.find("\n\n", around.end, around.end + _REACH)
    return text[start : end if end >= 0 else around.end + _REACH]


def is_row(line: str) -> bool:
    """Return whether a line is a table row."""
    return line.lstrip(" \t>").startswith("|")


def label_of(line: str) -> str:
    """Return the subject of a row or list item: its first cell, or the text before its colon or in bold; "" if none."""
    if is_row(line):
        return line.strip(" \t>|").partition("|")[0].strip()
    item = _ITEM.match(line)
    match = _LABEL.match(line, item.end() if item else 0)
    return (match[1] or match[2]).strip() if match else ""


def _items(lines: Iterable[str], indent: int) -> Iterator[str]:
    for line in lines:
        item = _ITEM.match(line)
        depth = len(item["indent"]) if item else len(line) - len(line.lstrip())
        if item and depth == indent:
            yield line
        elif line.strip() and depth <= indent:
            return


def _lead_in(text: str, start: int, above: Sequence[str], indent: int) -> str:
    for line in takewhile(lambda row: not HEADING.match(row), above):
        start -= len(line) + 1
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (not _ITEM.match(line) and depth == 0)):
            whole = sentences_around(text, Span(start, start + len(line)))
            return whole.slice(text) if _LEAD_IN.search(line) else ""
    return ""


LEAST_ANSWERED = 0.5
"""Share from which an answer counts as one to the question."""
_LEAST_SHORT = 0.95  # of the sentence that a short answer is completed by
_SHORT = 8  # words of an answer that may lack what the question says
_SUBJECT = frozenset("은는이가")
_AUXILIARY = frozenset(
    "is are was were be has have had do does did can could will would may might must should shall".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class NoteSentence:
    """A sentence of a note, on one line, and its span there; `keys` include the words of the heading above it.

    `states`: whether it may state something: no heading or question, and no text of `evidence.stated`.
    """

    span: Span
    text: str
    heading: str
    keys: AbstractSet[str]
    content: AbstractSet[str]
    is_korean: bool
    states: bool

    @property
    def is_prose(self) -> bool:
        """Whether it states something by itself, unlike a row or list item."""
        return self.states and not Passage("", self.text).is_terse


@lru_cache(maxsize=64)  # notes; each is compared with several answers
def sentences_of(note: str) -> tuple[NoteSentence, ...]:
    """Return the sentences of a note across line wraps, with headings, and at the end the parts that are not stated."""
    text, written = unwrapped(stated(note)), unwrapped(note)
    heading, found = Reading(""), list[NoteSentence]()
    for span in sentences(text):
        sentence = span.slice(text)
        if is_heading := bool(HEADING.fullmatch(sentence)):
            heading = Reading(sentence)
        states = not (is_heading or is_question(sentence))
        found.append(_sentence(span, written, Reading(sentence), heading, states=states))
    for part, _why in unstated(note):
        for span in sentences(part.slice(note)):
            moved = Span(part.start + span.start, part.start + span.end)
            one = Reading(moved.slice(written))
            found.append(_sentence(moved, written, one, Reading(""), states=False))
    return tuple(found)


def _sentence(span: Span, note: str, one: Reading, above: Reading, *, states: bool) -> NoteSentence:
    text, keys = span.slice(note), {*one.keys, *above.keys}
    return NoteSentence(span, text, above.raw, keys, one.content, one.is_korean, states)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the positive weights of its words in its notes.

    `most` is the largest share of them that a sentence has, in [0, 1]; 0 if no note has a word of the question.
    """

    is_korean: bool
    weights: Mapping[str, float]
    most: float

    def answered(self, text: str) -> float | None:
        """Return the share of the question's words that a text has, relative to the best sentence, in [0, 1].

        None if no note has a word of the question, such as for a question in another language.
        """
        if not self.most:
            return None
        return min(1.0, _share(self.weights, set(Reading(text).keys)) / self.most)

    def is_left_open_by(self, answer: str, passage: str) -> bool:
        """Return whether a short answer, completed with the question, is another than its passage gives."""
        claim = Reading(answer)
        if not _is_elliptical(claim) or claim.is_foreign_to(is_korean=self.is_korean):
            return False
        share = self.answered(passage)
        return share is not None and share < _LEAST_SHORT

    @classmethod
    def of(cls, question: str, notes: Sequence[Source]) -> Self:
        """Return a question with the weights of its words in these notes."""
        reading = Reading(question)
        titled = [(frozenset(Reading(note.title).keys), note.text) for note in notes]
        rows = [
            row.keys | title for title, text in titled for row in sentences_of(text) if row.states
        ]
        counts = Counter(key for row in rows for key in row & reading.content)
        weights = {
            key: math.log((len(rows) + 1) / (counts[key] + 0.5)) for key in sorted(reading.content)
        }
        most = max((_share(weights, row) for row in rows), default=0.0)
        return cls(reading.is_korean, weights, most)


def completed(answer: str, question: str) -> str:
    """Return a short answer with its question before it; any other answer unchanged."""
    return (
        f"{question.strip()} {answer}" if question and _is_elliptical(Reading(answer)) else answer
    )


def _is_elliptical(answer: Reading) -> bool:
    """Return whether an answer is so short that its question says what it is about: "Beethoven.", "베토벤입니다."."""
    return len(answer.raw.split()) <= _SHORT and not any(
        word.text in _AUXILIARY or word.particle in _SUBJECT for word in answer.words
    )


def _share(weights: Mapping[str, float], keys: AbstractSet[str]) -> float:
    whole = sum(weights.values())
    return sum(weights[key] for key in weights if key in keys) / whole if whole else 0.0
