"""The rows of `queries.jsonl` (seed 3.1), before anything is looked up in a vault."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Difficulty = Literal["easy", "mid", "hard"]


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


Text = Annotated[str, AfterValidator(_not_blank)]
Timestamp = Annotated[str, AfterValidator(_iso_8601)]


class _Row(BaseModel):
    """Unknown fields are kept: a team may carry its own columns."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class ExpectedSpan(_Row):
    """Where the answer to a query stands.

    Attributes:
        start: UTF-16 code units from the start of the note's file.
        end: UTF-16 code units, exclusive.
        text: what stood there when the row was written; a difference is a warning.
    """

    note_path: Text
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str | None = None


class QueryItem(_Row):
    """One query with its labels.

    Attributes:
        expected_notes: paths or names of the notes that answer it; empty when nothing does.
        created_at: ISO 8601, as written.
    """

    id: Text
    query: Text
    answerable: bool
    expected_notes: tuple[Text, ...]
    expected_spans: tuple[ExpectedSpan, ...] = ()
    language: Text | None = None
    difficulty: Difficulty | None = None
    tags: tuple[Text, ...] = ()
    created_at: Timestamp | None = None
