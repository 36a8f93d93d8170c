"""One answer to be judged, wherever it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gigamind.datasets.check_answers import GivenNote
from gigamind.datasets.schema import AnswerLabels
from gigamind.interop.ranking import Oddity, RankedNote
from gigamind.judges.protocol import AnswerCase
from gigamind.llm.fences import Source
from gigamind.vault.language import question_language
from gigamind.wording import Language

CONTEXT_CHARS = 6_000
_UNKNOWN = Source("context", "words of it " * (CONTEXT_CHARS // 12))
_UNWRITTEN = "\n".join(f"- claim {number} of an answer" for number in range(1, 7))
SYSTEM_ROLE = "system"
"""The part of an item's results that is what a system answered."""


@dataclass(frozen=True, slots=True)
class Given:
    """How a system answered.

    Attributes:
        contexts: as it told them, one for each note of the case; of one whose text nobody knows, the note is empty.
        oddities: what was odd, and how often.
        latency_ms: wall time, as it was asked here; None of a run file.
    """

    contexts: tuple[RankedNote, ...]
    oddities: Mapping[Oddity, int]
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class EvalCase:
    """An answer, or a question that is yet to be answered, with its context.

    Attributes:
        answer: None until a model or a system has answered.
        language: as the dataset says, else that of the question.
        relevant: numbers of the notes that answer the question, from 1; None when the dataset does not say.
        expected: paths of the notes that answer the question; None when the dataset does not say.
        references: texts that labelled facts stand in, where the context is the choice of a system.
        given: how a system answered; None where none did.
        unanswerable: the dataset says that no note answers the question.
    """

    id: str
    question: str
    notes: tuple[GivenNote, ...]
    answer: str | None
    language: str
    tags: tuple[str, ...]
    labels: AnswerLabels | None = None
    relevant: frozenset[int] | None = None
    expected: frozenset[str] | None = None
    references: tuple[str, ...] = ()
    given: Given | None = None
    unanswerable: bool = False

    @property
    def prompt_language(self) -> Language:
        """The language to ask a model in: Korean, or English for all others."""
        return "ko" if self.language.lower()[:2] == "ko" else "en"

    @property
    def sources(self) -> tuple[Source, ...]:
        """The notes as models read them."""
        return tuple(Source(note.title, note.text) for note in self.notes)

    def answered(self, answer: str) -> AnswerCase:
        """The case of a judge."""
        return AnswerCase(self.question, answer, self.sources, self.prompt_language)

    def foreseen(self, *, by_system: bool) -> AnswerCase:
        """The same before it is answered: by an answer of six claims, over contexts of `CONTEXT_CHARS` of a system."""
        if self.answer is not None:
            return self.answered(self.answer)
        case = self.answered(_UNWRITTEN)
        return replace(case, notes=(_UNKNOWN,)) if by_system else case


def language_of(said: str | None, question: str) -> str:
    """What the dataset says, else the language of the question."""
    return said or question_language(question)
