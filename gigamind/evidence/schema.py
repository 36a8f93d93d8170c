"""The rows of a quotes file, as they come in from JSON."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


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


class QuoteRow(BaseModel):
    """One quote and where to look for it.

    Attributes:
        source: name of the source, instead of its index.
        hint: code point offset near which the quote starts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    quote: Encodable
    source_index: int | None = None
    source: Encodable | None = None
    prefix: Encodable = ""
    suffix: Encodable = ""
    hint: int | None = Field(default=None, ge=0)
    entry_id: Encodable = ""


def phrase(message: str) -> str:
    """What pydantic says of a value, without its own heading of what our validators say."""
    return message.removeprefix("Value error, ")
