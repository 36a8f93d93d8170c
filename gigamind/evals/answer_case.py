"""One answer to be judged, wherever it comes from."""

from dataclasses import dataclass

from gigamind.datasets.answer_schema import AnswerLabels
from gigamind.datasets.check_answers import GivenNote
from gigamind.judges.spec import Language
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


def language_of(said: str | None, question: str) -> str:
    """What the dataset says, else the language of the question."""
    return said or text_language(question)
