"""Lets a language model write a search dataset: questions with the passage that answers them, and some without one.

One call a note.  The model quotes; where a quote stands is computed, and a question whose quote stands nowhere in its
note, or differs from it in a number or a negation, is dropped and counted.  An unanswerable question is one that its
own note does not answer: whether another note does is for the reviewer to see.
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

from gigamind.assets import asset
from gigamind.datasets.generate_queries import both
from gigamind.datasets.schema import GENERATED, Difficulty, ExpectedSpan, QueryItem
from gigamind.errors import GigamindError, InputError
from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.evidence.schema import Encodable
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Message
from gigamind.llm.fences import Source, fence
from gigamind.llm.prompts import Prompt, load_prompt
from gigamind.llm.replies import QUOTED, Auxiliary, ModelReply, Most, unread_in
from gigamind.outcome import Failure
from gigamind.spans import Span, Utf16
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note
from gigamind.wording import Language

MAX_CHARS = 400_000  # of a note; what many models can read at once
_GIVEN = ("nonce", "notes", "answerable", "unanswerable")
_ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """How many questions a note may get, of each kind; 0 or more."""

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
    """What a model asks about one note."""

    questions: Annotated[list[WrittenQuestion], Most(200)]


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """What came of one vault.

    Attributes:
        dropped: why a question, or a part of one, was dropped -> how many were.
        failures: notes without a usable reply, by path.
    """

    rows: tuple[QueryItem, ...]
    dropped: dict[str, int]
    failures: tuple[Failure, ...]


async def write_queries(
    model: LanguageModel, notes: Sequence[Note], key: bytes, limits: QuestionLimits
) -> WrittenRows:
    """Ask about every note, as many at a time as the model's settings allow.

    The same replies give the same rows, ids included.

    Args:
        key: of the fences around notes.
    """
    asked = (_ask(model, note, key, limits) for note in notes)
    replies = await asyncio.gather(*asked)
    dropped: Counter[str] = Counter()
    rows: dict[str, QueryItem] = {}
    for note, reply in zip(notes, replies, strict=True):
        if isinstance(reply, WrittenQuestions):
            for row in rows_of(note, reply, limits, dropped):
                rows[row.id] = _merged(rows.get(row.id), row)
    failures = tuple(failure for failure in replies if isinstance(failure, Failure))
    return WrittenRows(tuple(rows.values()), dict(sorted(dropped.items())), failures)


def question_prompt(
    note: Note, key: bytes, limits: QuestionLimits, prompt: Prompt
) -> list[Message]:
    """What the model is asked about a note: its text, without the frontmatter, stands in a fence.

    Raises:
        InputError: the note is longer than `MAX_CHARS`.
    """
    text = note.text[note.document.body_start :]
    if len(text) > MAX_CHARS:
        raise InputError(
            f"{note.path}: {len(text):,} characters are beyond the limit of {MAX_CHARS:,}; split the note"
        )
    fenced = fence([Source(note.title, text)], key)
    return prompt.render(
        nonce=fenced.nonce,
        notes=fenced.text,
        answerable=str(limits.answerable),
        unanswerable=str(limits.unanswerable),
    )


async def ask_about(
    model: LanguageModel, note: Note, key: bytes, limits: QuestionLimits
) -> WrittenQuestions:
    """What the model asks about one note.

    Raises:
        InputError: see `question_prompt`.
        LlmError: it gave no usable reply.
    """
    prompt = _prompt(_language(note))
    return await model.ask(
        question_prompt(note, key, limits, prompt),
        WrittenQuestions,
        item_id=note.path,
        fingerprint=prompt.fingerprint,
    )


async def _ask(
    model: LanguageModel, note: Note, key: bytes, limits: QuestionLimits
) -> WrittenQuestions | Failure:
    try:
        return await ask_about(model, note, key, limits)
    except GigamindError as error:
        return Failure(note.path, type(error).__name__, str(error))


@cache
def _prompt(language: Language) -> Prompt:
    return load_prompt(asset("prompts") / "generate_queries" / "v1" / f"{language}.jinja", _GIVEN)


def _language(note: Note) -> Language:
    return "ko" if note_language(note) == "ko" else "en"


def rows_of(
    note: Note, reply: WrittenQuestions, limits: QuestionLimits, dropped: Counter[str]
) -> Iterable[QueryItem]:
    """The questions that hold, up to the limits; why others do not is counted, and what could not be read."""
    prompt = _prompt(_language(note))
    dropped.update({f"{name} could not be read": n for name, n in unread_in(reply).items()})
    left = {True: limits.answerable, False: limits.unanswerable}
    units = Utf16(note.text)
    for asked in reply.questions:
        place = "out of the prompt itself" if prompt.says(asked.question) else _place(note, asked)
        if isinstance(place, str):
            dropped[place] += 1
        elif not left[asked.answerable]:
            dropped["more than asked for"] += 1
        else:
            left[asked.answerable] -= 1
            yield _row(note, asked, place, units)


def _place(note: Note, asked: WrittenQuestion) -> Span | str | None:
    """Where the answer stands, None for an unanswerable question, or why the question is dropped."""
    if not asked.question.strip():
        return "blank question"
    if not asked.answerable:
        return "unanswerable, yet quoted" if asked.quote.strip() else None
    start = note.document.body_start
    alignment = align(asked.quote, note.text[start:])
    if not isinstance(alignment, Aligned):
        return f"quote not found ({alignment.reason})"
    if alignment.critical:
        return f"quote differs in {alignment.critical[0]}"
    return Span(start + alignment.span.start, start + alignment.span.end)


def _row(note: Note, asked: WrittenQuestion, place: Span | None, units: Utf16) -> QueryItem:
    question = " ".join(asked.question.split())
    spans: tuple[ExpectedSpan, ...] = ()
    if place is not None:
        start, end = units.span_from_code_points(place)
        text = place.slice(note.text)
        spans = (ExpectedSpan(note_path=note.path, start=start, end=end, text=text),)
    return QueryItem(
        id=f"m-{hashlib.sha256(question.encode()).hexdigest()[:_ID_DIGITS]}",
        query=question,
        answerable=asked.answerable,
        expected_notes=(note.path,) if asked.answerable else (),
        expected_spans=spans,
        language=note_language(note),
        difficulty=asked.difficulty,
        tags=(GENERATED, "form:model"),
        source=GENERATED,
    )


def _merged(known: QueryItem | None, row: QueryItem) -> QueryItem:
    """One row of two with the same question: what one note answers is answerable."""
    if known is None or not known.answerable:
        return row
    return both(known, row)
