"""Extracts the entries of a session with a language model, each with quotes that are still unverified."""

import re
import unicodedata
from collections import Counter
from typing import Annotated

from pydantic import Field

from gigamind.choices import PromptLanguage
from gigamind.errors import InputError
from gigamind.evidence.schema import Encodable
from gigamind.i18n import _
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Message
from gigamind.memory.sessions import ExtractedEntry, Extraction, QuotedEvidence, Session
from gigamind.prompting.fences import Source, fence
from gigamind.prompting.prompts import Prompt
from gigamind.prompting.replies import QUOTED, ModelReply, Most, unread_in

_MAX_CHARS = 2_000_000  # of all messages of a session; beyond the context window of current models
_GIVEN = ("nonce", "messages", "last_index")
_LETTER = re.compile(r"[^\W\d_]")
_SYLLABLE = re.compile("[가-힣]")
# Share of Hangul letters. Korean text about software has many English words; English text hardly has Korean ones.
_LEAST_KOREAN = 0.2


class StatementEvidence(ModelReply, frozen=True, validate_by_name=True, validate_by_alias=True):
    """A quote of a message."""

    message_index: int = Field(
        alias="messageIndex", ge=0, description="Index of the message, from 0."
    )
    quote: Annotated[Encodable, QUOTED] = Field(
        description="30 to 200 characters of that message, copied character for character."
    )


class Statement(ModelReply, frozen=True):
    """One statement worth remembering."""

    text: Annotated[Encodable, Most(600)] = Field(
        min_length=1, description="The statement, in one sentence, in the words of its quotes."
    )
    evidence: Annotated[list[StatementEvidence], Most(20)] = Field(
        description="Quotes that prove the statement."
    )


class Statements(ModelReply, frozen=True):
    """What is worth remembering of a conversation."""

    entries: Annotated[list[Statement], Most(200)]


async def extract(
    session: Session,
    model: LanguageModel,
    key: bytes,
    language: PromptLanguage = "auto",
    dropped: Counter[str] | None = None,
) -> Extraction:
    """Return the entries that a model extracts, named e1, e2, ...; none for a session of blank messages.

    Args:
        key: secret key of the fences around messages.
        language: language of the prompt; "auto" for that of the session.
        dropped: counts the parts of the reply that are left out, by reason.

    Raises:
        InputError: the session is too long for any model.
        LlmError: the model gave no usable reply.
    """
    if not any(message.content.strip() for message in session.messages):
        return Extraction(entries=[])
    messages = _extraction_prompt(session, key, language)
    reply = await model.ask(messages, Statements, item_id=session.session_id)
    prompt = _prompt(session, language)
    echoes = [statement for statement in reply.entries if prompt.says(statement.text)]
    if dropped is not None:
        dropped.update(
            {_("text that the model copied from its prompt"): len(echoes)} if echoes else {}
        )
        for field, count in unread_in(reply).items():
            dropped[_("the field {field} of the model's reply could not be read", field=field)] += (
                count
            )
    statements = (statement for statement in reply.entries if statement not in echoes)
    return Extraction(
        entries=[
            ExtractedEntry(
                entryId=f"e{number}",
                text=statement.text,
                evidence=[
                    QuotedEvidence(messageIndex=given.message_index, quote=given.quote)
                    for given in statement.evidence
                ],
            )
            for number, statement in enumerate(statements, start=1)
        ]
    )


def _extraction_prompt(
    session: Session, key: bytes, language: PromptLanguage = "auto"
) -> list[Message]:
    """Return the request: instructions, the messages in fences, numbered from 0, and the task again.

    Raises InputError if the session is longer than `_MAX_CHARS`.
    """
    length = sum(len(message.content) for message in session.messages)
    if length > _MAX_CHARS:
        raise InputError(
            "Session {session} has {length:,} characters; the limit is {limit:,}. Split it.",
            session=session.session_id,
            length=length,
            limit=_MAX_CHARS,
        )
    sources = [Source(message.role, message.content) for message in session.messages]
    fenced = fence(sources, key, tag="message", first=0)
    return _prompt(session, language).render(
        nonce=fenced.nonce, messages=fenced.text, last_index=str(len(sources) - 1)
    )


def _prompt(session: Session, language: PromptLanguage) -> Prompt:
    """Return the prompt; "auto" is Korean if at least a fifth of the letters are Hangul, else English."""
    if language == "auto":
        text = "\n".join(message.content for message in session.messages)
        text = unicodedata.normalize("NFC", text)
        hangul, letters = len(_SYLLABLE.findall(text)), len(_LETTER.findall(text))
        language = "ko" if letters and hangul >= _LEAST_KOREAN * letters else "en"
    return Prompt.included("extract/v1", language, _GIVEN)
