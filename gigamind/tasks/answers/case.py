"""An answer to be judged, from any source."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gigamind.datasets.check_answers import GivenNote
from gigamind.datasets.schema import AnswerLabels
from gigamind.i18n import Language
from gigamind.interop.ranking import Oddity, RankedNote
from gigamind.judges.protocol import AnswerCase
from gigamind.prompting.fences import Source

CONTEXT_CHARS = 6_000
_TYPICAL_CONTEXT = Source("context", "words of it " * (CONTEXT_CHARS // 12))
_TYPICAL_ANSWER = "\n".join(f"- claim {number} of an answer" for number in range(1, 7))
SYSTEM_ROLE = "system"
"""The part of an item's results that holds the answer of a system."""


@dataclass(frozen=True, slots=True)
class SystemAnswer:
    """Details of a system's answer."""

    # One for each note of the case, as the system returned them; if its text is unknown, the note is empty.
    contexts: tuple[RankedNote, ...]
    oddities: Mapping[Oddity, int]  # data-quality problems, with counts
    latency_ms: float | None  # wall time of the request; None for a run file


@dataclass(frozen=True, slots=True)
class EvalCase:
    """An answer, or a question without an answer yet, with its context."""

    id: str
    question: str
    notes: tuple[GivenNote, ...]
    answer: str | None  # None until a model or a system has answered
    language: str  # from the dataset, else the language of the question
    tags: tuple[str, ...]
    labels: AnswerLabels | None = None
    # Numbers of the notes that answer the question, from 1; None if the dataset has no such label.
    relevant: frozenset[int] | None = None
    # Paths of the notes that answer the question; None if the dataset has no such label.
    expected: frozenset[str] | None = None
    # Texts that contain the labelled facts, if a system chooses the context.
    references: tuple[str, ...] = ()
    response: SystemAnswer | None = None  # details of a system's answer; None without one
    unanswerable: bool = False  # whether the dataset labels the question as unanswerable

    @property
    def prompt_language(self) -> Language:
        """The language of prompts: Korean, or English for all others."""
        return "ko" if self.language.lower()[:2] == "ko" else "en"

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(Source(note.title, note.text) for note in self.notes)

    def answered(self, answer: str) -> AnswerCase:
        return AnswerCase(self.question, answer, self.sources, self.prompt_language)

    def typical(self, *, by_system: bool) -> AnswerCase:
        """Return the judge's input for estimates. A missing answer gets six claims and a context of typical length."""
        if self.answer is not None:
            return self.answered(self.answer)
        case = self.answered(_TYPICAL_ANSWER)
        return replace(case, notes=(_TYPICAL_CONTEXT,)) if by_system else case
