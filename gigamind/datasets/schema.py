"""Row schemas of `queries.jsonl`, `links.jsonl` (spec 3.1, 3.2) and `answers.jsonl`, before the vault is read."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from gigamind.i18n import _
from gigamind.text import written_id

Difficulty = Literal["easy", "mid", "hard"]
_Label = Literal["accept", "reject"]
GENERATED: Final = "generated"
"""Source and tag of rows generated from the notes: easier than human questions, and for review."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(_("must be text that is not empty"))
    return text


def _iso_8601(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(_("must be an ISO 8601 date or time")) from error
    return text


_Filled = Annotated[str, AfterValidator(_not_blank)]
_Id = Annotated[_Filled, BeforeValidator(written_id)]
"""An id or a name of a note: text in NFC; a whole number is read as text."""
_Timestamp = Annotated[str, AfterValidator(_iso_8601)]


class Row(BaseModel):
    """A row; unknown fields are kept, because teams may add their own columns."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    def json_line(self) -> str:
        """Return the row as JSON text; fields without a value are left out."""
        return self.model_dump_json(exclude_none=True, exclude_defaults=True)


class ExpectedSpan(Row):
    """The span of the answer to a query.

    Attributes:
        start: UTF-16 code units from the start of the note's file.
        end: UTF-16 code units, exclusive.
        text: the text when the row was written; a difference is a warning.
    """

    note_path: _Id
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str | None = None


_Gain = Annotated[int, Field(ge=-1000, le=1000)]
_Group = Annotated[tuple[_Id, ...], Field(min_length=1)]


class QueryItem(Row):
    """A query with its labels.

    Notes are given by path or name.

    Attributes:
        expected_notes: notes that answer it; empty if none does, or if the other labels name them all.
        gains: grade of each judged note, 0 or less for an irrelevant one. An expected note without a grade has 1, and a
            note with a grade above 0 is expected. If present, unlabelled notes are unjudged, otherwise irrelevant.
        expected_all_of: groups of notes; an answer needs one note of every group.
        expected_any_of: groups of notes; an answer needs all notes of one group.
        created_at: ISO 8601, as written.
        source: origin of the row, such as "generated"; generated rows are for review.
    """

    id: _Id
    query: _Filled
    answerable: bool
    expected_notes: tuple[_Id, ...]
    gains: dict[_Id, _Gain] | None = None
    expected_all_of: tuple[_Group, ...] = ()
    expected_any_of: tuple[_Group, ...] = ()
    expected_spans: tuple[ExpectedSpan, ...] = ()
    language: _Filled | None = None
    difficulty: Difficulty | None = None
    tags: tuple[_Filled, ...] = ()
    created_at: _Timestamp | None = None
    source: _Filled | None = None

    @property
    def is_generated(self) -> bool:
        """Return whether the row was generated from the notes, by forms or by a model."""
        return self.source == GENERATED or GENERATED in self.tags


class AnchorRange(Row):
    """Range of an anchor in UTF-16 code units of the source note's file, half-open."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)


class LinkItem(Row):
    """A place in a note that should be a link.

    Attributes:
        anchor: text of the link.
        expected_links: paths or names of accepted target notes.
        context: text around the anchor when the row was written.
        label: human verdict on this link; None counts as expected and is not part of the acceptance proxy.
        created_at: ISO 8601, as written.
    """

    id: _Id
    source_note: _Id
    anchor: _Filled
    expected_links: tuple[_Id, ...]
    anchor_range: AnchorRange | None = None
    context: str | None = None
    language: _Filled | None = None
    tags: tuple[_Filled, ...] = ()
    label: _Label | None = None
    created_at: _Timestamp | None = None
    source: _Filled | None = None


_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ContextNote(Row):
    """A note as shown to the author of the answer: by its path in the vault, or by title and text.

    Attributes:
        path: path or name of the note.
        title: shown to the judge; defaults to the note's title.
        text: the part that was shown; defaults to the whole note.
    """

    path: _Id | None = None
    title: _Filled | None = None
    text: str | None = None


class LabelledClaim(Row):
    """A human verdict on one statement of the answer.

    Attributes:
        note: number of the note that supports it, from 1.
        correct: whether it is true, in the notes or not; metrics that need it are left out if it is missing.
        quote: supporting words of that note.
    """

    text: _Filled
    verdict: Literal["supported", "contradicted", "not_found"]
    note: int | None = Field(default=None, ge=1)
    correct: bool | None = None
    quote: str | None = None


class LabelledFact(Row):
    """A fact that the question asks for, in words of a note; `vital` if an answer is useless without it."""

    text: _Filled
    vital: bool = True


class AnswerLabels(Row):
    """Human labels of an answer, which the run is compared with.

    Attributes:
        facts: all facts of a complete answer; the basis of completeness.
        correctness: share of its claims that the notes support.
        abstains: whether it states that the notes have no answer.
    """

    correctness: _Share | None = None
    utility: _Share | None = None
    abstains: bool | None = None
    claims: tuple[LabelledClaim, ...] = ()
    facts: tuple[LabelledFact, ...] = ()


class QuestionItem(Row):
    """A question for a system to answer; an answer in the row is not the system's.

    Attributes:
        context_notes: notes that contain the labelled facts.
    """

    id: _Id
    question: _Filled
    answer: str | None = None
    context_notes: tuple[ContextNote, ...] = ()
    language: _Filled | None = None
    labels: AnswerLabels | None = None
    tags: tuple[_Filled, ...] = ()
    created_at: _Timestamp | None = None
    source: _Filled | None = None


class AnswerItem(QuestionItem):
    """An answer with its context; notes are numbered from 1 in their order."""

    answer: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  frozen
    context_notes: tuple[ContextNote, ...]  # pyright: ignore[reportGeneralTypeIssues]  it must be said
