"""The rows of `answers.jsonl`: a question, the answer to be judged, and the notes that it was made from."""

from typing import Annotated, Literal

from pydantic import Field

from gigamind.datasets.schema import Row, Text, Timestamp

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ContextNote(Row):
    """A note as the answer's author saw it: by its path in the vault, or by its title and text.

    Attributes:
        path: path or name of the note.
        title: shown to the judge; that of the note without it.
        text: what was shown of it; the whole note without it.
    """

    path: Text | None = None
    title: Text | None = None
    text: str | None = None


class LabelledClaim(Row):
    """A person's verdict on one statement of the answer.

    Attributes:
        note: number of the note that shows it, from 1.
        correct: whether it is true, in the notes or not; a figure that needs it is left out where nobody says.
        quote: the words of that note.
    """

    text: Text
    verdict: Literal["supported", "contradicted", "not_found"]
    note: int | None = Field(default=None, ge=1)
    correct: bool | None = None
    quote: str | None = None


class AnswerLabels(Row):
    """What people say of an answer; the run is held against it.

    Attributes:
        correctness: share of its claims that the notes support.
        abstains: whether it says that the notes do not tell.
    """

    correctness: Share | None = None
    utility: Share | None = None
    abstains: bool | None = None
    claims: tuple[LabelledClaim, ...] = ()


class AnswerItem(Row):
    """One answer with its context; the notes are numbered from 1 in their order."""

    id: Text
    question: Text
    answer: str
    context_notes: tuple[ContextNote, ...]
    language: Text | None = None
    labels: AnswerLabels | None = None
    tags: tuple[Text, ...] = ()
    created_at: Timestamp | None = None
    source: Text | None = None
