"""The rows of `queries.jsonl`, `links.jsonl` (seed 3.1, 3.2) and `answers.jsonl`, before a vault is looked at."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Difficulty = Literal["easy", "mid", "hard"]
Label = Literal["accept", "reject"]
GENERATED: Final = "generated"
"""The source, and a tag, of rows that were made of the notes: easier than what people ask, and for review."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("expected text")
    return text


def _iso_8601(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("expected an ISO 8601 date or time") from error
    return text


Filled = Annotated[str, AfterValidator(_not_blank)]
Timestamp = Annotated[str, AfterValidator(_iso_8601)]


class Row(BaseModel):
    """Unknown fields are kept: a team may carry its own columns."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class ExpectedSpan(Row):
    """Where the answer to a query stands.

    Attributes:
        start: UTF-16 code units from the start of the note's file.
        end: UTF-16 code units, exclusive.
        text: what stood there when the row was written; a difference is a warning.
    """

    note_path: Filled
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str | None = None


Gain = Annotated[int, Field(ge=-1000, le=1000)]
Group = Annotated[tuple[Filled, ...], Field(min_length=1)]


class QueryItem(Row):
    """One query with its labels.

    Notes go by their paths or names.

    Attributes:
        expected_notes: the notes that answer it; empty when nothing does, or when the other labels name them all.
        gains: grade of each note that was judged, 0 or less for an irrelevant one; an expected note without a grade has
            1, and one with a grade above 0 is expected.  Where it is given, a note that no label names is unjudged;
            else it is irrelevant.
        expected_all_of: groups of notes; an answer needs one note of every group.
        expected_any_of: groups of notes; an answer needs all notes of one group.
        created_at: ISO 8601, as written.
        source: where the row comes from, such as "generated"; such rows are for review.
    """

    id: Filled
    query: Filled
    answerable: bool
    expected_notes: tuple[Filled, ...]
    gains: dict[Filled, Gain] | None = None
    expected_all_of: tuple[Group, ...] = ()
    expected_any_of: tuple[Group, ...] = ()
    expected_spans: tuple[ExpectedSpan, ...] = ()
    language: Filled | None = None
    difficulty: Difficulty | None = None
    tags: tuple[Filled, ...] = ()
    created_at: Timestamp | None = None
    source: Filled | None = None

    @property
    def is_generated(self) -> bool:
        """Whether the row was made of the notes, by forms or by a model."""
        return self.source == GENERATED or GENERATED in self.tags


class AnchorRange(Row):
    """Where an anchor stands, in UTF-16 code units of the source note's file, half-open."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)


class LinkItem(Row):
    """One place in a note that ought to be a link.

    Attributes:
        anchor: the text that would be linked.
        expected_links: paths or names of the notes it may lead to.
        context: the text around the anchor when the row was written.
        label: a person's verdict on this link; None counts as expected and is not part of the acceptance proxy.
        created_at: ISO 8601, as written.
    """

    id: Filled
    source_note: Filled
    anchor: Filled
    expected_links: tuple[Filled, ...]
    anchor_range: AnchorRange | None = None
    context: str | None = None
    language: Filled | None = None
    tags: tuple[Filled, ...] = ()
    label: Label | None = None
    created_at: Timestamp | None = None
    source: Filled | None = None


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ContextNote(Row):
    """A note as the answer's author saw it: by its path in the vault, or by its title and text.

    Attributes:
        path: path or name of the note.
        title: shown to the judge; that of the note without it.
        text: what was shown of it; the whole note without it.
    """

    path: Filled | None = None
    title: Filled | None = None
    text: str | None = None


class LabelledClaim(Row):
    """A person's verdict on one statement of the answer.

    Attributes:
        note: number of the note that shows it, from 1.
        correct: whether it is true, in the notes or not; a figure that needs it is left out where nobody says.
        quote: the words of that note.
    """

    text: Filled
    verdict: Literal["supported", "contradicted", "not_found"]
    note: int | None = Field(default=None, ge=1)
    correct: bool | None = None
    quote: str | None = None


class LabelledFact(Row):
    """A fact that the question asks for, in words of a note; `vital` where an answer is useless without."""

    text: Filled
    vital: bool = True


class AnswerLabels(Row):
    """What people say of an answer; the run is held against it.

    Attributes:
        facts: all that a complete answer gives; completeness is measured by them.
        correctness: share of its claims that the notes support.
        abstains: whether it says that the notes do not tell.
    """

    correctness: Share | None = None
    utility: Share | None = None
    abstains: bool | None = None
    claims: tuple[LabelledClaim, ...] = ()
    facts: tuple[LabelledFact, ...] = ()


class QuestionItem(Row):
    """One question that a system is to answer; an answer that the row has is not that of the system.

    Attributes:
        context_notes: what the labelled facts stand in.
    """

    id: Filled
    question: Filled
    answer: str | None = None
    context_notes: tuple[ContextNote, ...] = ()
    language: Filled | None = None
    labels: AnswerLabels | None = None
    tags: tuple[Filled, ...] = ()
    created_at: Timestamp | None = None
    source: Filled | None = None


class AnswerItem(QuestionItem):
    """One answer with its context; the notes are numbered from 1 in their order."""

    answer: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  frozen
    context_notes: tuple[ContextNote, ...]  # pyright: ignore[reportGeneralTypeIssues]  it must be said
