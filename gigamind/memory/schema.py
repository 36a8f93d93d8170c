"""Input from outside: the messages of a session, and the entries extracted from it, never with positions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints

from gigamind.errors import InputError
from gigamind.evidence.schema import Encodable, Strict
from gigamind.loading import parsed

Identifier = Annotated[Encodable, StringConstraints(min_length=1, max_length=200)]


class Message(Strict):
    """One message of a session; its line number in the file, from 0, is its index."""

    role: Identifier
    content: Encodable


class QuotedEvidence(Strict):
    """A quote that an extractor gives as evidence."""

    message_index: int = Field(alias="messageIndex", ge=0)
    quote: Encodable


class ExtractedEntry(Strict):
    """One statement worth remembering; its id is unique within the reply."""

    entry_id: Identifier = Field(alias="entryId")
    text: Encodable = Field(min_length=1)
    evidence: list[QuotedEvidence]


class Extraction(Strict):
    """The reply of an extractor for one session."""

    entries: list[ExtractedEntry]


@dataclass(frozen=True, slots=True)
class Session:
    """The messages of one conversation, in order; `session_id` is chosen by the caller."""

    session_id: str
    messages: tuple[Message, ...]


def parse_session(session_id: str, lines: Sequence[tuple[int, str]], name: str) -> Session:
    """Return the session in the numbered lines of a JSONL file.

    Raises:
        InputError: there is no message, a line is invalid (with file and line), or the id is not UTF-8.
    """
    try:
        session_id.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "The session name {name} is not UTF-8. Rename the session.", name=ascii(session_id)
        ) from error
    messages = tuple(parsed(Message, line, f"{name}:{number}") for number, line in lines)
    if not messages:
        raise InputError(
            "{file} has no messages. Write one JSON object per line, for example {example}.",
            file=name,
            example='{"role": "user", "content": "..."}',
        )
    return Session(session_id, messages)


def parse_extraction(text: str, name: str) -> Extraction:
    """Return the entries of a JSON file.

    Raises:
        InputError: the text is no extraction, or two entries share an id.
    """
    extraction = parsed(Extraction, text, name)
    counts = Counter(entry.entry_id for entry in extraction.entries)
    repeated = [entry_id for entry_id, count in counts.items() if count > 1]
    if repeated:
        raise InputError(
            "{file}: {n} entries have the same entryId {id!r}. Give each entry a unique entryId.",
            file=name,
            n=counts[repeated[0]],
            id=repeated[0],
        )
    return extraction
