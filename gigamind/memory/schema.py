"""What comes in from outside: the messages of a session, and the entries that were extracted from it.

An extractor names a message and quotes it; it is never asked where the quote stands, because spans are computed.
"""

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
    """One message of a session; its place in the file is its index."""

    role: Identifier
    content: Encodable


class QuotedEvidence(Strict):
    """What an extractor gives as evidence."""

    message_index: int = Field(alias="messageIndex", ge=0)
    quote: Encodable


class ExtractedEntry(Strict):
    """One statement worth remembering; its id is unique within the reply."""

    entry_id: Identifier = Field(alias="entryId")
    text: Encodable = Field(min_length=1)
    evidence: list[QuotedEvidence]


class Extraction(Strict):
    """The reply of an extractor to one session."""

    entries: list[ExtractedEntry]


@dataclass(frozen=True, slots=True)
class Session:
    """The messages of one conversation, in order.

    Attributes:
        session_id: what the caller calls it, such as the name of its file.
    """

    session_id: str
    messages: tuple[Message, ...]


def parse_session(session_id: str, lines: Sequence[tuple[int, str]], name: str) -> Session:
    """A session from the numbered lines of a JSONL file.

    Raises:
        InputError: there is no message, or a line is not one, with file and line; or the id is no UTF-8.
    """
    try:
        session_id.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{session_id!a}: no name for a session, as it is not UTF-8") from error
    messages = tuple(parsed(Message, line, f"{name}:{number}") for number, line in lines)
    if not messages:
        raise InputError(
            f'{name}: no messages; write one object a line, such as {{"role": "user", "content": "..."}}'
        )
    return Session(session_id, messages)


def parse_extraction(text: str, name: str) -> Extraction:
    """The entries of a JSON file.

    Raises:
        InputError: the text is no extraction, or two entries share an id.
    """
    extraction = parsed(Extraction, text, name)
    counts = Counter(entry.entry_id for entry in extraction.entries)
    repeated = [entry_id for entry_id, count in counts.items() if count > 1]
    if repeated:
        raise InputError(
            f"{name}: entryId {repeated[0]!r} is given to {counts[repeated[0]]} entries"
        )
    return extraction
