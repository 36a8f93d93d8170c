"""Asks a language model for the entries of a session: one call, messages and quotes in, nothing trusted.

The model says what was stated and quotes it.  Ids are given here, spans are computed later, and a wrong quote or index
is no error of the reply: its entry is refused, with the reason, when the evidence is aligned.
"""

import asyncio
import re
import unicodedata
from types import TracebackType
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.evidence.schema import Encodable
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Message
from gigamind.llm.fences import Source, fence
from gigamind.llm.prompts import load_prompt
from gigamind.memory.schema import ExtractedEntry, Extraction, QuotedEvidence, Session

PromptLanguage = Literal["ko", "en"]
MAX_CHARS = 2_000_000  # of all messages together; more than today's models can read
_GIVEN = ("nonce", "messages", "last_index")
_LETTER = re.compile(r"[^\W\d_]")
_SYLLABLE = re.compile("[가-힣]")
_LEAST_KOREAN = (
    0.2  # Korean about software is full of English words; English hardly ever holds Korean ones
)


class Statement(BaseModel):
    """One statement worth remembering."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: Encodable = Field(min_length=1, description="The statement, in one sentence.")
    evidence: list[QuotedEvidence] = Field(description="Quotes that prove the statement.")


class Statements(BaseModel):
    """What is worth remembering of a conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    entries: list[Statement]


class ModelExtractor:
    """An extractor that asks a model.  Use it as a context manager: it closes the model.

    Args:
        key: of the fences around messages.
        language: of the prompt; None for that of the session.
    """

    def __init__(
        self, model: LanguageModel, key: bytes, language: PromptLanguage | None = None
    ) -> None:
        self._model = model
        self._key = key
        self._language: PromptLanguage | None = language
        self._runner = asyncio.Runner()  # the connections of a model belong to one event loop

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runner.run(self._model.close())
        self._runner.close()

    def extract(self, session: Session) -> Extraction:
        """The entries that the model finds, called e1, e2, ...; none in a session of blank messages.

        Raises:
            InputError: the session is too long for any model.
            LlmError: the model gave no usable reply.
        """
        if not any(message.content.strip() for message in session.messages):
            return Extraction(entries=[])
        messages = extraction_prompt(session, self._key, self._language)
        asked = self._model.ask(messages, Statements, item_id=session.session_id)
        found = self._runner.run(asked)
        return Extraction(
            entries=[
                ExtractedEntry(entryId=f"e{number}", text=one.text, evidence=one.evidence)
                for number, one in enumerate(found.entries, start=1)
            ]
        )


def extraction_prompt(
    session: Session, key: bytes, language: PromptLanguage | None = None
) -> list[Message]:
    """What a model is asked: instructions, then the messages in fences, numbered from 0, then the task again.

    Raises:
        InputError: the session is longer than `MAX_CHARS`.
    """
    length = sum(len(message.content) for message in session.messages)
    if length > MAX_CHARS:
        raise InputError(
            f"{session.session_id}: {length:,} characters are beyond the limit of {MAX_CHARS:,}; split the session"
        )
    sources = [Source(message.role, message.content) for message in session.messages]
    fenced = fence(sources, key, tag="message", first=0)
    path = asset("prompts") / "extract" / "v1" / f"{language or language_of(session)}.jinja"
    return load_prompt(path, _GIVEN).render(
        nonce=fenced.nonce, messages=fenced.text, last_index=str(len(sources) - 1)
    )


def language_of(session: Session) -> PromptLanguage:
    """Korean when a fifth of the letters or more are Hangul, else English."""
    text = unicodedata.normalize("NFC", "\n".join(one.content for one in session.messages))
    hangul, letters = len(_SYLLABLE.findall(text)), len(_LETTER.findall(text))
    return "ko" if letters and hangul >= _LEAST_KOREAN * letters else "en"
