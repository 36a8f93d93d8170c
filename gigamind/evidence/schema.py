"""Quotes and sources that come from outside: UTF-8, no more than a limit allows, each row checked by its schema."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gigamind.errors import InputError


def read_text(path: Path, max_bytes: int) -> str:
    """The text of a file, a byte order mark at its start left off.

    Raises:
        InputError: it cannot be read, is larger than `max_bytes`, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); check its path") from error
    return decoded(data, str(path), max_bytes)


def decoded(data: bytes, name: str, max_bytes: int) -> str:
    """The text of `data`, of which up to `max_bytes` + 1 bytes were read.

    Raises:
        InputError: it is larger than `max_bytes`, or not UTF-8.
    """
    if len(data) > max_bytes:
        raise InputError(f"{name}: larger than the limit of {max_bytes:,} bytes; split it")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: not UTF-8 text at byte {error.start}; convert it to UTF-8"
        ) from error


def _encodable(text: str) -> str:
    """Refuse lone surrogates, which JSON can spell but no UTF-8 source holds and no output can carry."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            r"half of a surrogate pair; write \ud83d\ude00 escapes in pairs"
        ) from error
    return text


Encodable = Annotated[str, AfterValidator(_encodable)]


class Strict(BaseModel):
    """What comes from outside, taken as it is written: nothing unknown, nothing converted."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_by_name=True, validate_by_alias=True
    )


class QuoteRow(Strict):
    """One quote and where to look for it.

    Attributes:
        source: name of the source, instead of its index.
        hint: code point offset near which the quote starts.
    """

    quote: Encodable
    source_index: int | None = None
    source: Encodable | None = None
    prefix: Encodable = ""
    suffix: Encodable = ""
    hint: int | None = Field(default=None, ge=0)
    entry_id: Encodable = ""
