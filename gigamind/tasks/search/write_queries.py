"""Generates a search dataset with a language model: answerable questions with their passage, and unanswerable ones.

The model is called once per note. A question whose quote is not in the note, or differs in a number or negation, is
dropped and counted. An unanswerable one is not answered by its own note; a reviewer must check the others.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from gigamind.datasets.generate_queries import both
from gigamind.datasets.schema import GENERATED, Difficulty, ExpectedSpan, QueryItem
from gigamind.errors import GigamindError, InputError
from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.evidence.schema import Encodable
from gigamind.i18n import Text, _
from gigamind.llm.ask import LanguageModel
from gigamind.outcome import Failure
from gigamind.prompting.fences import Source
from gigamind.prompting.prompts import Prompt
from gigamind.prompting.replies import QUOTED, Auxiliary, ModelReply, Most, unread_in
from gigamind.spans import Span, Utf16
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note

_MAX_CHARS = 400_000  # of a note; about the context window of many models
_GIVEN = ("nonce", "notes", "answerable", "unanswerable")
_ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """Maximum questions per note, of each kind; 0 or more."""

    answerable: int = 3
    unanswerable: int = 1


class WrittenQuestion(ModelReply, frozen=True):
    """One question about a note."""

    question: Annotated[Encodable, Most(400)] = Field(
        description="The question, clear without the note."
    )
    answerable: bool = Field(description="Whether the note answers it.")
    quote: Annotated[Encodable, QUOTED] = Field(
        description="The sentence of the note that answers it, verbatim; empty if unanswerable."
    )
    difficulty: Annotated[Difficulty | SkipJsonSchema[None], Auxiliary()] = Field(
        description="How far the question is from the note's words."
    )


class WrittenQuestions(ModelReply, frozen=True):
    """The questions of a model about one note."""

    questions: Annotated[list[WrittenQuestion], Most(200)]


@dataclass(frozen=True, slots=True)
class _WrittenRows:
    """The generated questions of one vault."""

    rows: tuple[QueryItem, ...]
    # Number of dropped questions, or parts of questions, by reason, a message.
    dropped: dict[Text, int]
    failures: tuple[Failure, ...]  # notes without a usable reply, by path


async def write_queries(
    model: LanguageModel, notes: Sequence[Note], key: bytes, limits: QuestionLimits
) -> _WrittenRows:
    """Generate questions for every note, concurrently; `key` fences notes. Equal replies give equal rows and ids."""
    replies = await asyncio.gather(*(_ask(model, note, key, limits) for note in notes))
    dropped: Counter[Text] = Counter()
    rows: dict[str, QueryItem] = {}
    for note, reply in zip(notes, replies, strict=True):
        if isinstance(reply, WrittenQuestions):
            for row in _rows_of(note, reply, limits, dropped):
                # The same question is answerable if either note answers it.
                known = rows.get(row.id)
                rows[row.id] = both(known, row) if known and known.answerable else row
    failures = tuple(failure for failure in replies if isinstance(failure, Failure))
    return _WrittenRows(tuple(rows.values()), dict(sorted(dropped.items())), failures)


async def _ask(
    model: LanguageModel, note: Note, key: bytes, limits: QuestionLimits
) -> WrittenQuestions | Failure:
    """Return the model's questions about one note, or why there are none."""
    prompt, text = _prompt(note_language(note)), note.text[note.document.body_start :]
    most = {"answerable": str(limits.answerable), "unanswerable": str(limits.unanswerable)}
    try:
        if len(text) > _MAX_CHARS:
            raise InputError(
                "{note}: {chars:,} characters exceed the limit of {limit:,}. Split the note.",
                note=note.path,
                chars=len(text),
                limit=_MAX_CHARS,
            )
        return await model.ask(
            prompt.about([Source(note.title, text)], key, **most),
            WrittenQuestions,
            item_id=note.path,
            fingerprint=prompt.fingerprint,
        )
    except GigamindError as error:
        return Failure(note.path, type(error).__name__, error.message)


@cache
def _prompt(language: str) -> Prompt:
    return Prompt.included("generate_queries/v1", language, _GIVEN)


def _rows_of(
    note: Note, reply: WrittenQuestions, limits: QuestionLimits, dropped: Counter[Text]
) -> Iterable[QueryItem]:
    """Yield the valid questions, up to the limits; `dropped` counts the others and unreadable fields by reason."""
    prompt = _prompt(note_language(note))
    for name, count in unread_in(reply).items():
        dropped[_("unreadable field in the model's reply: {field}", field=name)] += count
    left = {True: limits.answerable, False: limits.unanswerable}
    units = Utf16(note.text)
    for written in reply.questions:
        copied = prompt.says(written.question)
        place = _("text that the model copied from its prompt") if copied else _place(note, written)
        if isinstance(place, str):
            dropped[place] += 1
        elif not left[written.answerable]:
            dropped[_("more questions than the limit per note")] += 1
        else:
            left[written.answerable] -= 1
            yield _row(note, written, place, units)


def _place(note: Note, written: WrittenQuestion) -> Span | Text | None:
    """Return the range of the answer, None for an unanswerable question, or the reason for dropping the question."""
    if not written.question.strip():
        return _("blank question")
    if not written.answerable:
        return (
            _("question marked unanswerable, but with a quote") if written.quote.strip() else None
        )
    start = note.document.body_start
    alignment = align(written.quote, note.text[start:])
    if not isinstance(alignment, Aligned):
        return _("quote not found in the note ({reason})", reason=alignment.reason)
    if alignment.critical:
        return _("quote differs from the note in {difference}", difference=alignment.critical[0])
    return Span(start + alignment.span.start, start + alignment.span.end)


def _row(note: Note, written: WrittenQuestion, place: Span | None, units: Utf16) -> QueryItem:
    question = " ".join(written.question.split())
    spans: tuple[ExpectedSpan, ...] = ()
    if place is not None:
        start, end = units.span_from_code_points(place)
        text = place.slice(note.text)
        spans = (ExpectedSpan(note_path=note.path, start=start, end=end, text=text),)
    return QueryItem(
        id=f"m-{hashlib.sha256(question.encode()).hexdigest()[:_ID_DIGITS]}",
        query=question,
        answerable=written.answerable,
        expected_notes=(note.path,) if written.answerable else (),
        expected_spans=spans,
        language=note_language(note),
        difficulty=written.difficulty,
        tags=(GENERATED, "form:model"),
        source=GENERATED,
    )
