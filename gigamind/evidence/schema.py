"""Reads quotes and sources from outside: UTF-8, limited in size, every row validated."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gigamind.errors import InputError, reason_of
from gigamind.i18n import _


def read_text(path: Path, max_bytes: int) -> str:
    """Return the text of a file without its byte order mark.

    Raises:
        InputError: it cannot be read, is larger than `max_bytes`, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            "{file} cannot be read: {reason}. Check the path.", file=path, reason=reason
        ) from error
    return decoded(data, str(path), max_bytes)


def decoded(data: bytes, name: str, max_bytes: int) -> str:
    """Return the text of `data`, of which up to `max_bytes` + 1 bytes were read; raises as `read_text`."""
    if len(data) > max_bytes:
        raise InputError(
            "{file} is larger than the limit of {limit:,} bytes. Split it.",
            file=name,
            limit=max_bytes,
        )
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            "{file} is not UTF-8 (byte {position}). Convert it to UTF-8.",
            file=name,
            position=error.start,
        ) from error


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = _(
            "the text contains only half of a Unicode surrogate pair. Write both halves, for example {example}",
            example=r"\ud83d\ude00",
        )
        raise ValueError(message) from error
    return text


Encodable = Annotated[str, AfterValidator(_encodable)]


class Strict(BaseModel):
    """Data from outside: unknown fields are rejected, nothing is converted."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_by_name=True, validate_by_alias=True
    )


class QuoteRow(Strict):
    """One quote and its source.

    Attributes:
        source: name of the source, as an alternative to its index.
        hint: code point offset near which the quote starts.
    """

    quote: Encodable
    source_index: int | None = None
    source: Encodable | None = None
    prefix: Encodable = ""
    suffix: Encodable = ""
    hint: int | None = Field(default=None, ge=0)
    entry_id: Encodable = ""
