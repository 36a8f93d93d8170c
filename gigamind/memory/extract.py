"""Has a language model find the entries of a session, each with its quotes, still untrusted."""

import re
import unicodedata
from typing import Literal

from pydantic import Field

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.evidence.schema import Encodable, Strict
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
# Korean about software is full of English words; English hardly ever holds Korean ones.
_LEAST_KOREAN = 0.2


class Statement(Strict):
    """One statement worth remembering."""

    text: Encodable = Field(min_length=1, description="The statement, in one sentence.")
    evidence: list[QuotedEvidence] = Field(description="Quotes that prove the statement.")


class Statements(Strict):
    """What is worth remembering of a conversation."""

    entries: list[Statement]


async def extract(
    session: Session, model: LanguageModel, key: bytes, language: PromptLanguage | None = None
) -> Extraction:
    """The entries that a model finds, called e1, e2, ...; none in a session of blank messages.

    Args:
        key: of the fences around messages.
        language: of the prompt; None for that of the session.

    Raises:
        InputError: the session is too long for any model.
        LlmError: the model gave no usable reply.
    """
    if not any(message.content.strip() for message in session.messages):
        return Extraction(entries=[])
    messages = extraction_prompt(session, key, language)
    reply = await model.ask(messages, Statements, item_id=session.session_id)
    return Extraction(
        entries=[
            ExtractedEntry(entryId=f"e{number}", text=statement.text, evidence=statement.evidence)
            for number, statement in enumerate(reply.entries, start=1)
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
    text = unicodedata.normalize("NFC", "\n".join(message.content for message in session.messages))
    hangul, letters = len(_SYLLABLE.findall(text)), len(_LETTER.findall(text))
    return "ko" if letters and hangul >= _LEAST_KOREAN * letters else "en"
