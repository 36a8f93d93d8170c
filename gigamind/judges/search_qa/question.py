"""Which sentences of the notes have the words of the question, and whether an answer rests on them.

A word counts by how few sentences have it. Values are relative to the sentence with the largest share.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from gigamind.evidence.clause import is_question
from gigamind.evidence.stated import stated, unstated
from gigamind.judges.search_qa.passage import HEADING, Passage
from gigamind.judges.search_qa.reading import Reading
from gigamind.prompting.fences import Source
from gigamind.spans import Span
from gigamind.text import sentences, unwrapped

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
    heading, found = "", list[NoteSentence]()
    for span in sentences(text):
        sentence = span.slice(text)
        if is_heading := bool(HEADING.fullmatch(sentence)):
            heading = sentence
        states = not (is_heading or is_question(sentence))
        found.append(_sentence(span, sentence, span.slice(written), heading, states=states))
    for part, _why in unstated(note):
        for span in sentences(part.slice(note)):
            moved = Span(part.start + span.start, part.start + span.end)
            sentence = moved.slice(written)
            found.append(_sentence(moved, sentence, sentence, "", states=False))
    return tuple(found)


def _sentence(span: Span, said: str, written: str, heading: str, *, states: bool) -> NoteSentence:
    reading = Reading(said)
    keys = {*reading.keys, *(Reading(heading).keys if heading else ())}
    return NoteSentence(span, written, heading, keys, reading.content, reading.is_korean, states)


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
        if not is_elliptical(claim) or claim.is_foreign_to(is_korean=self.is_korean):
            return False
        share = self.answered(passage)
        return share is not None and share < _LEAST_SHORT


def asked(question: str, notes: Sequence[Source]) -> Asked:
    """Return a question with the weights of its words in these notes."""
    reading = Reading(question)
    rows = [
        row.keys | frozenset(Reading(note.title).keys)
        for note in notes
        for row in sentences_of(note.text)
        if row.states
    ]
    counts = Counter(key for row in rows for key in row & reading.content)
    weights = {
        key: math.log((len(rows) + 1) / (counts[key] + 0.5)) for key in sorted(reading.content)
    }
    most = max((_share(weights, row) for row in rows), default=0.0)
    return Asked(reading.is_korean, weights, most)


def completed(answer: str, question: str) -> str:
    """Return a short answer with its question before it; any other answer unchanged."""
    return f"{question.strip()} {answer}" if question and is_elliptical(Reading(answer)) else answer


def is_elliptical(answer: Reading) -> bool:
    """Return whether an answer is so short that its question says what it is about: "Beethoven.", "베토벤입니다."."""
    return len(answer.raw.split()) <= _SHORT and not any(
        word.text in _AUXILIARY or word.particle in _SUBJECT for word in answer.words
    )


def _share(weights: Mapping[str, float], keys: AbstractSet[str]) -> float:
    whole = sum(weights.values())
    return sum(weights[key] for key in weights if key in keys) / whole if whole else 0.0
