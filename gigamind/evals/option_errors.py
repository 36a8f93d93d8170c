"""Which option is wrong and what it must be, in words for users; pydantic's are for programmers."""

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Options = TypeVar("Options", bound=BaseModel)


def validated(model: type[Options], values: dict[str, object]) -> Options:
    """The options in `values`, by field name.

    Raises:
        InputError: names every option that cannot be, its value and what it must be.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError("\n".join(_problem(details) for details in error.errors())) from error


def _problem(details: "ErrorDetails") -> str:
    option = f"--{details['loc'][0]}".replace("_", "-")
    if details["type"] == "missing":
        return f"{option}: must be given"
    return f"{option} {details['input']}: {_demand(details)}"


def _demand(details: "ErrorDetails") -> str:
    """What a value must be."""
    context = details.get("ctx", {})
    match details["type"]:
        case "greater_than_equal":
            return f"must be {context['ge']:,.12g} or more"
        case "less_than_equal":
            return f"must be {context['le']:,.12g} or less"
        case "finite_number":
            return "must be a number"
        case "literal_error":
            return f"must be {context['expected']}"
        case "extra_forbidden":
            return "there is no such option"
        case _:
            return details["msg"].removeprefix("Value error, ")
