"""What comes in as JSON: the rows of a quotes file, and how any such input is checked."""

import json
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from gigamind.datasets.row_errors import field_name
from gigamind.errors import InputError

_Model = TypeVar("_Model", bound=BaseModel)


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


def parsed(model: type[_Model], text: str, where: str) -> _Model:
    """JSON text as a model.

    Raises:
        InputError: the text is not JSON, or no such model; the first problem, after `where`.
    """
    try:
        values: object = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5 000 digits
        raise InputError(f"{where}: not JSON ({error})") from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {_first_problem(error, model)}") from error


def _first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors()[0]
    field = field_name(first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] == "model_type":
        said = "Input should be a JSON object"
    if len(first["loc"]) > 1:
        return f"{field}: {said}"
    fields = ", ".join(known.alias or name for name, known in model.model_fields.items())
    return f"{field}: {said}; the fields are {fields}".removeprefix(": ")
