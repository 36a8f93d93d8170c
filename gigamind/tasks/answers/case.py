"""One answer to be judged, wherever it comes from."""

from dataclasses import dataclass

from gigamind.datasets.check import GivenNote
from gigamind.datasets.schema import AnswerLabels
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.spec import Language
from gigamind.llm.fences import Source
from gigamind.vault.language import text_language


@dataclass(frozen=True, slots=True)
class EvalCase:
    """An answer, or a question that is yet to be answered, with its context.

    Attributes:
        answer: None until a model has answered.
        language: as the dataset says, else that of the question.
        relevant: numbers of the notes that answer the question, from 1; None when the dataset does not say.
    """

    id: str
    question: str
    answer: str | None
    language: str
    tags: tuple[str, ...]
    notes: tuple[GivenNote, ...]
    labels: AnswerLabels | None = None
    relevant: frozenset[int] | None = None

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


def language_of(said: str | None, question: str) -> str:
    """What the dataset says, else the language of the question."""
    return said or text_language(question)
